//! The memory in one SQLite file, `windlass.db` in the state folder. Other crates keep tables of their own in it.

mod apply;
mod backup;
mod builds;
mod cell;
mod effects;
mod events;
mod export;
mod filter;
mod folder;
mod import;
mod memory;
mod migrate;
mod open;
mod people;
mod pool;
mod restore;
mod serve;
mod sessions;
mod tasks;
mod usage;
mod writer;

use std::path::Path;
use std::sync::{Arc, Mutex};

use rusqlite::Connection;
use windlass_core::time::Millis;

use crate::error::{StoreError, fault};
use folder::DaemonLock;
use memory::{Memory, MemoryLock};
use pool::Pool;
use writer::Writer;

const LEASE: &str = "daemon";

/// What the store is opened for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mode {
    /// Everything. One per state folder, held until the store is dropped or the process ends. Checks the file first.
    /// The holder is a line of words: what it is held for, told to others who want it.
    Daemon { holder: String, now: Millis },
    /// Reading, and posting commands.
    Client,
    /// Reading what is there.
    ReadOnly,
    /// Everything, in memory: for simulations. The state folder is not looked at.
    Memory,
}

#[derive(Debug)]
pub struct SqliteStore {
    access: Access,
}

#[derive(Debug)]
enum Access {
    // The lock comes last: it is let go only when the writer has ended.
    Daemon { writer: Writer, readers: Pool, epoch: u64, _lock: DaemonLock },
    Client { poster: Mutex<Connection>, readers: Pool },
    ReadOnly { readers: Pool },
    Memory { memory: Arc<Memory>, epoch: u64, _lock: MemoryLock },
}

impl SqliteStore {
    pub fn open(state_dir: &Path, mode: Mode) -> Result<Self, StoreError> {
        let access = match mode {
            Mode::Daemon { holder, now } => open::daemon(state_dir, &holder, now),
            Mode::Client => open::client(state_dir),
            Mode::ReadOnly => open::read_only(state_dir),
            Mode::Memory => memory::new(),
        }?;
        Ok(Self { access })
    }

    pub fn open_in_memory() -> Result<Self, StoreError> {
        Ok(Self { access: memory::new()? })
    }

    /// Copies the whole file, tables of others included, while work goes on. Refuses to overwrite.
    pub fn backup(&self, to: &Path) -> Result<(), StoreError> {
        self.with_reader(|conn| backup::backup(conn, to))
    }

    /// Puts a copy that `backup` made in the place of the database, which goes into the new folder `aside` as it is. Refused
    /// while a daemon holds it, and for a copy that is not whole.
    pub fn restore(state_dir: &Path, copy: &Path, aside: &Path) -> Result<(), StoreError> {
        restore::restore(state_dir, copy, aside)
    }

    /// Reads all of it and says what is wrong.
    pub fn check_integrity(&self) -> Result<(), StoreError> {
        self.with_reader(backup::integrity)
    }

    /// Writes every row of every table, as of one moment, as lines of JSON.
    pub fn export(&self, out: &mut dyn std::io::Write) -> Result<(), StoreError> {
        self.with_reader(|conn| export::export(conn, out))
    }

    /// Reads back what `export` wrote, into a state without records. Refused while a daemon holds it.
    pub fn import(state_dir: &Path, from: &mut dyn std::io::BufRead) -> Result<u64, StoreError> {
        let (conn, _lock) = open::alone(state_dir, "import")?;
        import::import(&conn, from)
    }

    fn with_reader<T>(
        &self,
        look: impl FnOnce(&Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        match &self.access {
            Access::Daemon { readers, .. }
            | Access::Client { readers, .. }
            | Access::ReadOnly { readers } => readers.with(look),
            Access::Memory { memory, .. } => look(&memory.conn()),
        }
    }

    fn read<T>(
        &self,
        tried: &'static str,
        look: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        self.with_reader(|conn| look(conn).map_err(fault(conn, tried)))
    }
}
