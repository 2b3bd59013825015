//! Thirty-two changes merged one on top of the other, beside the same with bare git commands, and landed as one.

use std::path::PathBuf;
use std::time::Instant;

use super::CHAIN;
use super::desk::{Desk, asks_for_test, millis_of, time_of};
use crate::bench::error::BenchError;
use crate::bench::place::run;
use crate::bench::sample::git;
use crate::bench::sheet::{Op, Sheet};
use crate::bench::stats::{count, median, millis, percentile};
use crate::bench::talk;

const ROUNDS: usize = 10;

pub fn measure(desk: &mut Desk<'_>, sheet: &mut Sheet) -> Result<(), BenchError> {
    let floor = Floor::new(desk)?;
    let (mut chains, mut floors) = (Vec::new(), Vec::new());
    for round in 1..=ROUNDS {
        // Nothing that was merged before is of use again.
        desk.move_main()?;
        let bare = floor.chain(desk)?;
        let ours = chain(desk)?;
        talk(&format!("chain {ours:.0} ms, floor {bare:.0} ms"));
        chains.push(ours);
        floors.push(bare);
        desk.wait_testing()?;
        if round < ROUNDS {
            desk.order("pause")?;
        }
        desk.let_go()?;
        if round < ROUNDS {
            desk.factory.follow("the test's end", |seen| seen.event.entry.fact.kind() == "build_ended")?;
        }
    }
    let whole = landing_of_all(desk)?;
    let what = "from a queue that goes on to the test of 32 merged changes, p95";
    sheet.figure_with_goal("chain_32_ms", percentile(&chains, 95.0), Op::AtMost, 1_200.0, what);
    sheet.figure("chain_32_p50_ms", median(&chains), "the same, median");
    let what = "32 times `git merge-tree` and `git commit-tree`, median";
    sheet.figure("chain_32_floor_ms", median(&floors), what);
    sheet.figure("chain_32_over_floor", median(&chains) / median(&floors), "one over the other");
    sheet.figure("chain_rounds", count(ROUNDS), "chains and floors measured in turn, each on a new main");
    let what = "from the verdict to main moved and recorded, 32 changes at once, one sample";
    sheet.figure_with_goal("landing_32_overhead_ms", whole, Op::AtMost, 500.0, what);
    Ok(())
}

/// From the word of a person to the test of the whole.
fn chain(desk: &mut Desk<'_>) -> Result<f64, BenchError> {
    desk.order("resume")?;
    let events = desk.factory.follow("a test of the chain", asks_for_test)?;
    let asked = events.iter().filter(|seen| asks_for_test(seen)).map(|seen| seen.event.entry.at).next();
    let asked = asked.ok_or_else(|| BenchError::TooLittle("no test of the chain".into()))?;
    Ok(millis_of(asked) - millis_of(time_of(&events, "queue_resumed")?))
}

fn landing_of_all(desk: &mut Desk<'_>) -> Result<f64, BenchError> {
    let mut landed = 0;
    let events = desk.factory.follow("the landing of all", |seen| {
        landed += usize::from(seen.event.entry.fact.kind() == "landed");
        landed == CHAIN
    })?;
    let last = events.last().map_or(f64::NAN, |seen| seen.at_ms);
    Ok(last - millis_of(time_of(&events, "build_ended")?))
}

/// The same branches in a repository of its own.
struct Floor {
    bare: PathBuf,
    heads: Vec<String>,
}

impl Floor {
    fn new(desk: &Desk<'_>) -> Result<Self, BenchError> {
        let bare = desk.note("floor.git");
        let from = desk.bare();
        run(git(desk.place, desk.factory.folder())
            .args(["clone", "--quiet", "--bare"])
            .args([&from, &bare]))?;
        // As durable as ours.
        run(git(desk.place, &bare).args(["config", "core.fsync", "committed,loose-object"]))?;
        let all = run(git(desk.place, &bare).args([
            "for-each-ref",
            "--format=%(objectname)",
            "refs/heads/windlass",
        ]))?;
        let heads: Vec<String> = all.lines().take(CHAIN).map(str::to_owned).collect();
        if heads.len() < CHAIN {
            return Err(BenchError::TooLittle(format!("{} branches", heads.len())));
        }
        Ok(Self { bare, heads })
    }

    /// On main as it is now.
    fn chain(&self, desk: &Desk<'_>) -> Result<f64, BenchError> {
        let git =
            |args: &[&str]| run(git(desk.place, &self.bare).args(args)).map(|text| text.trim().to_owned());
        git(&["fetch", "--quiet", &desk.bare().to_string_lossy(), "+refs/heads/main:refs/heads/main"])?;
        let mut tip = git(&["rev-parse", "main"])?;
        let start = Instant::now();
        for head in &self.heads {
            let tree = git(&["merge-tree", "--write-tree", &tip, head])?;
            tip = git(&["commit-tree", &tree, "-p", &tip, "-p", head, "-m", "merge"])?;
        }
        Ok(millis(start.elapsed()))
    }
}
