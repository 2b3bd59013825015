//! Every crash point of a run, one after the other, and every pair of them: the daemon also dies while it recovers.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::plan::{CrashPoint, Mishap, Plan};
use super::rules::Broken;
use super::trace::Lines;
use super::{Template, plan, run};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    Single,
    Pairs,
}

#[derive(Debug, Default)]
pub struct Swept {
    pub points: usize,
    pub runs: usize,
    /// With the crashes that did it.
    pub broken: Vec<(Vec<CrashPoint>, Broken)>,
}

/// The seed's issues in a good world, with the daemon killed at each point of its run.
pub fn sweep(seed: u64, depth: Depth, threads: usize) -> Swept {
    let good = Plan { mishaps: Vec::new(), ..plan(seed) };
    let points = points(&good);
    let cases: Vec<Vec<CrashPoint>> = match depth {
        Depth::Single => points.iter().map(|point| vec![*point]).collect(),
        Depth::Pairs => pairs(&good, &points),
    };
    let (next, all) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(|| {
                let template = Template::new();
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::SeqCst)) {
                    let broken = run(&template, with(&good, case), Lines::NotKept).broken;
                    if let Some(broken) = broken {
                        all.lock().expect("no thread panicked").push((case.clone(), broken));
                    }
                }
            });
        }
    });
    let broken = all.into_inner().expect("no thread panicked");
    Swept { points: points.len(), runs: cases.len(), broken }
}

/// Where the daemon can die in the run of this plan.
fn points(plan: &Plan) -> Vec<CrashPoint> {
    let run = run(&Template::new(), plan.clone(), Lines::NotKept);
    let commits =
        (1..=run.commits).flat_map(|nth| [CrashPoint::BeforeCommit(nth), CrashPoint::AfterCommit(nth)]);
    let effects = (1..=run.effects).flat_map(|nth| {
        [
            CrashPoint::BeforeEffect(nth),
            CrashPoint::InEffect { nth, step: 0 },
            CrashPoint::InEffect { nth, step: 1 },
            CrashPoint::AfterEffect(nth),
        ]
    });
    commits.chain(effects).collect()
}

/// Each point with each that its recovery has. Numbers count over the whole run, so the second comes after the first.
fn pairs(good: &Plan, points: &[CrashPoint]) -> Vec<Vec<CrashPoint>> {
    let mut all = Vec::new();
    for first in points {
        let seconds = self::points(&with(good, &[*first]));
        let later = seconds.into_iter().filter(|second| is_later(first, second));
        all.extend(later.map(|second| vec![*first, second]));
    }
    all
}

fn is_later(first: &CrashPoint, second: &CrashPoint) -> bool {
    match (number(first), number(second)) {
        // Commits and effects have numbers of their own; what is too early never comes, and costs one run.
        ((true, first), (true, second)) | ((false, first), (false, second)) => second > first,
        ((true, _), (false, _)) | ((false, _), (true, _)) => true,
    }
}

fn number(point: &CrashPoint) -> (bool, u32) {
    match point {
        CrashPoint::BeforeCommit(nth) | CrashPoint::AfterCommit(nth) => (true, *nth),
        CrashPoint::BeforeEffect(nth) | CrashPoint::AfterEffect(nth) | CrashPoint::InEffect { nth, .. } => {
            (false, *nth)
        }
        CrashPoint::At(_) => (false, 0),
    }
}

fn with(good: &Plan, crashes: &[CrashPoint]) -> Plan {
    Plan { mishaps: crashes.iter().map(|point| Mishap::Crash(*point)).collect(), ..good.clone() }
}
