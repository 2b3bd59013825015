//! The forge for those who have none: issues and changes as tables in the project's own database file.

mod cell;
mod changes;
mod comments;
mod fault;
mod issues;
mod labels;
mod migrate;
mod paging;
mod reviews;
mod serve;
mod statuses;
mod text;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior};

use super::ForgeError;
use crate::Remedy;
use fault::Fault;
pub use text::label_is_fine;

const BUSY: Duration = Duration::from_secs(5);
const WAL_TRIES: u32 = 20;
const DEFAULT_AUTHOR: &str = "windlass";

/// What a commit waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    // Sound for the daemon alone: it writes an effect's outcome to the store in the same file afterwards, and that
    // commit is FULL and syncs the one log that holds ours before it. A power loss in between loses both, and the
    // effect is probed and done again.
    /// The operating system: for the daemon.
    Normal,
    /// The disk: for a person's command, which no later commit follows.
    Full,
}

#[derive(Debug)]
pub struct EmbeddedForge {
    writer: Mutex<Connection>,
    // Apart from the writer, so that nobody who only looks waits for a writer in another process.
    reader: Mutex<Connection>,
    author: String,
}

#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("cannot open the forge in `{path}`")]
    Open { path: PathBuf, source: rusqlite::Error },
    #[error("cannot bring the forge in `{path}` to version {version}")]
    Migrate { path: PathBuf, version: i64, source: rusqlite::Error },
    #[error("the forge in `{path}` has version {found}, and this program knows versions up to {known}")]
    TooNew { path: PathBuf, found: i64, known: i64 },
}

impl OpenError {
    pub fn remedy(&self) -> Remedy {
        match self {
            Self::Open { source, .. } | Self::Migrate { source, .. } if fault::passes(source) => {
                Remedy::TryAgain
            }
            Self::Open { .. } | Self::Migrate { .. } | Self::TooNew { .. } => Remedy::AskHuman,
        }
    }
}

impl EmbeddedForge {
    /// Makes the file and the tables where they are missing; other tables in the file are left alone.
    pub fn open(path: &Path, durability: Durability) -> Result<Self, OpenError> {
        let failed = |source| OpenError::Open { path: path.to_owned(), source };
        let mut writer = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE)
            .and_then(|writer| set_up_writer(writer, durability))
            .map_err(failed)?;
        migrate::migrate(&mut writer, migrate::STEPS, path)?;
        let reader = connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY).map_err(failed)?;
        let author = DEFAULT_AUTHOR.to_owned();
        Ok(Self { writer: Mutex::new(writer), reader: Mutex::new(reader), author })
    }

    /// Names who comments and reviews from here on, as a token does on a forge with accounts.
    #[must_use]
    pub fn acting_as(self, author: &str) -> Self {
        Self { author: author.to_owned(), ..self }
    }

    fn read<T>(
        &self,
        tried: &'static str,
        look: impl FnOnce(&Connection) -> Result<T, Fault>,
    ) -> Result<T, ForgeError> {
        // A poisoned lock is taken all the same: whoever panicked left no open transaction behind.
        let mut reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        let snapshot = reader.transaction().map_err(|error| Fault::from(error).into_error(tried))?;
        look(&snapshot).map_err(|fault| fault.into_error(tried))
    }

    fn write<T>(
        &self,
        tried: &'static str,
        act: impl FnOnce(&Transaction<'_>) -> Result<T, Fault>,
    ) -> Result<T, ForgeError> {
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        write_in(&mut writer, act).map_err(|fault| fault.into_error(tried))
    }
}

fn write_in<T>(
    writer: &mut Connection,
    act: impl FnOnce(&Transaction<'_>) -> Result<T, Fault>,
) -> Result<T, Fault> {
    let tx = writer.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let answer = act(&tx)?;
    tx.commit()?;
    Ok(answer)
}

fn connect(path: &Path, flags: OpenFlags) -> Result<Connection, rusqlite::Error> {
    let connection = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection.busy_timeout(BUSY)?;
    connection.pragma_update(None, "foreign_keys", "ON")?;
    connection.pragma_update(None, "trusted_schema", "OFF")?;
    Ok(connection)
}

fn set_up_writer(writer: Connection, durability: Durability) -> Result<Connection, rusqlite::Error> {
    use_wal(&writer)?;
    let synchronous = match durability {
        Durability::Normal => "NORMAL",
        Durability::Full => "FULL",
    };
    writer.pragma_update(None, "synchronous", synchronous)?;
    Ok(writer)
}

// Of programs that open a new file at once, one makes the switch, and the others are told "busy" at once: SQLite does
// not wait here. It does wait for a transaction, so that is how we wait before we ask again.
fn use_wal(writer: &Connection) -> Result<(), rusqlite::Error> {
    for _ in 0..WAL_TRIES {
        match writer.pragma_update(None, "journal_mode", "WAL") {
            Err(error) if fault::passes(&error) => writer.execute_batch("BEGIN IMMEDIATE; ROLLBACK")?,
            done => return done,
        }
    }
    writer.pragma_update(None, "journal_mode", "WAL")
}
