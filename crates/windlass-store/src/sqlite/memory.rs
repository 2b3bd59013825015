//! The database in memory, for simulations: many daemons can come and go over it, one at a time, as over a state folder.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rusqlite::Connection;
use rusqlite::backup::Backup;
use windlass_core::bugs::{self, Bug};
use windlass_core::time::Millis;

use super::{Access, SqliteStore, migrate, open};
use crate::error::{StoreError, classify, fault};

const NAME: &str = ":memory:";
/// Nobody holds the lock.
const FREE: u64 = 0;

#[derive(Debug)]
pub(super) struct Memory {
    conn: Mutex<Connection>,
    /// The epoch of the daemon that holds it: what the lock of the state folder is to a real one.
    held_by: AtomicU64,
}

/// Let go when its daemon is dropped.
#[derive(Debug)]
pub(super) struct MemoryLock {
    of: Arc<Memory>,
    epoch: u64,
}

impl Memory {
    // A poisoned lock is taken all the same: the next write clears away what a panic left open.
    pub(super) fn conn(&self) -> MutexGuard<'_, Connection> {
        self.conn.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for MemoryLock {
    fn drop(&mut self) {
        // Somebody else may have it by now; then it is not ours to let go.
        if self.of.held_by.load(Ordering::SeqCst) == self.epoch {
            self.of.held_by.store(FREE, Ordering::SeqCst);
        }
    }
}

pub(super) fn new() -> Result<Access, StoreError> {
    let conn = empty()?;
    migrate::migrate(&conn)?;
    take(Arc::new(Memory { conn: Mutex::new(conn), held_by: AtomicU64::new(FREE) }), "memory", Millis(0))
}

impl SqliteStore {
    /// Another daemon over the same database. Refused while one holds it.
    pub fn next_daemon(&self, holder: &str, now: Millis) -> Result<Self, StoreError> {
        let memory = self.memory()?;
        if memory.held_by.load(Ordering::SeqCst) != FREE && !bugs::is(Bug::NoLease) {
            return Err(StoreError::HeldBy { path: NAME.into(), pid: None });
        }
        Ok(Self { access: take(memory, holder, now)? })
    }

    /// As if the lock's file were deleted under a daemon that still lives: only the epoch tells it from the next.
    pub fn lose_lock(&self) -> Result<(), StoreError> {
        self.memory()?.held_by.store(FREE, Ordering::SeqCst);
        Ok(())
    }

    /// Lets the database grow by so many pages and no more, as a disk that is nearly full; `None` frees the disk.
    pub fn limit_pages(&self, more: Option<u32>) -> Result<(), StoreError> {
        let memory = self.memory()?;
        let conn = memory.conn();
        let tried = fault(&conn, "set the size of the disk");
        let limit = match more {
            Some(more) => {
                let pages: i64 = conn
                    .pragma_query_value(None, "page_count", |row| row.get(0))
                    .map_err(fault(&conn, "count pages"))?;
                pages + i64::from(more)
            }
            None => i64::from(u32::MAX - 1),
        };
        // The pragma answers with the limit that holds now.
        conn.query_row(&format!("PRAGMA max_page_count = {limit}"), [], |_| Ok(())).map_err(tried)
    }

    /// A copy of the whole database, held by nobody else: cheaper than making the tables anew.
    pub fn copy_in_memory(&self) -> Result<Self, StoreError> {
        let memory = self.memory()?;
        let mut copy = empty()?;
        {
            let from = memory.conn();
            let failed = |error| classify(Path::new(NAME), "copy the database", error);
            let backup = Backup::new(&from, &mut copy).map_err(failed)?;
            backup.step(-1).map_err(failed)?;
        }
        let memory = Arc::new(Memory { conn: Mutex::new(copy), held_by: AtomicU64::new(FREE) });
        Ok(Self { access: take(memory, "memory", Millis(0))? })
    }

    fn memory(&self) -> Result<Arc<Memory>, StoreError> {
        match &self.access {
            Access::Memory { memory, .. } => Ok(Arc::clone(memory)),
            Access::Daemon { .. } | Access::Client { .. } | Access::ReadOnly { .. } => {
                Err(StoreError::Exists { path: self.path() })
            }
        }
    }
}

fn take(memory: Arc<Memory>, holder: &str, now: Millis) -> Result<Access, StoreError> {
    let epoch = open::raise_epoch(&memory.conn(), holder, now)?;
    memory.held_by.store(epoch, Ordering::SeqCst);
    Ok(Access::Memory { _lock: MemoryLock { of: Arc::clone(&memory), epoch }, memory, epoch })
}

fn empty() -> Result<Connection, StoreError> {
    let failed = |error| classify(Path::new(NAME), "open a database in memory", error);
    Connection::open_in_memory().and_then(open::set_up).map_err(failed)
}
