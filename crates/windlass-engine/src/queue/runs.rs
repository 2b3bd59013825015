//! The queue's tests: asked for, read when they have ended, and stopped when nobody needs them.

use windlass_core::build::{Build, BuildOutcome, BuildStatus, TreeResult};
use windlass_core::id::Sha;
use windlass_core::journal::FactoryFact;
use windlass_core::queue::{Run, RunState, Verdict};
use windlass_core::task::BuildLane;
use windlass_core::time::Millis;
use windlass_store::StoreError;

use super::link::Stack;
use crate::heart::Heart;

impl Heart {
    /// Reads how the tests that were asked for have ended.
    pub(super) fn look_at_runs(&mut self, now: Millis, main_tree: &Sha) -> Result<(), StoreError> {
        let mut runs = std::mem::take(&mut self.queue.memory.runs);
        // In the order in which they ended, as far as it is known: those that were open end now.
        let (mut ended, mut open) = (Vec::new(), Vec::new());
        for mut run in runs.drain(..) {
            if run.state != RunState::Open {
                ended.push(run);
                continue;
            }
            let tree = run.links.last().map_or(main_tree, |link| &link.tree).clone();
            match self.tested(&tree)? {
                Some(state) => {
                    run.state = state;
                    self.main_tested(now, &run);
                    ended.push(run);
                }
                None if self.is_building(&tree) => open.push(run),
                // Its build is lost: nobody waits for it any more, and it is asked for again.
                None => {}
            }
        }
        ended.extend(open);
        self.queue.memory.runs = ended;
        Ok(())
    }

    /// What the tests say of a main that somebody else made is worth a line in the log.
    fn main_tested(&mut self, now: Millis, run: &Run) {
        let result = match &run.state {
            RunState::Green => "passed",
            RunState::Red { .. } => "failed",
            RunState::Broke { .. } | RunState::Open => return,
        };
        if run.links.is_empty() && self.queue.memory.outside.is_some() {
            let fact = FactoryFact::OutsideMainTested { commit: run.base.clone(), result: result.to_owned() };
            self.book.log(now, fact);
        }
    }

    pub(super) fn is_building(&self, tree: &Sha) -> bool {
        self.book.builds.values().any(|build| build.tree == *tree && build.recipe == self.recipe)
    }

    /// What the last build of a tree said; `None` while one waits or runs, or if there was none.
    fn tested(&mut self, tree: &Sha) -> Result<Option<RunState>, StoreError> {
        if self.is_building(tree) {
            return Ok(None);
        }
        let Some(last) = self.store.latest_build(tree, &self.recipe)? else { return self.verdict(tree) };
        match &last.status {
            BuildStatus::Ended { outcome: BuildOutcome::Broke { why } } => {
                return Ok(Some(RunState::Broke { why: why.clone() }));
            }
            BuildStatus::Ended { outcome: BuildOutcome::Passed { .. } | BuildOutcome::Failed { .. } } => {
                if let Some(took) = last.took() {
                    self.queue.memory.clock.tested(took);
                }
            }
            BuildStatus::Ended { outcome: BuildOutcome::Cancelled }
            | BuildStatus::Waiting
            | BuildStatus::Running { .. } => {}
        }
        self.verdict(tree)
    }

    fn verdict(&self, tree: &Sha) -> Result<Option<RunState>, StoreError> {
        let verdict = self.store.verdict(tree, &self.recipe)?;
        Ok(verdict.map(|verdict| match verdict.result {
            TreeResult::Pass => RunState::Green,
            TreeResult::Fail { failing, log } => RunState::Red { failing, log },
        }))
    }

    /// What is known of a candidate on main as it is now.
    fn known_state(&self, tree: &Sha) -> Result<RunState, StoreError> {
        Ok(match (self.verdict(tree)?, self.not_tested(tree)?) {
            (Some(RunState::Green), Some(why)) => RunState::Broke { why },
            (Some(state), _) => state,
            (None, _) => RunState::Open,
        })
    }

    /// A run is as good as its tree is known already; otherwise a build is asked for.
    pub(super) fn start_run(
        &mut self,
        now: Millis,
        base: &Sha,
        base_tree: &Sha,
        stack: Stack,
    ) -> Result<(), StoreError> {
        let of_main = stack.links.is_empty() && stack.left_out.is_empty();
        self.queue.stands.extend(stack.left_out);
        if stack.links.is_empty() && !of_main {
            return Ok(());
        }
        let (commit, tree) = match stack.links.last() {
            Some(last) => (last.candidate.clone(), last.tree.clone()),
            None => (base.clone(), base_tree.clone()),
        };
        let Some(task) = self.speaker(&stack.links) else { return Ok(()) };
        let state = match stack.verdict {
            Verdict::Known => self.known_state(&tree)?,
            Verdict::Again => RunState::Open,
        };
        match (&state, stack.verdict) {
            (RunState::Open, Verdict::Known) => {
                self.request_build(now, &task, &commit, &tree, BuildLane::Gate)?;
            }
            (RunState::Open, Verdict::Again) if !self.is_building(&tree) => {
                self.queue_build(now, &task, &commit, &tree, BuildLane::Gate)?;
            }
            (RunState::Open | RunState::Green | RunState::Red { .. } | RunState::Broke { .. }, _) => {}
        }
        let run = Run { base: base.clone(), links: stack.links, state };
        self.main_tested(now, &run);
        self.queue.memory.runs.push(run);
        Ok(())
    }

    /// Nobody needs the run; its build ends too, unless somebody else waits for the same tree.
    pub(super) fn cancel_run(&mut self, now: Millis, run: &Run) {
        self.queue.memory.runs.retain(|other| other != run);
        let tests = |build: &&Build| match run.links.last() {
            Some(last) => build.tree == last.tree,
            None => build.commit == run.base,
        };
        let builds = self.book.builds.values().filter(|build| build.recipe == self.recipe);
        let Some(build) = builds.filter(tests).max_by_key(|build| build.nth).cloned() else { return };
        let shared = |other: &Run| {
            other.state == RunState::Open && other.links.last().is_some_and(|link| link.tree == build.tree)
        };
        if self.waiting_for(&build.tree).is_empty() && !self.queue.memory.runs.iter().any(shared) {
            self.stop_build(now, build, BuildOutcome::Cancelled);
        }
    }
}
