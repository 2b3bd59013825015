//! Keeps whoever makes or ends workspaces and whoever clears old ones away out of each other's way.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;

use super::bare::BareRepo;
use super::error::GitError;

/// What somebody is about to do to workspaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hold {
    /// Work for a task that is alive; many do at once.
    Serving,
    /// Remove one that nobody has asked for in a long time; nobody else does anything meanwhile.
    Clearing,
}

impl BareRepo {
    /// Waits for the others, and is held until it is dropped.
    pub fn hold_workspaces(&self, hold: Hold) -> Result<File, GitError> {
        let path = self.path().join("workspaces.hold");
        let open = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&path);
        let held = open.and_then(|file| {
            match hold {
                Hold::Serving => file.lock_shared()?,
                Hold::Clearing => file.lock()?,
            }
            Ok(file)
        });
        held.map_err(|source| GitError::Io { path, source })
    }
}
