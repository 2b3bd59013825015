//! The heart: hears causes, thinks, writes it down, hands out what is to be done. It has no clock and no hands of its
//! own: the time comes in, and the world is reached through `Outside`.

use std::collections::BTreeMap;
use std::sync::Arc;

use windlass_core::build::Build;
use windlass_core::id::{BuildId, IssueNumber, Recipe, SessionId, TaskId};
use windlass_core::journal::FactoryFact;
use windlass_core::schedule::{Candidate, Pause};
use windlass_core::session::Identity;
use windlass_core::task;
use windlass_core::time::{Millis, Span};
use windlass_store::{Store, StoreError};

use crate::causes::{Cause, Stopping};
use crate::layout::Layout;
use crate::mirror;
use crate::outbox::Outbox;
use crate::outside::{Life, Outside};
use crate::queue::Queue;
use crate::record::{Book, Order};
use crate::settings::Settings;
use crate::sweep::{Evidence, PAUSED, Taken, stored_keyboards};

/// Nothing waits longer than this without being looked at.
const LONGEST_WAIT: Span = Span::secs(60);
/// How long a session that speaks is let speak before it is listened to.
const LISTEN: Span = Span::secs(5);

#[derive(Debug)]
pub struct Heart {
    pub(crate) settings: Settings,
    pub(crate) layout: Layout,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) outside: Box<dyn Outside>,
    pub(crate) book: Book,
    pub(crate) outbox: Outbox,
    pub(crate) queue: Queue,
    pub(crate) recipe: Recipe,
    pub(crate) backlog: Backlog,
    pub(crate) evidence: BTreeMap<SessionId, Evidence>,
    /// Sessions whose transcripts have grown, and when they are looked at.
    pub(crate) spoke: BTreeMap<SessionId, Millis>,
    pub(crate) paused: Option<Pause>,
    /// People who type in the terminals of sessions.
    pub(crate) keyboards: Vec<Taken>,
    /// Something changed that the scheduler has not seen.
    pub(crate) restless: bool,
    pub(crate) knocked: bool,
    pub(crate) next_poll: Millis,
    pub(crate) next_heartbeat: Millis,
    retry_at: Option<Millis>,
    /// When something was last heard or thought.
    pub(crate) last_look: Option<Millis>,
    stopping: Option<Stopping>,
}

/// The issues as they were last read from the forge.
#[derive(Debug, Default)]
pub struct Backlog {
    pub issues: BTreeMap<IssueNumber, Candidate>,
    pub titles: BTreeMap<IssueNumber, String>,
    /// What was last written down about an issue that is not taken.
    pub decided: BTreeMap<IssueNumber, String>,
    pub read_until: Option<Millis>,
    /// When the whole list is to be read again.
    pub next_whole: Millis,
    pub reading: bool,
    /// The first whole list has been read; before it nothing is decided.
    pub complete: bool,
}

/// What a heart has in mind, for whoever checks that the store holds all of it.
#[derive(Debug)]
pub struct Mind<'a> {
    pub tasks: &'a BTreeMap<TaskId, task::Task>,
    pub identities: &'a BTreeMap<SessionId, Identity>,
    pub builds: &'a BTreeMap<BuildId, Build>,
    /// Effects that wait or are under way.
    pub orders: Vec<&'a Order>,
}

/// What a turn came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// Something was written, so there may be more to think about.
    pub wrote: bool,
    /// When something has to be done even if nobody says anything.
    pub wake: Millis,
}

impl Heart {
    /// Everything is read from the store; nothing is looked at yet.
    pub fn remember(
        settings: Settings,
        layout: Layout,
        store: Arc<dyn Store>,
        outside: Box<dyn Outside>,
        now: Millis,
    ) -> Result<Self, StoreError> {
        Ok(Self {
            book: Book::stored(store.as_ref(), &settings.policy, &layout)?,
            outbox: Outbox::stored(store.as_ref())?,
            queue: Queue::stored(store.as_ref())?,
            backlog: Backlog::stored(store.as_ref())?,
            paused: store.control(PAUSED)?.map(|text| Pause::stored(&text)),
            keyboards: stored_keyboards(store.as_ref())?,
            recipe: settings.recipe(),
            settings,
            layout,
            store,
            outside,
            evidence: BTreeMap::new(),
            spoke: BTreeMap::new(),
            restless: true,
            knocked: true,
            next_poll: now,
            next_heartbeat: now,
            retry_at: None,
            last_look: None,
            stopping: None,
        })
    }

    /// Takes in one cause. What it means for others is thought about in the next turn.
    pub fn hear(&mut self, now: Millis, cause: Cause) -> Result<(), StoreError> {
        self.was_asleep(now);
        match cause {
            Cause::SessionStirred(session) => self.look_at(now, &session, Life::MayGoOn),
            Cause::SessionSpoke(session) => drop(self.spoke.entry(session).or_insert(now + LISTEN)),
            Cause::SessionGone(session) => self.session_gone(now, &session),
            Cause::BuildGone(build) => self.build_gone(now, &build),
            Cause::TypistGone => self.look_for_typists(now),
            Cause::EffectEnded { key, outcome } => self.effect_ended(now, &key, outcome)?,
            Cause::IssuesSeen(seen) => self.issues_seen(now, seen)?,
            // Thought about only when what came with it is written: it asks the store for verdicts.
            Cause::ChainBuilt(built) => self.queue.linked = Some(built),
            Cause::Knock => self.knocked = true,
            Cause::Configured(read) => self.configured(now, read),
            Cause::Stop(how) => self.stopping = Some(how),
        }
        Ok(())
    }

    /// Writes down what was heard, thinks, and writes down what follows.
    pub fn turn(&mut self, now: Millis) -> Result<Turn, StoreError> {
        self.was_asleep(now);
        // What was heard is written before it is thought about: thinking reads the store.
        self.write(now)?;
        self.think(now)?;
        let wrote = self.write(now)?;
        Ok(Turn { wrote, wake: self.wake(now) })
    }

    pub fn mind(&self) -> Mind<'_> {
        Mind {
            tasks: &self.book.tasks,
            identities: &self.book.identities,
            builds: &self.book.builds,
            orders: self.outbox.all(|_| true).filter(|order| !self.outbox.is_void(&order.key)).collect(),
        }
    }

    pub fn stopping(&self) -> Option<Stopping> {
        self.stopping
    }

    /// Says that this daemon is over.
    pub fn end(&mut self, now: Millis) -> Result<(), StoreError> {
        let epoch = self.store.epoch().unwrap_or_default();
        self.book.log(now, FactoryFact::DaemonStopped { epoch });
        self.write_page()
    }

    /// Everything that follows from what is known now. Thinking twice changes nothing.
    fn think(&mut self, now: Millis) -> Result<(), StoreError> {
        if self.stopping.is_some() {
            return Ok(());
        }
        // A clock that went back does not put off what is done again and again.
        self.next_poll = self.next_poll.min(now + self.settings.poll);
        self.next_heartbeat = self.next_heartbeat.min(now + self.settings.policy.limits.heartbeat);
        self.take_commands(now)?;
        self.read_issues(now);
        self.listen(now);
        self.deadlines(now);
        self.build_deadlines(now);
        self.heartbeat(now);
        if let Some(built) = self.queue.linked.take() {
            self.chain_built(now, built)?;
        }
        self.plan_queue(now)?;
        self.start_builds(now);
        self.schedule(now)
    }

    fn deadlines(&mut self, now: Millis) {
        let policy = &self.settings.policy;
        let due = |task: &task::Task| task::due(policy, task, now).map(|event| (task.id.clone(), event));
        let due: Vec<(TaskId, task::Event)> = self.book.tasks.values().filter_map(due).collect();
        for (task, event) in due {
            self.book.happened(now, &task, &event);
        }
    }

    /// Writes what there is to write and hands out the orders, until nothing is left on the page. Says whether
    /// there was anything.
    fn write(&mut self, now: Millis) -> Result<bool, StoreError> {
        let mut wrote = false;
        loop {
            if !self.book.is_blank() {
                wrote = true;
                self.write_page()?;
            }
            self.hand_out(now)?;
            if self.book.is_blank() {
                return Ok(wrote);
            }
        }
    }

    fn write_page(&mut self) -> Result<(), StoreError> {
        let written = self.book.commit(self.store.as_ref(), |error| {
            tracing::error!(%error, "cannot write, waiting");
            self.outside.wait_for_store();
        })?;
        for owner in &written.cancelled {
            self.outbox.cancel(owner);
        }
        for order in written.orders {
            self.outbox.add(order);
        }
        for record in written.mirrors {
            self.outside.mirror(mirror::Page::Record(record));
        }
        self.restless = true;
        let page = mirror::queue(&self.layout, &self.queue_page());
        if let Some(queue) = self.queue.changed(page) {
            self.outside.mirror(mirror::Page::Queue(queue));
        }
        Ok(())
    }

    /// Whether every issue was looked at, every task has ended and nothing is under way.
    pub(crate) fn is_idle(&self) -> bool {
        let reading = self.backlog.reading || self.knocked || !self.backlog.complete;
        let asking = self.queue.linking || self.outbox.any(|_| true);
        let living = !self.book.tasks.is_empty() || !self.book.identities.is_empty();
        !(reading || asking || living || self.restless || !self.book.builds.is_empty())
    }

    /// Whether every issue was looked at and no effect is under way: what is left waits for somebody else, or for
    /// another try later.
    pub(crate) fn is_settled(&self) -> bool {
        let reading = self.backlog.reading || self.knocked || !self.backlog.complete;
        !(reading || self.queue.linking || self.outbox.is_busy())
    }

    /// When something has to be done if nobody says anything.
    fn wake(&self, now: Millis) -> Millis {
        let policy = &self.settings.policy;
        let deadlines =
            self.book.tasks.values().filter_map(|task| task::wake_at(policy, task).map(|(at, _)| at));
        // While the forge is being read, its answer wakes us.
        let poll = Some(self.next_poll).filter(|_| !self.backlog.reading);
        deadlines
            .chain(self.outbox.next_wake())
            .chain(self.spoke.values().copied())
            .chain(self.retry_at.filter(|at| *at > now))
            .chain(self.next_build_deadline())
            .chain(self.next_alarm())
            .chain(poll)
            .chain([self.next_heartbeat])
            .fold(now + LONGEST_WAIT, Millis::min)
    }

    /// Thinks again at `at`, even if nothing happens.
    pub(crate) fn retry_at(&mut self, at: Millis) {
        self.retry_at = Some(at);
    }

    /// Takes a task that has ended back into memory, so that an event can still reach it.
    pub(crate) fn recall(&mut self, task: &TaskId) -> Result<(), StoreError> {
        if !self.book.recall(task)
            && let Some(found) = self.store.task(task)?
        {
            self.book.remember(found.value, found.version);
        }
        Ok(())
    }
}
