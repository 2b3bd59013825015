//! Brings the tables to the version that this program knows, one step at a time.

use std::path::PathBuf;

use rusqlite::{Connection, Transaction, TransactionBehavior};

use crate::error::{StoreError, fault};

/// Step n leads from version n to n + 1. A released step is never edited.
pub(super) const STEPS: &[&str] = &[
    include_str!("../../migrations/0001_tables.sql"),
    include_str!("../../migrations/0002_history.sql"),
    include_str!("../../migrations/0003_builds.sql"),
];

const TRIED: &str = "bring the database up to date";

pub(super) fn known() -> i64 {
    i64::try_from(STEPS.len()).expect("the steps fit into memory")
}

/// 0 when none of our tables is there yet.
pub(super) fn version(conn: &Connection) -> Result<i64, StoreError> {
    conn.pragma_query_value(None, "user_version", |row| row.get(0))
        .map_err(fault(conn, "read the version of the database"))
}

pub(super) fn refuse_newer(conn: &Connection) -> Result<i64, StoreError> {
    let (found, known) = (version(conn)?, known());
    if found > known {
        let path = PathBuf::from(conn.path().unwrap_or_default());
        return Err(StoreError::Newer { path, found, known });
    }
    Ok(found)
}

/// Each step is a transaction of its own: a crash in between leaves a whole version.
pub(super) fn migrate(conn: &Connection) -> Result<(), StoreError> {
    while refuse_newer(conn)? < known() {
        alone(conn, TRIED, step)?;
    }
    Ok(())
}

/// All of it or nothing, for one who holds the whole folder: no daemon commits meanwhile.
pub(super) fn alone<T>(
    conn: &Connection,
    tried: &'static str,
    work: impl FnOnce(&Transaction<'_>) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    let tx = Transaction::new_unchecked(conn, TransactionBehavior::Immediate).map_err(fault(conn, tried))?;
    let done = work(&tx)?;
    tx.commit().map_err(fault(conn, tried))?;
    Ok(done)
}

fn step(tx: &Transaction<'_>) -> Result<(), StoreError> {
    // Read again under the lock.
    let found = refuse_newer(tx)?;
    let Some(step) = usize::try_from(found).ok().and_then(|found| STEPS.get(found)) else { return Ok(()) };
    tx.execute_batch(step)
        .and_then(|()| tx.pragma_update(None, "user_version", found + 1))
        .map_err(fault(tx, TRIED))
}

#[cfg(test)]
mod tests;
