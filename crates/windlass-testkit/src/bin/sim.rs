//! Runs seeds of the simulator: `sim --seeds 2000`, `sim --seed 17` for one with its whole story.

use windlass_testkit::sim::{self, Lines, Template};

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let value = |name: &str| -> Option<u64> {
        let at = args.iter().position(|arg| arg == name)?;
        args.get(at + 1)?.parse().ok()
    };
    let template = Template::new();
    if let Some(seed) = value("--seed") {
        let run = sim::run(&template, sim::plan(seed), Lines::Kept);
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
        return;
    }
    let from = value("--from").unwrap_or(0);
    let begun = std::time::Instant::now();
    let mut commits = 0;
    let mut probes = sim::Probes::default();
    let count = value("--seeds").unwrap_or(100);
    for seed in from..from + count {
        let run = sim::run(&template, sim::plan(seed), Lines::NotKept);
        commits += run.commits;
        probes.add(&run.probes);
        if let Some(broken) = run.broken {
            println!("{seed}: {broken:?}");
        }
    }
    println!("{commits} commits, {:?}, missed {:?}", begun.elapsed(), probes.missed());
}
