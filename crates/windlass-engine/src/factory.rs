//! The daemon: opens the project's state, runs the heart's one loop on it, and ends it.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use windlass_adapters::files;
use windlass_adapters::forge::{Durability, EmbeddedForge};
use windlass_adapters::git::{BareRepo, Git};
use windlass_adapters::process;
use windlass_core::crash;
use windlass_core::time::Millis;
use windlass_store::{Mode, SqliteStore, Store, StoreError};

use crate::causes::{Cause, Stopping};
use crate::clock;
use crate::heart::Heart;
use crate::host::Host;
use crate::layout::Layout;
use crate::settings::{Reloaded, Settings};
use crate::world::World;

/// Causes that are heard before the page is written: a commit serves many.
const MAX_CAUSES: usize = 256;
/// How long the effects under way are waited for before every process is ended.
const LAST_EFFECTS: Duration = Duration::from_secs(20);

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
    heart: Heart,
    causes: Sender<Cause>,
    heard: Receiver<Cause>,
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

/// Hands a changed configuration to a running factory.
#[derive(Debug, Clone)]
pub struct Reload(Sender<Cause>);

impl Reload {
    pub fn take(&self, new: Reloaded) {
        drop(self.0.send(Cause::Configured(Ok(Box::new(new)))));
    }

    /// The last good one holds; this only says why.
    pub fn refuse(&self, why: String) {
        drop(self.0.send(Cause::Configured(Err(why))));
    }
}

impl Factory {
    /// Takes the project's state for this process and picks up whatever an earlier daemon left.
    /// The holder says in a few words what for; others who want the state are told.
    pub fn open(settings: Settings, layout: Layout, holder: String) -> Result<Self, EngineError> {
        // Agents and builds must not inherit what we hold open.
        process::keep_descriptors_private().map_err(EngineError::Descriptors)?;
        let store = SqliteStore::open(layout.state(), Mode::Daemon { holder, now: clock::now() })?;
        let forge =
            EmbeddedForge::open(&layout.database(), Durability::Normal).map_err(EngineError::Forge)?;
        let git = Git::new(settings.search_path.clone());
        let repo = BareRepo::open(&git, &layout.repository()).map_err(EngineError::Repository)?;
        repo.recover().map_err(EngineError::Repository)?;
        for path in [layout.workspaces(), layout.sessions(), layout.builds()] {
            files::private_dir(&path).map_err(|source| EngineError::Folder { path, source })?;
        }
        clear_away(&layout)?;
        let store: Arc<dyn Store> = Arc::new(store);
        let (causes, heard) = channel();
        let world = World {
            settings: settings.clone(),
            layout: layout.clone(),
            repo,
            forge: Arc::new(forge),
            store: Arc::clone(&store),
        };
        let host = Host::start(world, causes.clone())?;
        let heart = Heart::remember(settings, layout, store, Box::new(host), clock::now())?;
        Ok(Self { heart, causes, heard })
    }

    pub fn stopper(&self) -> Stop {
        Stop(self.causes.clone())
    }

    pub fn reloader(&self) -> Reload {
        Reload(self.causes.clone())
    }

    /// Runs until it is stopped, or until it can no longer write down what it does.
    pub fn run(mut self) -> Result<(), EngineError> {
        self.heart.begin(clock::now(), std::process::id())?;
        loop {
            let now = clock::now();
            let turn = self.heart.turn(now)?;
            if let Some(how) = self.heart.stopping() {
                return self.end(how);
            }
            if crash::ends_when_idle() && !turn.wrote && self.heart.is_idle() {
                return self.end(Stopping::Leave);
            }
            let patience = if turn.wrote { Duration::ZERO } else { until(turn.wake) };
            self.listen(patience)?;
        }
    }

    /// One round: hears what is to hear, does what is to do, and leaves agents and builds to themselves.
    pub fn tick(mut self) -> Result<(), EngineError> {
        self.heart.begin(clock::now(), std::process::id())?;
        loop {
            let turn = self.heart.turn(clock::now())?;
            if let Some(how) = self.heart.stopping() {
                return self.end(how);
            }
            if !turn.wrote && self.heart.is_settled() {
                return self.end(Stopping::Leave);
            }
            let patience = if turn.wrote { Duration::ZERO } else { until(turn.wake) };
            self.listen(patience)?;
        }
    }

    /// Waits for the first cause, then takes what else is there.
    fn listen(&mut self, patience: Duration) -> Result<(), StoreError> {
        let first = match self.heard.recv_timeout(patience) {
            Ok(cause) => cause,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return Ok(()),
        };
        self.heart.hear(clock::now(), first)?;
        for _ in 1..MAX_CAUSES {
            match self.heard.try_recv() {
                Ok(cause) => self.heart.hear(clock::now(), cause)?,
                Err(_) => break,
            }
        }
        Ok(())
    }

    fn end(mut self, how: Stopping) -> Result<(), EngineError> {
        if how == Stopping::Down {
            self.take_down();
        }
        Ok(self.heart.end(clock::now())?)
    }

    /// Ends every process, after the effects under way have ended: none of them may start one more.
    fn take_down(&mut self) {
        let until = Instant::now() + LAST_EFFECTS;
        while self.heart.outbox.is_busy() {
            match self.heard.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(Cause::EffectEnded { key, .. }) => drop(self.heart.outbox.done(&key)),
                Ok(_) => {}
                Err(_) => break,
            }
        }
        self.heart.stop_all_processes();
    }
}

/// What an earlier daemon or its shims were writing when they were killed.
fn clear_away(layout: &Layout) -> Result<(), EngineError> {
    let mut folders = vec![layout.state().to_owned()];
    for path in [layout.sessions(), layout.builds()] {
        let entries = std::fs::read_dir(&path).map_err(|source| EngineError::Folder {
            path: path.clone(),
            source: files::FileError::Read { path: path.clone(), source },
        })?;
        folders.extend(entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir()));
    }
    for path in folders {
        files::remove_abandoned(&path).map_err(|source| EngineError::Folder { path, source })?;
    }
    Ok(())
}

fn until(wake: Millis) -> Duration {
    Duration::from_millis(u64::try_from(wake.since(clock::now()).0).unwrap_or(0).max(1))
}
