//! The builds of the simulated world: what a tree holds decides, unless something goes wrong.

use windlass_core::build::BuildOutcome;
use windlass_core::id::{BuildId, Sha};
use windlass_engine::Cause;

use super::git::Tree;
use super::plan::{BuildKind, MINUTE, Mishap, SECOND, Tick};
use super::rules::Rule;
use super::world::{DaemonId, Happening, World};

#[derive(Debug)]
pub struct CiRun {
    pub tree: Sha,
    pub slot: u32,
    pub started_by: DaemonId,
    pub alive: bool,
    pub life: u32,
    /// What its exit file says, once there is one.
    pub outcome: Option<BuildOutcome>,
    pub stopped: bool,
    pub waiter: Option<DaemonId>,
    /// How long its end stays unheard.
    unheard: Tick,
}

#[derive(Debug, Clone, Copy)]
pub enum BuildStep {
    End(BuildKind),
}

/// The tests of a tree that fail.
pub fn failing(tree: &Tree) -> Vec<String> {
    let bad = tree.iter().filter(|(_, content)| content.starts_with("bad"));
    let mut failing: Vec<String> = bad.map(|(path, _)| format!("test of {path}")).collect();
    let half = |name: &str| tree.get(name).is_some_and(|content| content == "half");
    if half("left") && half("right") {
        failing.push("both halves together".into());
    }
    failing
}

impl World {
    pub fn start_run(&mut self, daemon: DaemonId, id: &BuildId, commit: &Sha, slot: u32) {
        self.counts.builds += 1;
        let nth = self.counts.builds;
        let kind = self.mishap(|mishap| match mishap {
            Mishap::Build { nth: planned, how } if *planned == nth => Some(*how),
            _ => None,
        });
        let kind = kind.unwrap_or(BuildKind::Honest);
        let (length, unheard) = match kind {
            BuildKind::NeverStarts(after) => (after, 0),
            BuildKind::EndsUnheard(after) => (2 * MINUTE, after),
            BuildKind::Honest | BuildKind::Flakes | BuildKind::Breaks | BuildKind::Dies => {
                (self.between(id.as_str(), 0, 20 * SECOND, 4 * MINUTE), 0)
            }
        };
        let life = self.runs.get(id).map_or(0, |run| run.life) + 1;
        let tree = self.git.get(commit).tree.clone();
        let run = CiRun {
            tree,
            slot,
            started_by: daemon,
            alive: true,
            life,
            outcome: None,
            stopped: false,
            waiter: None,
            unheard,
        };
        self.runs.insert(id.clone(), run);
        self.after(length, Happening::Build { id: id.clone(), life, step: BuildStep::End(kind) });
        self.check_slots(id, slot);
    }

    /// I11: no more builds than slots, and each in a slot of its own.
    fn check_slots(&mut self, id: &BuildId, slot: u32) {
        let alive = self.runs.values().filter(|run| run.alive).count();
        let limit = self.plan.slots;
        if alive > limit as usize {
            self.complain(Rule::BuildSlots, format!("{alive} builds run in {limit} slots"));
        }
        let twice = self.runs.iter().find(|(other, run)| run.alive && run.slot == slot && *other != id);
        if let Some((other, _)) = twice {
            let what = format!("{id} and {other} run in slot {slot}");
            self.complain(Rule::BuildSlots, what);
        }
    }

    pub fn build_step(&mut self, id: &BuildId, life: u32, step: BuildStep) {
        let BuildStep::End(kind) = step;
        let Some(run) = self.runs.get(id).filter(|run| run.alive && run.life == life) else { return };
        let tree = self.git.tree(&run.tree).expect("it was checked out");
        let mut failing = failing(&tree);
        let outcome = match kind {
            BuildKind::Honest | BuildKind::EndsUnheard(_) => Some(judged(failing)),
            BuildKind::Flakes => {
                let nth = self.dice(id.as_str(), 9).below(3);
                failing.push(format!("flaky {nth}"));
                Some(judged(failing))
            }
            BuildKind::Breaks => Some(BuildOutcome::Broke { why: "no network".into() }),
            BuildKind::NeverStarts(_) | BuildKind::Dies => None,
        };
        self.trace.note(self.now, || format!("{id} ended: {outcome:?}"));
        self.end_run(id, outcome);
    }

    /// We ended it ourselves: its exit file says so.
    pub fn end_run_for_us(&mut self, id: &BuildId) {
        if let Some(run) = self.runs.get_mut(id).filter(|run| run.alive) {
            run.stopped = true;
            self.end_run(id, None);
        }
    }

    fn end_run(&mut self, id: &BuildId, outcome: Option<BuildOutcome>) {
        let Some(run) = self.runs.get_mut(id) else { return };
        run.alive = false;
        run.life += 1;
        run.outcome = outcome;
        let (waiter, unheard) = (run.waiter.take(), run.unheard);
        let truth = self.build_result(id);
        self.seen.build_ended(id, truth);
        if let Some(daemon) = waiter {
            let build = id.clone();
            self.after(unheard, Happening::Hear { daemon, cause: Cause::BuildGone(build) });
        }
    }

    /// How a build ended whose process is gone; `None` when it was stopped by us.
    pub fn build_result(&self, id: &BuildId) -> Option<BuildOutcome> {
        let lost = || BuildOutcome::Broke { why: "the build left no result".into() };
        match self.runs.get(id) {
            Some(run) if run.stopped => None,
            Some(run) => Some(run.outcome.clone().unwrap_or_else(lost)),
            None => Some(lost()),
        }
    }
}

fn judged(failing: Vec<String>) -> BuildOutcome {
    if failing.is_empty() {
        return BuildOutcome::Passed { tests: Some(10) };
    }
    let log = format!("{} of 10 failed", failing.len());
    BuildOutcome::Failed { tests: Some(10), failing, log }
}
