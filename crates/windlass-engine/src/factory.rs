//! The one loop: hear causes, think, write it down, hand out what is to be done.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use windlass_core::id::{IssueNumber, Recipe, SessionId, TaskId};
use windlass_core::journal::FactoryFact;
use windlass_core::schedule::Candidate;
use windlass_core::task;
use windlass_core::time::{Millis, Span};
use windlass_store::StoreError;

use crate::causes::{Cause, Stopping};
use crate::clock;
use crate::mirror;
use crate::outbox::Outbox;
use crate::perform::ReviewSlots;
use crate::queue::Queue;
use crate::record::Book;
use crate::sweep::{Evidence, Watch};
use crate::workers::Workers;
use crate::world::World;

/// Causes that are heard before the page is written: a commit serves many.
const MAX_CAUSES: usize = 256;
const URGENT_WORKERS: usize = 3;
/// Nothing waits longer than this without being looked at.
const LONGEST_WAIT: Span = Span::secs(60);
/// Between two tries to write to a full disk or a locked database.
const STORE_PATIENCE: Duration = Duration::from_secs(1);

#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("cannot open the project's repository")]
    Repository(#[source] windlass_adapters::git::GitError),
    #[error("cannot open the project's forge")]
    Forge(#[source] windlass_adapters::forge::OpenError),
    #[error("cannot prepare `{path}`")]
    Folder { path: std::path::PathBuf, source: windlass_adapters::files::FileError },
    #[error("cannot keep open files from the agents")]
    Descriptors(#[source] std::io::Error),
    #[error("cannot start a thread")]
    Thread(#[source] std::io::Error),
    #[error("cannot watch the sessions' files")]
    Watch(#[source] notify::Error),
}

/// A running factory for one project.
#[derive(Debug)]
pub struct Factory {
    pub(crate) world: Arc<World>,
    pub(crate) book: Book,
    pub(crate) outbox: Outbox,
    pub(crate) workers: Workers,
    /// For the queue and the builds it waits for: what is nearly done goes before what begins.
    pub(crate) urgent: Workers,
    pub(crate) causes: Sender<Cause>,
    heard: Receiver<Cause>,
    pub(crate) mirror: Sender<mirror::Page>,
    pub(crate) slots: Arc<ReviewSlots>,
    pub(crate) watch: Watch,
    pub(crate) queue: Queue,
    pub(crate) recipe: Recipe,
    pub(crate) backlog: Backlog,
    pub(crate) evidence: BTreeMap<SessionId, Evidence>,
    pub(crate) paused: bool,
    /// Something changed that the scheduler has not seen.
    pub(crate) restless: bool,
    pub(crate) knocked: bool,
    pub(crate) next_poll: Millis,
    pub(crate) next_heartbeat: Millis,
    retry_at: Option<Millis>,
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
    pub reading: bool,
    /// The first whole list has been read; before it nothing is decided.
    pub complete: bool,
}

/// Ends a running factory from another thread.
#[derive(Debug, Clone)]
pub struct Stop(Sender<Cause>);

impl Stop {
    /// Agents and builds go on; the next daemon takes them over.
    pub fn leave(&self) {
        drop(self.0.send(Cause::Stop(Stopping::Leave)));
    }

    /// Ends every process of the factory.
    pub fn down(&self) {
        drop(self.0.send(Cause::Stop(Stopping::Down)));
    }
}

/// What `Factory::open` has put together before the loop can begin.
pub(crate) struct Parts {
    pub world: Arc<World>,
    pub book: Book,
    pub outbox: Outbox,
    pub queue: Queue,
    pub backlog: Backlog,
    pub slots: Arc<ReviewSlots>,
    pub paused: bool,
}

impl Factory {
    pub(crate) fn assemble(parts: Parts) -> Result<Self, EngineError> {
        let (causes, heard) = channel();
        let layout = parts.world.layout.clone();
        let watch = Watch::start(&layout, causes.clone()).map_err(EngineError::Watch)?;
        let settings = &parts.world.settings;
        let workers = (settings.policy.parallel + settings.ci.slots) as usize + 4;
        let now = clock::now();
        Ok(Self {
            recipe: settings.recipe(),
            workers: Workers::start(workers.min(32)).map_err(EngineError::Thread)?,
            urgent: Workers::start(URGENT_WORKERS).map_err(EngineError::Thread)?,
            mirror: mirror::start(layout).map_err(EngineError::Thread)?,
            world: parts.world,
            book: parts.book,
            outbox: parts.outbox,
            causes,
            heard,
            slots: parts.slots,
            watch,
            queue: parts.queue,
            backlog: parts.backlog,
            evidence: BTreeMap::new(),
            paused: parts.paused,
            restless: true,
            knocked: true,
            next_poll: now,
            next_heartbeat: now,
            retry_at: None,
            stopping: None,
        })
    }

    pub fn stopper(&self) -> Stop {
        Stop(self.causes.clone())
    }

    /// Runs until it is stopped, or until it can no longer write down what it does.
    pub fn run(mut self) -> Result<(), EngineError> {
        self.reattach(clock::now())?;
        loop {
            // What was heard is written before it is thought about: thinking reads the store.
            self.write()?;
            self.think(clock::now())?;
            let wrote = self.write()?;
            if let Some(how) = self.stopping {
                return self.end(how);
            }
            let patience = if wrote { Duration::ZERO } else { self.patience(clock::now()) };
            self.listen(patience)?;
        }
    }

    /// Waits for the first cause, then takes what else is there.
    fn listen(&mut self, patience: Duration) -> Result<(), StoreError> {
        let first = match self.heard.recv_timeout(patience) {
            Ok(cause) => cause,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return Ok(()),
        };
        self.hear(clock::now(), first)?;
        for _ in 1..MAX_CAUSES {
            match self.heard.try_recv() {
                Ok(cause) => self.hear(clock::now(), cause)?,
                Err(_) => break,
            }
        }
        Ok(())
    }

    fn hear(&mut self, now: Millis, cause: Cause) -> Result<(), StoreError> {
        match cause {
            Cause::SessionStirred(session) => self.look_at(now, &session, false),
            Cause::SessionGone(session) => self.session_gone(now, &session),
            Cause::BuildGone(build) => self.build_gone(now, &build),
            Cause::EffectEnded { key, outcome } => self.effect_ended(now, &key, outcome)?,
            Cause::IssuesSeen(seen) => self.issues_seen(now, seen)?,
            // Thought about only when what came with it is written: it asks the store for verdicts.
            Cause::ChainBuilt(built) => self.queue.linked = Some(built),
            Cause::Knock => self.knocked = true,
            Cause::Stop(how) => self.stopping = Some(how),
        }
        Ok(())
    }

    /// Everything that follows from what is known now. Thinking twice changes nothing.
    fn think(&mut self, now: Millis) -> Result<(), StoreError> {
        if self.stopping.is_some() {
            return Ok(());
        }
        self.take_commands(now)?;
        self.read_issues(now);
        self.deadlines(now);
        self.heartbeat(now);
        if let Some(built) = self.queue.linked.take() {
            self.chain_built(now, built)?;
        }
        self.plan_queue(now)?;
        self.start_builds(now);
        self.schedule(now)
    }

    fn deadlines(&mut self, now: Millis) {
        let policy = self.world.settings.policy.clone();
        let due = |task: &task::Task| task::due(&policy, task, now).map(|event| (task.id.clone(), event));
        let due: Vec<(TaskId, task::Event)> = self.book.tasks.values().filter_map(due).collect();
        for (task, event) in due {
            self.book.happened(now, &task, &event);
        }
    }

    /// Writes what there is to write and hands out the orders, until nothing is left on the page. Says whether
    /// there was anything.
    fn write(&mut self) -> Result<bool, StoreError> {
        let mut wrote = false;
        loop {
            if !self.book.is_blank() {
                wrote = true;
                self.write_page()?;
            }
            self.hand_out(clock::now())?;
            if self.book.is_blank() {
                return Ok(wrote);
            }
        }
    }

    fn write_page(&mut self) -> Result<(), StoreError> {
        let world = Arc::clone(&self.world);
        let written = self.book.commit(world.store.as_ref(), |error| {
            tracing::error!(%error, "cannot write, waiting");
            std::thread::sleep(STORE_PATIENCE);
        })?;
        for owner in &written.cancelled {
            self.outbox.cancel(owner);
        }
        for order in written.orders {
            self.outbox.add(order);
        }
        for record in written.mirrors {
            drop(self.mirror.send(mirror::Page::Record(record)));
        }
        self.restless = true;
        let tasks: Vec<&task::Task> = self.book.tasks.values().collect();
        let queue = mirror::queue(&self.world.layout, &tasks);
        self.queue.mirror(queue, &self.mirror);
        Ok(())
    }

    /// How long nothing has to be done if nobody says anything.
    fn patience(&self, now: Millis) -> Duration {
        let policy = &self.world.settings.policy;
        let deadlines =
            self.book.tasks.values().filter_map(|task| task::wake_at(policy, task).map(|(at, _)| at));
        let next = deadlines
            .chain(self.outbox.next_wake())
            .chain(self.retry_at.filter(|at| *at > now))
            .chain([self.next_poll, self.next_heartbeat, now + LONGEST_WAIT])
            .min()
            .unwrap_or(now + LONGEST_WAIT);
        Duration::from_millis(u64::try_from(next.since(now).0).unwrap_or(0).max(1))
    }

    /// Thinks again at `at`, even if nothing happens.
    pub(crate) fn retry_at(&mut self, at: Millis) {
        self.retry_at = Some(at);
    }

    /// Takes a task that has ended back into memory, so that an event can still reach it.
    pub(crate) fn recall(&mut self, task: &TaskId) -> Result<(), StoreError> {
        if !self.book.recall(task)
            && let Some(found) = self.world.store.task(task)?
        {
            self.book.remember(found.value, found.version);
        }
        Ok(())
    }

    fn end(mut self, how: Stopping) -> Result<(), EngineError> {
        if how == Stopping::Down {
            self.take_down();
        }
        let epoch = self.world.store.epoch().unwrap_or_default();
        self.book.log(clock::now(), FactoryFact::DaemonStopped { epoch });
        self.book.commit(self.world.store.as_ref(), |_| std::thread::sleep(STORE_PATIENCE))?;
        Ok(())
    }

    /// Ends every process, after the effects under way have ended: none of them may start one more.
    fn take_down(&mut self) {
        while self.outbox.is_busy() {
            match self.heard.recv_timeout(Duration::from_secs(20)) {
                Ok(Cause::EffectEnded { key, .. }) => drop(self.outbox.done(&key)),
                Ok(_) => {}
                Err(_) => break,
            }
        }
        self.stop_all_processes();
    }
}
