//! Read-only connections, kept for the next reader.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rusqlite::Connection;

use super::open;
use crate::error::StoreError;

const KEPT: usize = 4;

#[derive(Debug)]
pub(super) struct Pool {
    path: PathBuf,
    idle: Mutex<Vec<Connection>>,
}

impl Pool {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, idle: Mutex::new(Vec::new()) }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Nobody waits for a reader: if all are out, another is opened.
    pub(super) fn with<T>(
        &self,
        look: impl FnOnce(&Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let kept = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let conn = kept.map_or_else(|| open::reader(&self.path), Ok)?;
        let seen = look(&conn);
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < KEPT {
            idle.push(conn);
        }
        seen
    }
}
