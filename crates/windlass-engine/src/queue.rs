//! The merge queue: asks git for links, asks core for the plan, and orders what the plan says.

mod landing;
mod link;
mod page;
mod pause;
mod runs;
mod state;
mod waiting;

pub use link::{Chained, MainMoved, Stack, Wanted, link};
pub use state::Queue;

use windlass_core::bugs::{self, Bug};
use windlass_core::build::TreeResult;
use windlass_core::id::{Sha, TaskId};
use windlass_core::journal::FactoryFact;
use windlass_core::queue::{self, Act, Change, Entry, Link, MEMORY_KEY, MainIs, Now, Verdict};
use windlass_core::task::{Effect, Event};
use windlass_core::time::{Millis, Span};
use windlass_store::{Op, StoreError};

use crate::heart::Heart;
use crate::outside::Question;

const KNOWN_MAIN: &str = "known_main";

/// Before git is asked again after it could not answer; each time in a row twice as long, up to five minutes.
const GIT_PATIENCE: Span = Span::secs(5);
/// After so many failures in a row, about half an hour, a person has to look.
const GIT_FAILURES: u32 = 12;

impl Heart {
    /// One round of the queue.
    pub(crate) fn plan_queue(&mut self, now: Millis) -> Result<(), StoreError> {
        let entries = self.queue_entries();
        self.queue.memory.keep(&entries);
        for entry in &entries {
            self.queue.memory.clock.arrived(entry.since);
        }
        self.raise_alarms(now, &entries);
        let idle = entries.is_empty() && !self.queue.is_testing();
        if idle {
            // Main may move in the meantime; it is looked at again when somebody comes.
            self.queue.forget_main();
        }
        let paused = self.queue.paused.is_some() && !bugs::is(Bug::QueuePauseIgnored);
        let resting = self.queue.ask_after.is_some_and(|at| now < at);
        if !idle && !self.queue.linking && !self.is_landing() && !paused && !resting {
            match self.queue.main.clone() {
                Some((main, tree)) => self.plan_on(now, main, &tree, entries)?,
                None => self.ask_git(Vec::new()),
            }
        }
        if let Some(memory) = self.queue.news() {
            self.book.put(Op::SetControl { key: MEMORY_KEY.into(), value: Some(memory) });
        }
        Ok(())
    }

    fn plan_on(&mut self, now: Millis, main: Sha, tree: &Sha, entries: Vec<Entry>) -> Result<(), StoreError> {
        self.look_at_runs(now, tree)?;
        let main_is = self.main_is(tree)?;
        self.queue.memory.base = Some(main.clone());
        let mut view = self.queue.view(self.plan_now(main, main_is), entries);
        queue::forget(&mut view, now);
        let acts = queue::plan(&view);
        self.queue.memory.take_back(view);
        self.act(now, acts)
    }

    fn plan_now(&self, main: Sha, main_is: MainIs) -> Now {
        Now {
            policy: self.settings.policy.queue.policy,
            main,
            main_is,
            slots: self.settings.ci.slots,
            paused: self.queue.paused.as_ref().map(queue::Pause::sentence),
        }
    }

    fn main_is(&mut self, tree: &Sha) -> Result<MainIs, StoreError> {
        let verdict = self.store.verdict(tree, &self.recipe)?;
        if verdict.is_some_and(|verdict| verdict.result == TreeResult::Pass) {
            self.queue.memory.outside = None;
            return Ok(MainIs::Green);
        }
        let outside = self.queue.memory.outside.is_some();
        Ok(if outside { MainIs::Outside } else { MainIs::Untested })
    }

    /// Oldest first.
    fn queue_entries(&self) -> Vec<Entry> {
        queue::entries(self.book.tasks.values())
    }

    fn is_landing(&self) -> bool {
        self.outbox.any(|effect| matches!(effect, Effect::Land { .. }))
    }

    fn act(&mut self, now: Millis, acts: Vec<Act>) -> Result<(), StoreError> {
        let mut tests = Vec::new();
        for act in acts {
            match act {
                Act::Test { changes, verdict } => tests.push((changes, verdict)),
                Act::Cancel { run } => self.cancel_run(now, &run),
                Act::Land { links } => self.order_landing(now, links)?,
                Act::Return { change: Change { task, head }, files, commits } => {
                    self.book.happened(now, &task, &Event::MergeConflict { head, files, commits });
                }
                Act::Eject { change: Change { task, head }, failing, log } => {
                    self.queue.memory.rate.ejected();
                    self.book.happened(now, &task, &Event::Ejected { head, failing, log });
                }
                Act::Settle { change: Change { task, head } } => {
                    self.book.happened(now, &task, &Event::AlreadyOnMain { head });
                }
                Act::Pause { reason } => self.pause_queue(now, reason),
            }
        }
        if !tests.is_empty() {
            self.ask_git(tests);
        }
        Ok(())
    }

    /// How main stands, and what these are on top of it.
    fn ask_git(&mut self, tests: Vec<(Vec<Change>, Verdict)>) {
        self.queue.linking = true;
        let since = self.queue_entries();
        let entry = |change: Change| {
            let entry = since.iter().find(|entry| entry.change == change)?;
            Some((self.book.tasks.get(&change.task)?.clone(), change, entry.since))
        };
        let wanted: Vec<Wanted> = tests
            .into_iter()
            .map(|(changes, verdict)| Wanted {
                entries: changes.into_iter().filter_map(entry).collect(),
                verdict,
            })
            .collect();
        let (known, base) = (self.queue.known_main.clone(), self.queue.main.clone());
        self.outside.link(Question { known, base, wanted });
    }

    pub(crate) fn chain_built(
        &mut self,
        now: Millis,
        built: Result<Chained, String>,
    ) -> Result<(), StoreError> {
        self.queue.linking = false;
        let chained = match built {
            Ok(chained) => chained,
            Err(error) => {
                self.git_failed(now, &error);
                return Ok(());
            }
        };
        (self.queue.failures, self.queue.ask_after) = (0, None);
        // A person may have paused the queue in the meantime: then nothing more is tested.
        if !self.adopt_main(now, &chained) || self.queue.paused.is_some() {
            return Ok(());
        }
        let (base, base_tree) = chained.base;
        for stack in chained.stacks {
            self.start_run(now, &base, &base_tree, stack)?;
        }
        Ok(())
    }

    /// It may be a full disk that is empty again in a minute, or something that only a person can mend.
    fn git_failed(&mut self, now: Millis, error: &str) {
        tracing::warn!(error, "cannot build the queue's chain");
        let wait = Span(GIT_PATIENCE.0 << self.queue.failures.min(6));
        self.queue.failures += 1;
        self.queue.ask_after = Some(now + wait);
        self.retry_at(now + wait);
        if self.queue.failures >= GIT_FAILURES {
            self.queue.failures = 0;
            self.pause_queue(now, format!("git failed {GIT_FAILURES} times in a row: {error}"));
        }
    }

    /// Whether the queue may go on from there.
    fn adopt_main(&mut self, now: Millis, chained: &Chained) -> bool {
        match (chained.moved, &self.queue.known_main) {
            (MainMoved::Rewritten, _) => {
                let reason = format!("main was rewritten: it is {} now", chained.main.short());
                self.pause_queue(now, reason);
                return false;
            }
            (MainMoved::Outside, Some(from)) => {
                let fact = FactoryFact::MainMovedOutside { from: from.clone(), to: chained.main.clone() };
                self.book.log(now, fact);
                self.queue.memory.outside = Some(chained.main.clone());
            }
            (MainMoved::Outside | MainMoved::Not, _) => {}
        }
        self.know_main(chained.main.clone());
        let base = Some(chained.base.clone());
        if self.queue.main != base {
            self.queue.stands.clear();
            self.queue.main = base;
        }
        true
    }

    /// In whose name a build is asked for: the last of its entries, or for main itself the oldest that waits.
    fn speaker(&self, links: &[Link]) -> Option<TaskId> {
        let oldest = || self.queue_entries().into_iter().next().map(|entry| entry.change.task);
        links.last().map(|link| link.change.task.clone()).or_else(oldest)
    }

    fn know_main(&mut self, main: Sha) {
        if self.queue.known_main.as_ref() != Some(&main) {
            self.book.put(Op::SetControl { key: KNOWN_MAIN.into(), value: Some(main.to_string()) });
            self.queue.known_main = Some(main);
        }
    }
}
