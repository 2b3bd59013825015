//! The start: everything is read from the store, and everything that may have been under way is looked at.

use std::sync::Arc;

use windlass_adapters::files;
use windlass_adapters::forge::{Durability, EmbeddedForge};
use windlass_adapters::git::{BareRepo, Git};
use windlass_adapters::process;
use windlass_core::build::BuildStatus;
use windlass_core::id::Sha;
use windlass_core::journal::FactoryFact;
use windlass_core::session::{Process, Role};
use windlass_core::task::Effect;
use windlass_core::time::Millis;
use windlass_store::{Mode, SqliteStore, Store, StoreError, Which};

use super::commands::PAUSED;
use crate::clock;
use crate::factory::{Backlog, EngineError, Factory, Parts};
use crate::layout::Layout;
use crate::outbox::Outbox;
use crate::queue::{KNOWN_MAIN, QUEUE_MEMORY, QUEUE_PAUSED, Queue};
use crate::record::{Book, Order};
use crate::sessions;
use crate::settings::Settings;
use crate::world::World;

impl Factory {
    /// Takes the project's state for this process and picks up whatever an earlier daemon left.
    pub fn open(settings: Settings, layout: Layout) -> Result<Self, EngineError> {
        // Agents and builds must not inherit what we hold open.
        process::keep_descriptors_private().map_err(EngineError::Descriptors)?;
        let holder = format!("{} {}", settings.project, std::process::id());
        let store = SqliteStore::open(layout.state(), Mode::Daemon { holder, now: clock::now() })?;
        let forge =
            EmbeddedForge::open(&layout.database(), Durability::Normal).map_err(EngineError::Forge)?;
        let git = Git::new(settings.search_path.clone());
        let repo = BareRepo::open(&git, &layout.repository()).map_err(EngineError::Repository)?;
        repo.recover().map_err(EngineError::Repository)?;
        for path in [layout.workspaces(), layout.sessions(), layout.builds()] {
            files::private_dir(&path).map_err(|source| EngineError::Folder { path, source })?;
        }
        let store: Arc<dyn Store> = Arc::new(store);
        let book = remember(store.as_ref(), &settings, &layout)?;
        let outbox = pending(store.as_ref())?;
        let known_main = store.control(KNOWN_MAIN)?.and_then(|text| Sha::parse(&text).ok());
        let memory = store.control(QUEUE_MEMORY)?;
        let queue = Queue::stored(known_main, store.control(QUEUE_PAUSED)?, memory.as_deref());
        let decided =
            store.decisions()?.into_iter().map(|decision| (decision.issue, decision.text)).collect();
        let paused = store.control(PAUSED)?.is_some();
        let world = Arc::new(World { settings, layout, repo, forge: Arc::new(forge), store });
        let backlog = Backlog { decided, ..Backlog::default() };
        Self::assemble(Parts { world, book, outbox, queue, backlog, slots: Arc::default(), paused })
    }

    /// Sessions and builds that outlived the last daemon are watched again; those that did not are read to their end.
    pub(crate) fn reattach(&mut self, now: Millis) -> Result<(), StoreError> {
        let epoch = self.world.store.epoch().unwrap_or_default();
        let fact = FactoryFact::DaemonStarted {
            epoch,
            pid: std::process::id(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        };
        self.book.log(now, fact);
        for identity in self.book.identities.values().cloned().collect::<Vec<_>>() {
            if let Some(slot) = review_slot(&identity.worktree_path).filter(|_| identity.role == Role::Review)
            {
                self.slots.hold(&identity.name, slot);
            }
            let starting = self.outbox.any(|effect| match effect {
                Effect::StartSession { session, .. } | Effect::StartReview { session, .. } => {
                    *session == identity.name
                }
                _ => false,
            });
            if starting {
                continue;
            }
            match sessions::look(&self.world.layout, &identity) {
                Process::Alive => {
                    self.watch.session(&self.world.layout, &identity.name);
                    self.look_at(now, &identity.name, false);
                }
                Process::Gone | Process::NotLooked => self.look_at(now, &identity.name, true),
            }
        }
        self.reattach_builds();
        Ok(())
    }

    fn reattach_builds(&mut self) {
        for build in self.book.builds.values() {
            let starting = self
                .outbox
                .any(|effect| matches!(effect, Effect::RunBuild { build: id, .. } if *id == build.id));
            if !starting && matches!(build.status, BuildStatus::Running { .. }) {
                self.watch.build(&self.world.layout, &build.id);
            }
        }
    }
}

fn remember(store: &dyn Store, settings: &Settings, layout: &Layout) -> Result<Book, StoreError> {
    let mut book = Book::new(settings.policy.clone(), layout.clone());
    for task in store.live_tasks()? {
        book.remember(task.value, task.version);
    }
    for identity in store.identities(Which::Live)? {
        book.identities.insert(identity.name.clone(), identity);
    }
    for build in store.open_builds()? {
        book.builds.insert(build.id.clone(), build);
    }
    Ok(book)
}

/// Every effect that was written down and not ended is looked up before it is done again.
fn pending(store: &dyn Store) -> Result<Outbox, StoreError> {
    let mut outbox = Outbox::default();
    for effect in store.pending_effects()? {
        outbox.add(Order {
            key: effect.key,
            owner: effect.owner,
            effect: effect.effect,
            attempt: effect.attempt,
            not_before: effect.not_before,
            probe: true,
        });
    }
    Ok(outbox)
}

fn review_slot(worktree: &str) -> Option<u32> {
    let folder = std::path::Path::new(worktree).parent()?.file_name()?.to_str()?;
    folder.strip_prefix("review-")?.parse().ok()
}
