//! Where everything of a project lies below its state folder.

use std::path::{Path, PathBuf};

use windlass_core::id::{BuildId, SessionId, TaskId};

#[derive(Debug, Clone)]
pub struct Layout {
    state: PathBuf,
}

impl Layout {
    pub fn new(state: impl Into<PathBuf>) -> Self {
        Self { state: state.into() }
    }

    pub fn state(&self) -> &Path {
        &self.state
    }

    pub fn database(&self) -> PathBuf {
        self.state.join("windlass.db")
    }

    pub fn repository(&self) -> PathBuf {
        self.state.join("repo.git")
    }

    /// Touched by whoever wants to be noticed at once.
    pub fn wake_file(&self) -> PathBuf {
        self.state.join("inbox").join("wake")
    }

    pub fn log_file(&self) -> PathBuf {
        self.state.join("daemon.log")
    }

    /// Its presence says that a person took the factory down; every starter but `up` respects it.
    pub fn down_mark(&self) -> PathBuf {
        self.state.join("stopped-by")
    }

    /// A task's clone; sessions come and go in it.
    pub fn workspace(&self, task: &TaskId) -> PathBuf {
        self.workspaces().join(task.as_str())
    }

    pub fn workspaces(&self) -> PathBuf {
        self.state.join("workspaces")
    }

    pub fn sessions(&self) -> PathBuf {
        self.state.join("sessions")
    }

    pub fn session(&self, session: &SessionId) -> PathBuf {
        self.sessions().join(session.as_str())
    }

    /// Private to the session's programs; what they remember lies in it.
    pub fn home(&self, session: &SessionId) -> PathBuf {
        self.session(session).join("home")
    }

    pub fn phase(&self, session: &SessionId) -> PathBuf {
        self.session(session).join("phase")
    }

    pub fn verdict(&self, session: &SessionId) -> PathBuf {
        self.session(session).join("verdict.json")
    }

    pub fn hook(&self, session: &SessionId) -> PathBuf {
        self.session(session).join("hook.json")
    }

    pub fn identity(&self, session: &SessionId) -> PathBuf {
        self.session(session).join("identity.json")
    }

    pub fn builds(&self) -> PathBuf {
        self.state.join("builds")
    }

    pub fn build(&self, build: &BuildId) -> PathBuf {
        self.builds().join(build.as_str())
    }

    pub fn ci_slot(&self, slot: u32) -> PathBuf {
        self.state.join("slots").join(format!("ci-{slot}"))
    }

    pub fn review_slot(&self, slot: u32) -> PathBuf {
        self.state.join("slots").join(format!("review-{slot}"))
    }

    /// The slot that a checkout belongs to.
    pub fn review_slot_of(&self, checkout: &Path) -> Option<u32> {
        let folder = checkout.parent()?.file_name()?.to_str()?;
        folder.strip_prefix("review-")?.parse().ok()
    }

    /// What is known of the jobs that are done by the clock.
    pub fn schedule(&self) -> PathBuf {
        self.state.join("schedule")
    }

    pub fn backups(&self) -> PathBuf {
        self.state.join("backups")
    }

    pub fn queue_mirror(&self) -> PathBuf {
        self.state.join("merge-queue.json")
    }
}
