//! The merge queue: asks git for links, asks core for the plan, and orders what the plan says.

use std::sync::mpsc::Sender;

use windlass_adapters::git::Merged;
use windlass_core::build::{BuildOutcome, BuildStatus, TreeResult};
use windlass_core::id::{EffectKey, Sha, TaskId};
use windlass_core::journal::FactoryFact;
use windlass_core::message;
use windlass_core::queue::{self, Act, Entry, Link, Tested, View};
use windlass_core::task::{BuildLane, Effect, Event, State, Task};
use windlass_core::time::Millis;
use windlass_store::{Op, StoreError};

use crate::causes::Cause;
use crate::factory::Factory;
use crate::mirror;
use crate::perform::{Fault, Landing};
use crate::world::World;

pub(crate) const KNOWN_MAIN: &str = "known_main";
pub(crate) const QUEUE_PAUSED: &str = "queue_paused";

/// What the queue remembers between two plans. All of it can be found again.
#[derive(Debug, Default)]
pub struct Queue {
    pub known_main: Option<Sha>,
    pub paused: Option<String>,
    chain: Option<Chained>,
    building: bool,
    mirrored: Option<serde_json::Value>,
}

/// The first entries' links on one main.
#[derive(Debug)]
pub struct Chained {
    pub main: Sha,
    /// How main got there since we last knew it.
    pub moved: MainMoved,
    pub links: Vec<(TaskId, Sha, Link)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MainMoved {
    Not,
    Outside,
    Rewritten,
}

impl Queue {
    /// As the store remembers it.
    pub fn stored(known_main: Option<Sha>, paused: Option<String>) -> Self {
        Self { known_main, paused, ..Self::default() }
    }

    /// Writes the queue out if it has changed.
    pub fn mirror(&mut self, queue: serde_json::Value, out: &Sender<mirror::Page>) {
        if self.mirrored.as_ref() != Some(&queue) {
            self.mirrored = Some(queue.clone());
            drop(out.send(mirror::Page::Queue(queue)));
        }
    }
}

impl Factory {
    /// One round of the queue.
    pub(crate) fn plan_queue(&mut self, now: Millis) -> Result<(), StoreError> {
        let entries = self.queue_entries();
        let Some(first) = entries.first() else {
            self.queue.chain = None;
            return Ok(());
        };
        let current = self.queue.chain.as_ref().and_then(|chain| chain.links.first());
        if current.is_some_and(|(task, head, _)| *task != first.task || *head != first.head) {
            self.queue.chain = None;
        }
        let links = self.queue.chain.as_ref().map(|chain| chain.links.clone()).unwrap_or_default();
        let mut chain = Vec::new();
        for (_, _, link) in links {
            let tested = self.tested(&link)?;
            chain.push((link, tested));
        }
        let landing = self.outbox.any(|effect| matches!(effect, Effect::Land { .. }));
        let view = View { entries, chain, paused: self.queue.paused.clone(), landing };
        for act in queue::plan(&view) {
            self.act(now, act)?;
        }
        Ok(())
    }

    fn queue_entries(&self) -> Vec<Entry> {
        let entry = |task: &Task| match &task.state {
            State::Queued { head, .. } => {
                Some(Entry { task: task.id.clone(), head: head.clone(), since: task.since })
            }
            _ => None,
        };
        let mut entries: Vec<Entry> = self.book.tasks.values().filter_map(entry).collect();
        entries.sort_by(|a, b| (a.since, &a.task).cmp(&(b.since, &b.task)));
        entries
    }

    fn tested(&self, link: &Link) -> Result<Tested, StoreError> {
        let Link::Clean { tree, .. } = link else { return Ok(Tested::Not) };
        let recipe = &self.recipe;
        if let Some(verdict) = self.world.store.verdict(tree, recipe)? {
            return Ok(match verdict.result {
                TreeResult::Pass => Tested::Pass,
                TreeResult::Fail { failing, log } => Tested::Fail { failing, log },
            });
        }
        if self.book.builds.values().any(|build| build.tree == *tree && build.recipe == *recipe) {
            return Ok(Tested::Running);
        }
        let last = self.world.store.latest_build(tree, recipe)?;
        Ok(match last.map(|build| (build.status, build.nth)) {
            Some((BuildStatus::Ended { outcome: BuildOutcome::Broke { why } }, times)) => {
                Tested::Broke { times, why }
            }
            Some(_) | None => Tested::Not,
        })
    }

    fn act(&mut self, now: Millis, act: Act) -> Result<(), StoreError> {
        match act {
            Act::Chain { n } => self.build_chain(n),
            Act::Test { task, candidate, tree } => {
                self.request_build(now, &task, &candidate, &tree, BuildLane::Gate)?;
            }
            Act::Land { task, head, candidate, tree } => self.order_landing(now, task, head, candidate, tree),
            Act::Return { task, head, files, commits } => {
                self.queue.chain = None;
                self.book.happened(now, &task, &Event::MergeConflict { head, files, commits });
            }
            Act::Eject { task, head, failing, log } => {
                self.queue.chain = None;
                self.book.happened(now, &task, &Event::Ejected { head, failing, log });
            }
            Act::Settle { task, head } => {
                self.queue.chain = None;
                self.book.happened(now, &task, &Event::AlreadyOnMain { head });
            }
            Act::Pause { reason } => self.pause_queue(now, reason),
        }
        Ok(())
    }

    /// The candidate names the key: landing it twice is one landing.
    fn order_landing(&mut self, now: Millis, task: TaskId, head: Sha, candidate: Sha, tree: Sha) {
        let Some(main) = self.queue.chain.as_ref().map(|chain| chain.main.clone()) else { return };
        let tries = self.book.tasks.get(&task).map_or(0, |task| task.effects);
        let key = EffectKey::new(format!("land:{candidate}:{tries}"));
        self.book.order(now, key, None, Effect::Land { task, head, candidate, tree, expected: main });
    }

    pub(crate) fn pause_queue(&mut self, now: Millis, reason: String) {
        self.queue.paused = Some(reason.clone());
        self.book.put(Op::SetControl { key: QUEUE_PAUSED.into(), value: Some(reason.clone()) });
        self.book.log(now, FactoryFact::QueuePaused { reason });
    }

    pub(crate) fn resume_queue(&mut self, now: Millis) {
        if self.queue.paused.take().is_some() {
            // Whatever main is now, a person has seen it.
            self.queue.known_main = None;
            self.queue.chain = None;
            self.book.put(Op::SetControl { key: QUEUE_PAUSED.into(), value: None });
            self.book.put(Op::SetControl { key: KNOWN_MAIN.into(), value: None });
            self.book.log(now, FactoryFact::QueueResumed);
        }
    }

    fn build_chain(&mut self, n: usize) {
        if self.queue.building {
            return;
        }
        self.queue.building = true;
        let (world, causes) = (self.world.clone(), self.causes.clone());
        let known = self.queue.known_main.clone();
        let first: Vec<(Task, Sha, Millis)> = self
            .queue_entries()
            .into_iter()
            .take(n)
            .filter_map(|entry| Some((self.book.tasks.get(&entry.task)?.clone(), entry.head, entry.since)))
            .collect();
        self.urgent.submit(move || {
            let built = link(&world, known.as_ref(), &first).map_err(|fault| fault.error().to_owned());
            drop(causes.send(Cause::ChainBuilt(built)));
        });
    }

    pub(crate) fn chain_built(&mut self, now: Millis, built: Result<Chained, String>) {
        self.queue.building = false;
        let chained = match built {
            Ok(chained) => chained,
            Err(error) => {
                tracing::warn!(error, "cannot build the queue's chain");
                self.retry_at(now + windlass_core::time::Span::secs(5));
                return;
            }
        };
        match (chained.moved, &self.queue.known_main) {
            (MainMoved::Rewritten, _) => {
                let reason = format!("main was rewritten: it is {} now", chained.main.short());
                self.pause_queue(now, reason);
                return;
            }
            (MainMoved::Outside, Some(from)) => {
                let fact = FactoryFact::MainMovedOutside { from: from.clone(), to: chained.main.clone() };
                self.book.log(now, fact);
                self.know_main(chained.main.clone());
            }
            (MainMoved::Outside | MainMoved::Not, _) => self.know_main(chained.main.clone()),
        }
        self.queue.chain = Some(chained);
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
        let Effect::Land { task, head, candidate, tree, expected } = effect else { return Ok(()) };
        self.queue.chain = None;
        match landing {
            Landing::Landed { build } => {
                self.recall(task)?;
                let fact = FactoryFact::Landed {
                    commit: candidate.clone(),
                    tree: tree.clone(),
                    recipe: self.recipe.clone(),
                    build: build.clone(),
                    from: expected.clone(),
                    head: head.clone(),
                };
                self.book.log_of(now, task, fact);
                self.know_main(candidate.clone());
                let event = Event::MergeComplete { head: head.clone(), commit: candidate.clone() };
                self.book.happened(now, task, &event);
            }
            Landing::MainMoved => {}
            Landing::Refused { why } => {
                let event = Event::EffectFailed { effect: "land".into(), why: why.clone() };
                self.book.happened(now, task, &event);
            }
        }
        Ok(())
    }
}

/// Asks git: how main stands, and what each entry is on top of it.
fn link(world: &World, known: Option<&Sha>, entries: &[(Task, Sha, Millis)]) -> Result<Chained, Fault> {
    let main = world.repo.main_tip(&world.settings.branch)?;
    let moved = match known {
        None => MainMoved::Not,
        Some(known) if *known == main => MainMoved::Not,
        Some(known) if world.repo.is_ancestor(known, &main)? => MainMoved::Outside,
        Some(_) => MainMoved::Rewritten,
    };
    let mut links = Vec::new();
    let mut tip = main.clone();
    for (task, head, since) in entries {
        let link = link_one(world, &tip, task, head, *since)?;
        if let Link::Clean { candidate, .. } = &link {
            tip = candidate.clone();
        }
        links.push((task.id.clone(), head.clone(), link));
    }
    Ok(Chained { main, moved, links })
}

/// The same inputs give the same commit, so a candidate that is built again after a crash is the same candidate.
fn link_one(world: &World, tip: &Sha, task: &Task, head: &Sha, since: Millis) -> Result<Link, Fault> {
    if world.repo.is_ancestor(head, tip)? {
        return Ok(Link::Contained);
    }
    match world.repo.merge_tree(tip, head)? {
        Merged::Clean { tree } => {
            let text = message::merge_commit(task, head);
            let candidate = world.repo.commit_tree(&tree, &[tip, head], &text, since)?;
            Ok(Link::Clean { candidate, tree })
        }
        Merged::Conflict { files } => {
            let base = world.repo.merge_base(tip, head)?;
            let commits = match base {
                Some(base) => world.repo.commits_touching(&base, tip, &files.iter().cloned().collect())?,
                None => Vec::new(),
            };
            let commits = commits.iter().map(|touch| format!("{} {}", touch.commit.short(), touch.subject));
            Ok(Link::Conflict { files: files.iter().cloned().collect(), commits: commits.collect() })
        }
    }
}
