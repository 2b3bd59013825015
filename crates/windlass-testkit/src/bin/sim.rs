//! Runs seeds of the simulator: `sim --seeds 2000`; `sim --seed 17` tells the whole story of one.

use std::process::ExitCode;
use std::time::Instant;

use serde_json::json;
use windlass_testkit::sim::{self, Broken, Bug, Depth, Gate, Lines, Plan, Rule, Summary, Template, Times};

const HELP: &str = "\
Simulates the factory: the real heart, rules, queue and store in a world made of a seed.

  sim [--seeds N] [--from K] [--once] [--threads T] [--bug NAME] [--json]
      N seeds from K on, each twice unless --once. Ends with 1 if a rule was broken.
  sim --seed S [--shrink] [--bug NAME]
      One seed with its timeline; --shrink first leaves out what does not matter.
  sim --crashes [--pairs] [--seed S]
      The issues of a seed in a good world, with the daemon killed at each point, or at each pair of points.
  sim --bugs
      The names of the deliberate bugs.
";

fn main() -> ExitCode {
    match Words::read(std::env::args().skip(1)) {
        Ok(words) => words.obey(),
        Err(error) => {
            eprintln!("sim: {error}\n\n{HELP}");
            ExitCode::from(2)
        }
    }
}

#[derive(Debug)]
struct Words {
    seeds: u64,
    from: u64,
    seed: Option<u64>,
    threads: usize,
    times: Times,
    bug: Option<Bug>,
    asked: Asked,
    shrink: bool,
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asked {
    Seeds,
    Crashes(Depth),
    Bugs,
    Help,
}

impl Words {
    fn read(mut args: impl Iterator<Item = String>) -> Result<Self, String> {
        let threads = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
        let mut words = Self {
            seeds: 2_000,
            from: 0,
            seed: None,
            threads,
            times: Times::Twice,
            bug: None,
            asked: Asked::Seeds,
            shrink: false,
            json: false,
        };
        while let Some(word) = args.next() {
            let mut number = || -> Result<u64, String> {
                let text = args.next().ok_or_else(|| format!("`{word}` needs a number"))?;
                text.parse().map_err(|_| format!("`{text}` is not a number"))
            };
            match word.as_str() {
                "--seeds" => words.seeds = number()?,
                "--from" => words.from = number()?,
                "--seed" => words.seed = Some(number()?),
                "--threads" => words.threads = usize::try_from(number()?).unwrap_or(1),
                "--once" => words.times = Times::Once,
                "--shrink" => words.shrink = true,
                "--json" => words.json = true,
                "--crashes" => words.asked = Asked::Crashes(Depth::Single),
                "--pairs" => words.asked = Asked::Crashes(Depth::Pairs),
                "--bugs" => words.asked = Asked::Bugs,
                "--bug" => words.bug = Some(bug(&args.next().unwrap_or_default())?),
                "-h" | "--help" => words.asked = Asked::Help,
                _ => return Err(format!("no such option: `{word}`")),
            }
        }
        Ok(words)
    }

    fn obey(&self) -> ExitCode {
        match (self.asked, self.seed) {
            (Asked::Help, _) => print!("{HELP}"),
            (Asked::Bugs, _) => Bug::ALL.iter().for_each(|bug| println!("{bug:?}")),
            (Asked::Crashes(depth), seed) => return self.sweep(depth, seed.unwrap_or(self.from)),
            (Asked::Seeds, Some(seed)) => return self.one(seed),
            (Asked::Seeds, None) => return self.many(),
        }
        ExitCode::SUCCESS
    }

    fn many(&self) -> ExitCode {
        let gate = Gate {
            from: self.from,
            seeds: self.seeds,
            threads: self.threads,
            times: self.times,
            bug: self.bug,
            enough: 10,
        };
        let begun = Instant::now();
        let summary = sim::gate(&gate);
        let seconds = begun.elapsed().as_secs_f64();
        if self.json {
            println!("{}", figures(&summary, seconds));
        } else {
            self.tell(&summary, seconds);
        }
        if summary.broken.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }

    fn tell(&self, summary: &Summary, seconds: f64) {
        for (seed, broken) in &summary.broken {
            println!("seed {seed} breaks {:?}: {}", broken.rule, broken.what);
            println!("  {}", replay(*seed, self.bug));
        }
        if let Some((seed, broken)) = summary.broken.first() {
            let plan = sim::shrink(self.bug, &Template::new(), sim::plan(*seed), broken.rule);
            println!("\nseed {seed}, as small as it gets:");
            story(self.bug, plan);
        }
        println!(
            "{} seeds, {} runs, {} commits, {} effects, {} daemons in {seconds:.1} s: {:.0} seeds/s, {} broken",
            summary.seeds,
            summary.runs,
            summary.commits,
            summary.effects,
            summary.daemons,
            per_second(summary.seeds, seconds),
            summary.broken.len()
        );
        let missed = summary.probes.missed();
        if !missed.is_empty() {
            println!("situations that no seed reached: {}", missed.join("; "));
        }
    }

    fn one(&self, seed: u64) -> ExitCode {
        let template = Template::new();
        let mut plan = sim::plan(seed);
        let broken = sim::run_with(self.bug, &template, plan.clone(), Lines::NotKept).broken;
        if let (true, Some(broken)) = (self.shrink, &broken) {
            plan = sim::shrink(self.bug, &template, plan, broken.rule);
        }
        match story(self.bug, plan) {
            Some(_) => ExitCode::FAILURE,
            None => ExitCode::SUCCESS,
        }
    }

    fn sweep(&self, depth: Depth, seed: u64) -> ExitCode {
        let begun = Instant::now();
        let swept = sim::sweep(seed, depth, self.threads);
        for (crashes, broken) in &swept.broken {
            println!("{crashes:?} breaks {:?}: {}", broken.rule, broken.what);
        }
        let seconds = begun.elapsed().as_secs_f64();
        println!(
            "seed {seed}: {} points, {} runs in {seconds:.1} s, {} broken",
            swept.points,
            swept.runs,
            swept.broken.len()
        );
        if swept.broken.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}

fn bug(name: &str) -> Result<Bug, String> {
    let found = Bug::ALL.iter().find(|bug| format!("{bug:?}") == name);
    found.copied().ok_or_else(|| format!("there is no bug `{name}`; `sim --bugs` names all"))
}

/// Lives a plan and tells it.
fn story(bug: Option<Bug>, plan: Plan) -> Option<(Rule, String)> {
    for issue in &plan.issues {
        println!("{issue:?}");
    }
    for mishap in &plan.mishaps {
        println!("{mishap:?}");
    }
    let run = sim::run_with(bug, &Template::new(), plan, Lines::Kept);
    for line in &run.lines {
        println!("{line}");
    }
    let (commits, effects, daemons) = (run.commits, run.effects, run.daemons);
    println!("{commits} commits, {effects} effects, {daemons} daemons, hash {:016x}", run.hash);
    run.broken.map(|Broken { rule, what, .. }| {
        println!("broken: {rule:?}: {what}");
        (rule, what)
    })
}

fn replay(seed: u64, bug: Option<Bug>) -> String {
    let bug = bug.map(|bug| format!(" --bug {bug:?}")).unwrap_or_default();
    format!("cargo run -p windlass-testkit --bin sim -- --seed {seed} --shrink{bug}")
}

fn per_second(seeds: u64, seconds: f64) -> f64 {
    f64::from(u32::try_from(seeds).unwrap_or(u32::MAX)) / seconds.max(0.001)
}

fn figures(summary: &Summary, seconds: f64) -> serde_json::Value {
    let broken: Vec<serde_json::Value> = summary
        .broken
        .iter()
        .map(
            |(seed, broken)| json!({"seed": seed, "rule": format!("{:?}", broken.rule), "what": broken.what}),
        )
        .collect();
    json!({
        "seeds": summary.seeds,
        "runs": summary.runs,
        "commits": summary.commits,
        "effects": summary.effects,
        "daemons": summary.daemons,
        "seconds": seconds,
        "seeds_per_s": per_second(summary.seeds, seconds),
        "violations": summary.broken.len(),
        "broken": broken,
        "probes": summary.probes.counts(),
        "missed": summary.probes.missed(),
    })
}
