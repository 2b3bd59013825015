//! Builds: asked for, given a slot, and judged when their shim is gone.

use windlass_adapters::ci;
use windlass_core::bugs::{self, Bug};
use windlass_core::build::{Build, BuildOutcome, BuildStatus, TreeResult, TreeVerdict};
use windlass_core::id::{BuildId, EffectKey, Sha, TaskId};
use windlass_core::journal::FactoryFact;
use windlass_core::task::{BuildLane, Effect, Event, State};
use windlass_core::testlog::{self, Classified, ExitStatus};
use windlass_core::time::Millis;
use windlass_store::{Op, StoreError};

use crate::heart::Heart;

impl Heart {
    /// Makes sure that the tree is or gets tested. An unchanged tree is never tested twice.
    pub(crate) fn request_build(
        &mut self,
        now: Millis,
        task: &TaskId,
        commit: &Sha,
        tree: &Sha,
        lane: BuildLane,
    ) -> Result<(), StoreError> {
        let recipe = self.recipe.clone();
        if let Some(verdict) = self.store.verdict(tree, &recipe)? {
            let event = event_of(&verdict);
            self.book.happened(now, task, &event);
            return Ok(());
        }
        let running =
            self.book.builds.values_mut().find(|build| build.tree == *tree && build.recipe == recipe);
        if let Some(build) = running {
            let mut build = build.clone();
            build.lane = build.lane.min(lane);
            self.book.save_build(build);
            return Ok(());
        }
        self.queue_build(now, task, commit, tree, lane)
    }

    /// One more build of the tree, whatever is known of it.
    pub(crate) fn queue_build(
        &mut self,
        now: Millis,
        task: &TaskId,
        commit: &Sha,
        tree: &Sha,
        lane: BuildLane,
    ) -> Result<(), StoreError> {
        let recipe = self.recipe.clone();
        let nth = self.store.latest_build(tree, &recipe)?.map_or(1, |build| build.nth + 1);
        let build = Build {
            id: BuildId::nth(tree, &recipe, nth),
            commit: commit.clone(),
            tree: tree.clone(),
            recipe,
            lane,
            task: task.clone(),
            nth,
            status: BuildStatus::Waiting,
            queued_at: now,
            started_at: None,
            ended_at: None,
        };
        let fact = FactoryFact::BuildQueued {
            build: build.id.clone(),
            commit: build.commit.clone(),
            tree: build.tree.clone(),
            recipe: build.recipe.clone(),
            lane,
        };
        self.book.log_of(now, task, fact);
        self.book.save_build(build);
        Ok(())
    }

    /// Gives free slots to waiting builds: the gate first, then the oldest.
    pub(crate) fn start_builds(&mut self, now: Millis) {
        let slots = self.settings.ci.slots;
        loop {
            let taken = |slot: &u32| {
                let running =
                    |build: &Build| matches!(&build.status, BuildStatus::Running { slot: s } if s == slot);
                self.book.builds.values().any(running)
            };
            let Some(slot) = (1..=slots).find(|slot| !taken(slot)) else { return };
            let waiting = self.book.builds.values().filter(|build| build.status == BuildStatus::Waiting);
            let Some(next) = waiting.min_by_key(|build| (build.lane, build.queued_at, build.id.clone()))
            else {
                return;
            };
            let mut build = next.clone();
            build.status = BuildStatus::Running { slot };
            build.started_at = Some(now);
            let id = build.id.clone();
            self.book.log_of(now, &build.task, FactoryFact::BuildStarted { build: id.clone(), slot });
            self.book.save_build(build);
            let key = EffectKey::new(format!("run:{id}:{}", now.0));
            self.book.order(now, key, None, Effect::RunBuild { build: id, slot });
        }
    }

    /// The build's shim is gone: read how it ended and tell everyone who waits for the tree.
    pub(crate) fn build_gone(&mut self, now: Millis, id: &BuildId) {
        let Some(build) = self.book.builds.get(id).cloned() else { return };
        if !matches!(build.status, BuildStatus::Running { .. }) {
            return;
        }
        match self.outside.build_result(id) {
            Some(outcome) => self.end_build(now, build, outcome),
            None => self.book.save_build(Build { status: BuildStatus::Waiting, started_at: None, ..build }),
        }
    }

    pub(crate) fn end_build(&mut self, now: Millis, mut build: Build, outcome: BuildOutcome) {
        build.status = BuildStatus::Ended { outcome: outcome.clone() };
        build.ended_at = Some(now);
        let fact = FactoryFact::BuildEnded {
            build: build.id.clone(),
            commit: build.commit.clone(),
            tree: build.tree.clone(),
            recipe: build.recipe.clone(),
            outcome: outcome.clone(),
        };
        self.book.log_of(now, &build.task, fact);
        let result = match &outcome {
            BuildOutcome::Passed { .. } => Some(TreeResult::Pass),
            BuildOutcome::Failed { failing, log, .. } => {
                Some(TreeResult::Fail { failing: failing.clone(), log: log.clone() })
            }
            BuildOutcome::Broke { why } if bugs::is(Bug::InfraCountsAsFail) => {
                Some(TreeResult::Fail { failing: Vec::new(), log: why.clone() })
            }
            BuildOutcome::Broke { .. } => None,
        };
        if let Some(result) = result {
            let verdict = TreeVerdict {
                tree: build.tree.clone(),
                recipe: build.recipe.clone(),
                build: build.id.clone(),
                at: now,
                result,
            };
            self.book.put(Op::SaveVerdict(verdict));
        }
        let event = match outcome {
            BuildOutcome::Passed { .. } => Event::BuildPassed { tree: build.tree.clone() },
            BuildOutcome::Failed { failing, log, .. } => {
                Event::BuildFailed { tree: build.tree.clone(), failing, log }
            }
            BuildOutcome::Broke { why } => Event::BuildBroke { tree: build.tree.clone(), why },
        };
        for task in self.waiting_for(&build.tree) {
            self.book.happened(now, &task, &event);
        }
        self.book.save_build(build);
    }

    fn waiting_for(&self, tree: &Sha) -> Vec<TaskId> {
        let waits = |state: &State| matches!(state, State::AwaitingCi { tree: wanted, .. } if wanted == tree);
        self.book.tasks.values().filter(|task| waits(&task.state)).map(|task| task.id.clone()).collect()
    }
}

fn event_of(verdict: &TreeVerdict) -> Event {
    let tree = verdict.tree.clone();
    match &verdict.result {
        TreeResult::Pass => Event::BuildPassed { tree },
        TreeResult::Fail { failing, log } => {
            Event::BuildFailed { tree, failing: failing.clone(), log: log.clone() }
        }
    }
}

/// Infra or code, by the rules of core; `None` when we stopped it ourselves and it must run again.
pub fn judge(folder: &std::path::Path) -> Option<BuildOutcome> {
    let raw = match ci::read_outcome(folder) {
        Ok(Some(raw)) if raw.exit.stopped => return None,
        Ok(Some(raw)) => raw,
        Ok(None) => return Some(BuildOutcome::Broke { why: "the build left no result".into() }),
        Err(error) => return Some(BuildOutcome::Broke { why: crate::perform::chain(&error) }),
    };
    let exit = match (raw.exit.timed_out, raw.exit.code, raw.exit.signal) {
        (true, _, _) => ExitStatus::TimedOut,
        (false, Some(code), _) => ExitStatus::Code(code),
        (false, None, Some(signal)) => ExitStatus::Signal(signal),
        (false, None, None) => ExitStatus::Missing,
    };
    let log = format!("{}{}", raw.log_head, raw.log_tail);
    let report = testlog::read(&log);
    Some(match testlog::classify(&exit, &log, &report) {
        Classified::Pass => BuildOutcome::Passed { tests: report.ran },
        Classified::Fail => BuildOutcome::Failed {
            tests: report.ran,
            failing: report.failed.into_iter().collect(),
            log: testlog::excerpt(&log),
        },
        Classified::Infra(reason) => BuildOutcome::Broke { why: reason.sentence().to_owned() },
    })
}
