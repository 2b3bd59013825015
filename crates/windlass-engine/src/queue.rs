//! The merge queue: asks git for links, asks core for the plan, and orders what the plan says.

mod link;
mod memory;

pub use link::{Chained, MainMoved, Stack, Wanted, link};
pub use memory::Queue;

use windlass_core::bugs::{self, Bug};
use windlass_core::build::{BuildOutcome, BuildStatus, TreeResult};
use windlass_core::id::{EffectKey, Sha, TaskId};
use windlass_core::journal::FactoryFact;
use windlass_core::queue::{self, Act, Change, Entry, Link, Run, RunState, Stand, Verdict};
use windlass_core::task::{BuildLane, Effect, Event, State, Task};
use windlass_core::time::{Millis, Span};
use windlass_store::{Op, StoreError};

use crate::heart::Heart;
use crate::outside::Question;
use crate::perform::Landing;

const KNOWN_MAIN: &str = "known_main";
const QUEUE_PAUSED: &str = "queue_paused";
const QUEUE_MEMORY: &str = "queue_memory";

/// Before git is asked again after it could not answer.
const GIT_PATIENCE: Span = Span::secs(5);

impl Heart {
    /// One round of the queue.
    pub(crate) fn plan_queue(&mut self, now: Millis) -> Result<(), StoreError> {
        let entries = self.queue_entries();
        if entries.is_empty() {
            // Main may move in the meantime; it is looked at again when somebody comes.
            self.queue.forget_main();
        }
        let landing = self.outbox.any(|effect| matches!(effect, Effect::Land { .. }));
        if entries.is_empty()
            || self.queue.linking
            || landing
            || (self.queue.paused.is_some() && !bugs::is(Bug::QueuePauseIgnored))
        {
            return self.write_queue();
        }
        let Some((main, main_tree)) = self.queue.main.clone() else {
            self.ask_git(Vec::new());
            return Ok(());
        };
        self.look_at_runs(&main_tree)?;
        let green = self.store.verdict(&main_tree, &self.recipe)?;
        let green = green.is_some_and(|verdict| verdict.result == TreeResult::Pass);
        let mut view = self.queue.view(main, green, entries, self.settings.ci.slots);
        queue::forget(&mut view);
        let acts = queue::plan(&view);
        self.queue.take_back(view);
        self.act(now, acts);
        self.write_queue()
    }

    fn write_queue(&mut self) -> Result<(), StoreError> {
        if let Some(memory) = self.queue.news() {
            self.book.put(Op::SetControl { key: QUEUE_MEMORY.into(), value: Some(memory) });
        }
        Ok(())
    }

    fn queue_entries(&self) -> Vec<Entry> {
        let entry = |task: &Task| match &task.state {
            State::Queued { head, .. } => Some(Entry {
                change: Change { task: task.id.clone(), head: head.clone() },
                since: task.since,
                passed: 0,
                stand: Stand::Free,
            }),
            _ => None,
        };
        let mut entries: Vec<Entry> = self.book.tasks.values().filter_map(entry).collect();
        entries.sort_by(|a, b| (a.since, &a.change.task).cmp(&(b.since, &b.change.task)));
        entries
    }

    /// Reads how the tests that were asked for have ended.
    fn look_at_runs(&mut self, main_tree: &Sha) -> Result<(), StoreError> {
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

    fn is_building(&self, tree: &Sha) -> bool {
        self.book.builds.values().any(|build| build.tree == *tree && build.recipe == self.recipe)
    }

    /// What the last build of a tree said; `None` while one waits or runs, or if there was none.
    fn tested(&self, tree: &Sha) -> Result<Option<RunState>, StoreError> {
        if self.is_building(tree) {
            return Ok(None);
        }
        let last = self.store.latest_build(tree, &self.recipe)?;
        if let Some(BuildStatus::Ended { outcome: BuildOutcome::Broke { why } }) =
            last.map(|last| last.status)
        {
            return Ok(Some(RunState::Broke { why }));
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

    fn act(&mut self, now: Millis, acts: Vec<Act>) {
        let mut tests = Vec::new();
        for act in acts {
            match act {
                Act::Test { changes, verdict } => tests.push((changes, verdict)),
                Act::Land { links } => self.order_landing(now, links),
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
    }

    /// A landing that was given up may be ordered again, when a person has seen to it: each order has its own key.
    fn order_landing(&mut self, now: Millis, links: Vec<Link>) {
        let Some(expected) = self.queue.known_main.clone() else { return };
        let Some(last) = links.last() else { return };
        let key = EffectKey::new(format!("land:{}:{}", last.candidate, now.0));
        self.book.order(now, key, None, Effect::Land { links, expected, at: now });
    }

    pub(crate) fn pause_queue(&mut self, now: Millis, reason: String) {
        self.queue.paused = Some(reason.clone());
        self.book.put(Op::SetControl { key: QUEUE_PAUSED.into(), value: Some(reason.clone()) });
        self.book.log(now, FactoryFact::QueuePaused { reason });
    }

    pub(crate) fn resume_queue(&mut self, now: Millis) {
        if self.queue.paused.take().is_some() {
            // Whatever main is now, a person has seen it, and why tests could not run.
            self.queue.known_main = None;
            self.queue.forget_main();
            let told = |run: &Run| !matches!(run.state, RunState::Broke { .. }) && !run.links.is_empty();
            self.queue.memory.runs.retain(told);
            self.book.put(Op::SetControl { key: QUEUE_PAUSED.into(), value: None });
            self.book.put(Op::SetControl { key: KNOWN_MAIN.into(), value: None });
            self.book.log(now, FactoryFact::QueueResumed);
        }
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
                tracing::warn!(error, "cannot build the queue's chain");
                self.retry_at(now + GIT_PATIENCE);
                return Ok(());
            }
        };
        if !self.adopt_main(now, &chained) {
            return Ok(());
        }
        let (base, base_tree) = chained.base;
        for stack in chained.stacks {
            self.start_run(now, &base, &base_tree, stack)?;
        }
        Ok(())
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

    /// A run is as good as its tree is known already; otherwise a build is asked for.
    fn start_run(
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
            Verdict::Known => self.verdict(&tree)?.unwrap_or(RunState::Open),
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
        self.queue.memory.runs.push(Run { base: base.clone(), links: stack.links, state });
        Ok(())
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

    /// What became of a landing, in the same transaction as the effect's end.
    pub(crate) fn landed(
        &mut self,
        now: Millis,
        effect: &Effect,
        landing: &Landing,
    ) -> Result<(), StoreError> {
        let Effect::Land { links, expected, .. } = effect else { return Ok(()) };
        let Some(last) = links.last() else { return Ok(()) };
        match landing {
            Landing::Landed { commit, build } => {
                self.know_main(commit.clone());
                self.queue.landed(&self.queue_entries(), links);
                for link in links {
                    let Change { task, head } = &link.change;
                    self.recall(task)?;
                    let fact = FactoryFact::Landed {
                        commit: commit.clone(),
                        tree: last.tree.clone(),
                        recipe: self.recipe.clone(),
                        build: build.clone(),
                        from: expected.clone(),
                        head: head.clone(),
                    };
                    self.book.log_of(now, task, fact);
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
}
