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
            let joins_the_gate = lane < build.lane;
            build.lane = build.lane.min(lane);
            if joins_the_gate {
                self.hold_candidate(now, &build, "hold");
            }
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
            slot_at: None,
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
        if lane == BuildLane::Gate {
            self.hold_candidate(now, &build, "hold");
        }
        self.book.save_build(build);
        Ok(())
    }

    /// A candidate has a name in the repository for as long as its build waits or runs.
    fn hold_candidate(&mut self, now: Millis, build: &Build, word: &str) {
        let key = EffectKey::new(format!("{word}:{}:{}", build.id, now.0));
        self.book.order(now, key, None, Effect::HoldCandidate { build: build.id.clone() });
    }

    /// Gives free slots to waiting builds: the gate first, then the oldest.
    pub(crate) fn start_builds(&mut self, now: Millis) {
        // Who gets a slot must show a sign of life in time.
        if self.outside.full().is_some() {
            return;
        }
        let slots = self.settings.ci.slots;
        loop {
            let Some(slot) = (1..=slots).find(|slot| !self.is_taken(*slot)) else { return };
            let waiting = self.book.builds.values().filter(|build| build.status == BuildStatus::Waiting);
            let may_start = waiting.filter(|build| self.queue.paused.is_none() || self.is_awaited(build));
            let Some(next) = may_start.min_by_key(|build| (build.lane, build.queued_at, build.id.clone()))
            else {
                return;
            };
            let mut build = next.clone();
            build.status = BuildStatus::Running { slot };
            build.slot_at = Some(now);
            let id = build.id.clone();
            self.book.log_of(now, &build.task, FactoryFact::BuildStarted { build: id.clone(), slot });
            self.book.save_build(build);
            let key = EffectKey::new(format!("run:{id}:{}", now.0));
            self.book.order(now, key, None, Effect::RunBuild { build: id, slot });
        }
    }

    /// A slot is free only when nothing is about to start in it and nothing is being ended in it.
    fn is_taken(&self, slot: u32) -> bool {
        let in_it = |effect: &Effect| matches!(effect, Effect::RunBuild { slot: s, .. } | Effect::StopBuild { slot: s, .. } if *s == slot);
        let runs = |build: &Build| matches!(build.status, BuildStatus::Running { slot: s } if s == slot);
        self.book.builds.values().any(runs) || self.outbox.any(in_it) || self.book.orders(in_it)
    }

    /// Whether a task waits for the build, not only the queue.
    fn is_awaited(&self, build: &Build) -> bool {
        build.lane != BuildLane::Gate || !self.waiting_for(&build.tree).is_empty()
    }

    /// The build was seen to run. If it was given up meanwhile, it is ended again.
    pub(crate) fn build_runs(&mut self, now: Millis, id: &BuildId, slot: u32) {
        match self.book.builds.get(id).cloned() {
            Some(build) if build.status == (BuildStatus::Running { slot }) => {
                let started_at = build.started_at.or(Some(now));
                self.book.save_build(Build { started_at, ..build });
                self.outside.watch_build(id);
            }
            Some(_) => {}
            None => self.order_stop(now, id, slot, "late-stop"),
        }
    }

    /// Builds that nobody has heard of for too long are lost. A lost notice of an end costs a heartbeat.
    pub(crate) fn build_deadlines(&mut self, now: Millis) {
        let limits = self.settings.policy.limits.clone();
        let lost = |build: &Build| {
            let (_, why) = build.deadline(&limits).filter(|(at, _)| *at <= now)?;
            Some((build.clone(), why))
        };
        let lost: Vec<(Build, &str)> = self.book.builds.values().filter_map(lost).collect();
        for (build, why) in lost {
            self.stop_build(now, build, BuildOutcome::Broke { why: why.to_owned() });
        }
    }

    pub(crate) fn next_build_deadline(&self) -> Option<Millis> {
        let limits = &self.settings.policy.limits;
        self.book.builds.values().filter_map(|build| build.deadline(limits)).map(|(at, _)| at).min()
    }

    /// Looks again whether the builds that should run still do.
    pub(crate) fn watch_builds_again(&mut self) {
        let runs = self.book.builds.values().filter(|build| {
            matches!(build.status, BuildStatus::Running { .. }) && build.started_at.is_some()
        });
        let runs: Vec<BuildId> = runs.map(|build| build.id.clone()).collect();
        runs.iter().for_each(|id| self.outside.watch_build(id));
    }

    /// Ends a build from our side, wherever it is.
    pub(crate) fn stop_build(&mut self, now: Millis, build: Build, outcome: BuildOutcome) {
        if let BuildStatus::Running { slot } = build.status {
            self.order_stop(now, &build.id, slot, "stop");
        }
        self.end_build(now, build, outcome);
    }

    fn order_stop(&mut self, now: Millis, id: &BuildId, slot: u32, word: &str) {
        let key = EffectKey::new(format!("{word}:{id}:{}", now.0));
        self.book.order(now, key, None, Effect::StopBuild { build: id.clone(), slot });
    }

    /// The build's shim is gone: read how it ended and tell everyone who waits for the tree.
    pub(crate) fn build_gone(&mut self, now: Millis, id: &BuildId) {
        let Some(build) = self.book.builds.get(id).cloned() else { return };
        if !matches!(build.status, BuildStatus::Running { .. }) {
            return;
        }
        match self.outside.build_result(id) {
            Some(outcome) => {
                let outcome = self.recount(&build, outcome);
                self.end_build(now, build, outcome);
            }
            None => {
                let again = Build { status: BuildStatus::Waiting, slot_at: None, started_at: None, ..build };
                self.book.save_build(again);
            }
        }
    }

    /// A candidate that holds main and passes over far fewer tests than main has was not tested.
    fn recount(&self, build: &Build, outcome: BuildOutcome) -> BuildOutcome {
        match &outcome {
            BuildOutcome::Passed { tests } if self.queue.holds_main(&build.tree) => {
                self.too_few(build, *tests).map_or(outcome, |why| BuildOutcome::Broke { why })
            }
            BuildOutcome::Passed { .. }
            | BuildOutcome::Failed { .. }
            | BuildOutcome::Broke { .. }
            | BuildOutcome::Cancelled => outcome,
        }
    }

    /// What to say of a build with fewer tests than main's own line has, if so.
    pub(crate) fn too_few(&self, build: &Build, tests: Option<u64>) -> Option<String> {
        let usual = self.queue.memory.counted.as_ref().filter(|counted| counted.recipe == build.recipe)?;
        let ran = tests.filter(|ran| testlog::too_few(*ran, usual.tests))?;
        Some(format!("only {ran} of {} tests ran", usual.tests))
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
            BuildOutcome::Broke { .. } | BuildOutcome::Cancelled => None,
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
        if build.lane == BuildLane::Gate {
            self.hold_candidate(now, &build, "release");
        }
        let event = match outcome {
            BuildOutcome::Passed { .. } => Some(Event::BuildPassed { tree: build.tree.clone() }),
            BuildOutcome::Failed { failing, log, .. } => {
                Some(Event::BuildFailed { tree: build.tree.clone(), failing, log })
            }
            BuildOutcome::Broke { why } => Some(Event::BuildBroke { tree: build.tree.clone(), why }),
            BuildOutcome::Cancelled => None,
        };
        let waiting = event.map_or_else(Vec::new, |event| {
            self.waiting_for(&build.tree).into_iter().map(|task| (task, event.clone())).collect()
        });
        for (task, event) in waiting {
            self.book.happened(now, &task, &event);
        }
        self.book.save_build(build);
    }

    /// Tasks whose change has this very tree and waits for its CI.
    pub(crate) fn waiting_for(&self, tree: &Sha) -> Vec<TaskId> {
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
        Err(error) => return Some(BuildOutcome::Broke { why: windlass_core::text::causes(&error) }),
    };
    let exit = match (raw.exit.timed_out, raw.exit.code, raw.exit.signal) {
        (true, _, _) => ExitStatus::TimedOut,
        (false, Some(code), _) => ExitStatus::Code(code),
        (false, None, Some(signal)) => ExitStatus::Signal(signal),
        (false, None, None) => ExitStatus::Missing,
    };
    let report = testlog::read(&raw.log);
    Some(match testlog::classify(&exit, &raw.log, &report) {
        Classified::Pass => BuildOutcome::Passed { tests: report.ran },
        Classified::Fail => BuildOutcome::Failed {
            tests: report.ran,
            failing: report.failed.into_iter().collect(),
            log: testlog::excerpt(&raw.log),
        },
        Classified::Infra(reason) => BuildOutcome::Broke { why: reason.sentence().to_owned() },
    })
}

#[cfg(test)]
mod tests;
