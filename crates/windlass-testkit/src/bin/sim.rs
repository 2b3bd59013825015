//! Runs seeds of the simulator: `sim --seeds 2000`, and `sim --seed 17` for the whole story of one.

use std::process::ExitCode;
use std::time::Instant;

use windlass_testkit::sim::{self, Bug, Gate, Lines, Template, Times};

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().collect();
    let value = |name: &str| -> Option<u64> {
        let at = args.iter().position(|arg| arg == name)?;
        args.get(at + 1)?.parse().ok()
    };
    let bug = args
        .iter()
        .position(|arg| arg == "--bug")
        .and_then(|at| args.get(at + 1))
        .map(|name| *Bug::ALL.iter().find(|bug| format!("{bug:?}") == *name).expect("a known bug"));
    let template = Template::new();
    if let Some(seed) = value("--seed") {
        let run = sim::run_with(bug, &template, sim::plan(seed), Lines::Kept);
        for line in &run.lines {
            println!("{line}");
        }
        println!("{:?}", sim::plan(seed));
        println!(
            "{:?} commits {} effects {} length {}",
            run.broken,
            run.commits,
            run.effects,
            run.length / 60000
        );
        return ExitCode::SUCCESS;
    }
    let from = value("--from").unwrap_or(0);
    let begun = Instant::now();
    let gate = Gate {
        from,
        seeds: value("--seeds").unwrap_or(100),
        threads: 2,
        times: if args.iter().any(|arg| arg == "--once") { Times::Once } else { Times::Twice },
        bug,
        enough: 20,
    };
    let summary = sim::gate(&gate);
    for (seed, broken) in &summary.broken {
        println!("{seed}: {broken:?}");
    }
    for (name, count) in summary.probes.counts() {
        println!("{count:6} {name}");
    }
    let seconds = begun.elapsed().as_secs_f64();
    println!(
        "{} seeds, {} runs, {} commits, {} daemons, {seconds:.1} s, missed {:?}",
        summary.seeds,
        summary.runs,
        summary.commits,
        summary.daemons,
        summary.probes.missed()
    );
    ExitCode::SUCCESS
}
