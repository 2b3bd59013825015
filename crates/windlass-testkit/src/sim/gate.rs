//! Many seeds at once: each thread takes the next one, and what they found is put together in the order of the seeds.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use super::probe::Probes;
use super::rules::{Broken, Rule};
use super::trace::Lines;
use super::{Bug, Template, plan, run_with};

/// What is to be run.
#[derive(Debug, Clone)]
pub struct Gate {
    pub from: u64,
    pub seeds: u64,
    pub threads: usize,
    pub times: Times,
    pub bug: Option<Bug>,
    /// Stop at so many broken seeds.
    pub enough: usize,
}

/// How often each seed is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Times {
    Once,
    /// And both runs must be the same.
    Twice,
}

#[derive(Debug, Default)]
pub struct Summary {
    pub seeds: u64,
    pub runs: u64,
    pub commits: u64,
    pub effects: u64,
    pub daemons: u64,
    pub probes: Probes,
    /// In the order of the seeds.
    pub broken: Vec<(u64, Broken)>,
}

/// Runs the seeds.
pub fn gate(gate: &Gate) -> Summary {
    let next = AtomicU64::new(gate.from);
    let all = Mutex::new(Summary::default());
    std::thread::scope(|scope| {
        for _ in 0..gate.threads.max(1) {
            scope.spawn(|| serve(gate, &next, &all));
        }
    });
    let mut summary = all.into_inner().expect("no thread panicked");
    summary.broken.sort_by_key(|(seed, _)| *seed);
    summary
}

fn serve(gate: &Gate, next: &AtomicU64, all: &Mutex<Summary>) {
    let template = Template::new();
    let mut mine = Summary::default();
    loop {
        let seed = next.fetch_add(1, Ordering::SeqCst);
        if seed >= gate.from + gate.seeds {
            break;
        }
        one(gate, &template, seed, &mut mine);
        if mine.broken.len() >= gate.enough {
            // The others need not go on either.
            next.store(gate.from + gate.seeds, Ordering::SeqCst);
            break;
        }
    }
    let mut all = all.lock().expect("no thread panicked");
    all.seeds += mine.seeds;
    all.runs += mine.runs;
    all.commits += mine.commits;
    all.effects += mine.effects;
    all.daemons += mine.daemons;
    all.probes.add(&mine.probes);
    all.broken.append(&mut mine.broken);
}

fn one(gate: &Gate, template: &Template, seed: u64, mine: &mut Summary) {
    mine.seeds += 1;
    let first = run_with(gate.bug, template, plan(seed), Lines::NotKept);
    mine.runs += 1;
    mine.commits += u64::from(first.commits);
    mine.effects += u64::from(first.effects);
    mine.daemons += u64::from(first.daemons);
    mine.probes.add(&first.probes);
    let mut broken = first.broken;
    if gate.times == Times::Twice {
        mine.runs += 1;
        let second = run_with(gate.bug, template, plan(seed), Lines::NotKept);
        if second.hash != first.hash && broken.is_none() {
            let what = format!("two runs of seed {seed} differ");
            broken = Some(Broken { rule: Rule::Determined, at: 0, what });
        }
    }
    mine.broken.extend(broken.map(|broken| (seed, broken)));
}
