//! Opens the database: as the daemon, as a client, to look only, or in memory.

use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, params};
use windlass_core::time::Millis;

use super::folder::{self, DaemonLock};
use super::migrate;
use super::pool::Pool;
use super::writer::Writer;
use super::{Access, LEASE};
use crate::error::{StoreError, classify, fault, io_fault};

const BUSY: Duration = Duration::from_secs(5);
const WAL_TRIES: u32 = 20;
/// More than we have different statements.
const STATEMENTS: usize = 64;

pub(super) fn daemon(state_dir: &Path, holder: &str, now: Millis) -> Result<Access, StoreError> {
    folder::prepare(state_dir)?;
    let opening = folder::begin_opening(state_dir)?;
    let lock: DaemonLock = folder::lock_as_daemon(state_dir, &opening, holder)?;
    let path = folder::database(state_dir);
    folder::make_private(&path)?;
    let conn = read_write(&path)?;
    quick_check(&conn)?;
    migrate::migrate(&conn)?;
    let epoch = raise_epoch(&conn, holder, now)?;
    Ok(Access::Daemon { writer: Writer::start(conn, epoch)?, readers: Pool::new(path), epoch, _lock: lock })
}

/// A connection for one who must be the only one to write, and its hold on the folder.
pub(super) fn alone(state_dir: &Path, holder: &str) -> Result<(Connection, DaemonLock), StoreError> {
    folder::prepare(state_dir)?;
    let opening = folder::begin_opening(state_dir)?;
    let lock = folder::lock_as_daemon(state_dir, &opening, holder)?;
    let path = folder::database(state_dir);
    folder::make_private(&path)?;
    let conn = read_write(&path)?;
    migrate::migrate(&conn)?;
    Ok((conn, lock))
}

pub(super) fn client(state_dir: &Path) -> Result<Access, StoreError> {
    folder::prepare(state_dir)?;
    let path = folder::database(state_dir);
    let conn = match current(&path)? {
        Some(conn) => conn,
        None => bring_up_to_date(state_dir, &path)?,
    };
    Ok(Access::Client { poster: Mutex::new(conn), readers: Pool::new(path) })
}

pub(super) fn read_only(state_dir: &Path) -> Result<Access, StoreError> {
    let path = folder::database(state_dir);
    if !exists(&path)? {
        return Err(StoreError::NotFound { path });
    }
    let found = state_dir.metadata().map_err(io_fault(state_dir, "look at the state folder"))?;
    folder::must_be_ours(state_dir, &found)?;
    let readers = Pool::new(path.clone());
    let (found, known) = (readers.with(migrate::refuse_newer)?, migrate::known());
    if found < known {
        return Err(StoreError::Older { path, found, known, holder: None });
    }
    Ok(Access::ReadOnly { readers })
}

/// Read-only, so that nothing that only looks can ever write.
pub(super) fn reader(path: &Path) -> Result<Connection, StoreError> {
    connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY).map_err(|error| match error.sqlite_error_code() {
        // The file is there: what cannot be opened is a side file, in a folder where we may not make one.
        Some(ErrorCode::CannotOpen) if path.exists() => StoreError::ReadOnly { path: path.to_owned() },
        Some(ErrorCode::CannotOpen) => StoreError::NotFound { path: path.to_owned() },
        _ => classify(path, "open the database", error),
    })
}

fn read_write(path: &Path) -> Result<Connection, StoreError> {
    let conn = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)
        .map_err(|error| classify(path, "open the database", error))?;
    use_wal(&conn)
        .and_then(|()| conn.pragma_update(None, "synchronous", "FULL"))
        .map_err(fault(&conn, "set up the database"))?;
    Ok(conn)
}

fn connect(path: &Path, flags: OpenFlags) -> Result<Connection, rusqlite::Error> {
    let conn = set_up(Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?)?;
    // SQLite opens lazily. This touches the file and its side files, so that what is wrong with them shows here.
    conn.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
    Ok(conn)
}

pub(super) fn set_up(conn: Connection) -> Result<Connection, rusqlite::Error> {
    conn.busy_timeout(BUSY)?;
    conn.set_prepared_statement_cache_capacity(STATEMENTS);
    // Without this, SQLite prepares a statement anew for each value that it might choose another index for.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    conn.pragma_update(None, "foreign_keys", "ON")?;
    conn.pragma_update(None, "trusted_schema", "OFF")?;
    Ok(conn)
}

// Of programs that open a new file at once, one makes the switch, and the others are told "busy" at once: SQLite does
// not wait here. It does wait for a transaction, so that is how we wait before we ask again.
fn use_wal(conn: &Connection) -> Result<(), rusqlite::Error> {
    for _ in 0..WAL_TRIES {
        match conn.pragma_update(None, "journal_mode", "WAL") {
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => {
                conn.execute_batch("BEGIN IMMEDIATE; ROLLBACK")?;
            }
            done => return done,
        }
    }
    conn.pragma_update(None, "journal_mode", "WAL")
}

fn quick_check(conn: &Connection) -> Result<(), StoreError> {
    let said: String = conn
        .query_row("PRAGMA quick_check(1)", [], |row| row.get(0))
        .map_err(fault(conn, "check the database"))?;
    if said == "ok" {
        return Ok(());
    }
    Err(StoreError::Corrupt { path: conn.path().unwrap_or_default().into(), detail: said })
}

pub(super) fn raise_epoch(conn: &Connection, holder: &str, now: Millis) -> Result<u64, StoreError> {
    conn.prepare_cached(
        "INSERT INTO lease (name, holder, epoch, at) VALUES (?1, ?2, 1, ?3)
         ON CONFLICT (name) DO UPDATE SET holder = ?2, epoch = epoch + 1, at = ?3 RETURNING epoch",
    )
    .and_then(|mut statement| {
        statement.query_row(params![LEASE, holder, now.0], |row| super::cell::read_number(row, 0))
    })
    .map_err(fault(conn, "take the lease"))
}

/// `None` when there is no database yet, or one of an older version.
fn current(path: &Path) -> Result<Option<Connection>, StoreError> {
    if !exists(path)? {
        return Ok(None);
    }
    let conn = read_write(path)?;
    Ok((migrate::refuse_newer(&conn)? == migrate::known()).then_some(conn))
}

// A running daemon's database is never migrated under its feet: it is of an older version, and must be restarted.
fn bring_up_to_date(state_dir: &Path, path: &Path) -> Result<Connection, StoreError> {
    let opening = folder::begin_opening(state_dir)?;
    if let Some(conn) = current(path)? {
        return Ok(conn);
    }
    if let Some(holder) = folder::daemon_at_work(state_dir, &opening)? {
        let found = if exists(path)? { migrate::version(&read_write(path)?)? } else { 0 };
        return Err(StoreError::Older { path: path.to_owned(), found, known: migrate::known(), holder });
    }
    folder::make_private(path)?;
    let conn = read_write(path)?;
    migrate::migrate(&conn)?;
    Ok(conn)
}

fn exists(path: &Path) -> Result<bool, StoreError> {
    path.try_exists().map_err(crate::error::io_fault(path, "look for"))
}
