//! Notices changed files and ended processes. It only wakes the heart; what changed is read anew.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};

use notify::event::{AccessKind, AccessMode, EventKind};
use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};
use windlass_adapters::agent::HOOKS;
use windlass_adapters::files;
use windlass_adapters::process::ProcessId;
use windlass_adapters::shim::{FACTS, TRANSCRIPT, client};
use windlass_core::id::{BuildId, SessionId};

use crate::causes::Cause;
use crate::layout::Layout;

pub struct Watch {
    files: RecommendedWatcher,
    causes: Sender<Cause>,
    /// Folders whose shim a thread waits for, and processes.
    waiting: Arc<Mutex<BTreeSet<PathBuf>>>,
}

impl std::fmt::Debug for Watch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watch").finish_non_exhaustive()
    }
}

impl Watch {
    pub fn start(layout: &Layout, causes: Sender<Cause>) -> notify::Result<Self> {
        let (wake, to) = (layout.wake_file(), causes.clone());
        let mut files = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            for cause in event.into_iter().flat_map(|event| read(&wake, &event)) {
                drop(to.send(cause));
            }
        })?;
        let inbox = layout.wake_file().parent().map(Path::to_owned).unwrap_or_default();
        if let Err(error) = files::private_dir(&inbox) {
            tracing::warn!(%error, "cannot make the inbox folder");
        }
        files.watch(&inbox, RecursiveMode::NonRecursive)?;
        Ok(Self { files, causes, waiting: Arc::default() })
    }

    /// Watches a session's files and waits for the end of its process.
    pub fn session(&mut self, layout: &Layout, session: &SessionId) {
        let folder = layout.session(session);
        if let Err(error) = self.files.watch(&folder, RecursiveMode::NonRecursive) {
            tracing::warn!(%error, %session, "cannot watch a session's files");
        }
        self.wait_for(folder, Cause::SessionGone(session.clone()));
    }

    pub fn build(&self, layout: &Layout, build: &BuildId) {
        self.wait_for(layout.build(build), Cause::BuildGone(build.clone()));
    }

    pub fn forget_session(&mut self, layout: &Layout, session: &SessionId) {
        // Not watched any more is what was wanted; that it never was is no error.
        drop(self.files.unwatch(&layout.session(session)));
    }

    /// Waits for the end of the process through which a person types.
    pub fn typist(&self, process: ProcessId) {
        let name = PathBuf::from(format!("/proc/{}", process.pid));
        self.wait(name, Cause::TypistGone, move |_| process.wait_gone());
    }

    /// The thread sleeps on the shim's lock: it wakes the moment the kernel lets go of it.
    fn wait_for(&self, folder: PathBuf, cause: Cause) {
        self.wait(folder, cause, client::wait_gone);
    }

    /// One thread waits for whoever has this name, and then tells the cause.
    fn wait<E: std::error::Error>(
        &self,
        name: PathBuf,
        cause: Cause,
        until_gone: impl FnOnce(&Path) -> Result<(), E> + Send + 'static,
    ) {
        if !self.waiting.lock().unwrap_or_else(PoisonError::into_inner).insert(name.clone()) {
            return;
        }
        let (causes, waiting) = (self.causes.clone(), Arc::clone(&self.waiting));
        let wait = move || {
            if let Err(error) = until_gone(&name) {
                tracing::warn!(%error, "cannot wait for the end of a process");
            }
            waiting.lock().unwrap_or_else(PoisonError::into_inner).remove(&name);
            drop(causes.send(cause));
        };
        let started = std::thread::Builder::new().name("waiter".into()).stack_size(128 * 1024).spawn(wait);
        if let Err(error) = started {
            tracing::error!(%error, "cannot start a thread to wait for a process");
        }
    }
}

fn read(wake: &Path, event: &notify::Event) -> Vec<Cause> {
    let written = matches!(
        event.kind,
        EventKind::Access(AccessKind::Close(AccessMode::Write)) | EventKind::Create(_) | EventKind::Modify(_)
    );
    if !written {
        return Vec::new();
    }
    event.paths.iter().filter_map(|path| cause(wake, path)).collect()
}

fn cause(wake: &Path, path: &Path) -> Option<Cause> {
    if path == wake {
        return Some(Cause::Knock);
    }
    let name = path.file_name()?.to_str()?;
    let session = path.parent()?.file_name()?.to_str()?;
    match name {
        FACTS | HOOKS | "phase" | "verdict.json" => Some(Cause::SessionStirred(SessionId::stored(session))),
        TRANSCRIPT => Some(Cause::SessionSpoke(SessionId::stored(session))),
        _ => None,
    }
}
