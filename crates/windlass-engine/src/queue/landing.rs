//! Landings: ordered once, and taken in together with the end of their effect.

use windlass_core::build::{BuildOutcome, BuildStatus};
use windlass_core::id::{BuildId, EffectKey, Sha};
use windlass_core::journal::FactoryFact;
use windlass_core::queue::{Change, Counted, Link, Run, RunState};
use windlass_core::task::{Effect, Event};
use windlass_core::time::Millis;
use windlass_store::StoreError;

use crate::heart::Heart;
use crate::perform::Landing;

impl Heart {
    /// Nothing else is planned until it has ended, so that there is one landing at a time.
    pub(super) fn order_landing(&mut self, now: Millis, links: Vec<Link>) -> Result<(), StoreError> {
        let Some(expected) = self.queue.known_main.clone() else { return Ok(()) };
        let Some(last) = links.last() else { return Ok(()) };
        if let Some(why) = self.not_tested(&last.tree)? {
            let tests = |run: &&mut Run| run.links.last().is_some_and(|link| link.tree == last.tree);
            for run in self.queue.memory.runs.iter_mut().filter(tests) {
                run.state = RunState::Broke { why: why.clone() };
            }
            return Ok(());
        }
        let tries = self.book.tasks.get(&last.change.task).map_or(0, |task| task.effects);
        let key = EffectKey::new(format!("land:{}:{tries}:{}", last.candidate, now.0));
        self.book.order(now, key, None, Effect::Land { links, expected, at: now });
        Ok(())
    }

    /// A verdict may be older than main and speak of another number of tests than main has by now.
    pub(super) fn not_tested(&self, tree: &Sha) -> Result<Option<String>, StoreError> {
        let Some(verdict) = self.store.verdict(tree, &self.recipe)? else { return Ok(None) };
        let Some(build) = self.store.build(&verdict.build)? else { return Ok(None) };
        Ok(match &build.status {
            BuildStatus::Ended { outcome: BuildOutcome::Passed { tests } } => self.too_few(&build, *tests),
            BuildStatus::Ended { .. } | BuildStatus::Waiting | BuildStatus::Running { .. } => None,
        })
    }

    /// What became of a landing, in the same transaction as the effect's end.
    pub(crate) fn landed(
        &mut self,
        now: Millis,
        effect: &Effect,
        landing: &Landing,
    ) -> Result<(), StoreError> {
        let Effect::Land { links, expected, .. } = effect else { return Ok(()) };
        match landing {
            Landing::Landed { commit, build } => {
                self.know_main(commit.clone());
                self.queue.landed(self.queue_entries(), links);
                self.count_tests(build)?;
                for link in links {
                    let Change { task, head } = &link.change;
                    self.recall(task)?;
                    let fact = FactoryFact::Landed {
                        commit: commit.clone(),
                        tree: links.last().map_or(&link.tree, |last| &last.tree).clone(),
                        recipe: self.recipe.clone(),
                        build: build.clone(),
                        from: expected.clone(),
                        head: head.clone(),
                        history: link.history,
                    };
                    self.book.log_of(now, task, fact);
                    self.log_other_form(now, link);
                    let event = Event::MergeComplete { head: head.clone(), commit: commit.clone() };
                    self.book.happened(now, task, &event);
                }
            }
            Landing::Stale => self.queue.forget_main(),
            Landing::Refused { task: Some(task), why } => {
                let event = Event::EffectFailed { effect: "land".into(), why: why.clone() };
                self.book.happened(now, task, &event);
            }
            Landing::Refused { task: None, why } => self.pause_queue(now, why.clone()),
        }
        Ok(())
    }

    fn log_other_form(&mut self, now: Millis, link: &Link) {
        let wanted = self.settings.policy.queue.history;
        if link.history != wanted {
            let (head, history) = (link.change.head.clone(), link.history);
            self.book.log_of(now, &link.change.task, FactoryFact::LandedOtherwise { head, wanted, history });
        }
    }

    /// Later passes are measured against what main's own line has.
    fn count_tests(&mut self, build: &BuildId) -> Result<(), StoreError> {
        let Some(build) = self.store.build(build)? else { return Ok(()) };
        if let BuildStatus::Ended { outcome: BuildOutcome::Passed { tests: Some(tests) } } = build.status {
            self.queue.memory.counted = Some(Counted { recipe: build.recipe, tests });
        }
        Ok(())
    }
}
