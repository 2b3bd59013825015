//! Brings the forge's tables to the version that this program knows.

use std::path::Path;

use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior};

use super::OpenError;

/// Step n leads from version n to n + 1. A released step is never edited.
pub(super) const STEPS: &[&str] = &[include_str!("schema_1.sql")];

// One row. Issues and changes draw their numbers from one counter, as on other forges.
const META: &str = "CREATE TABLE IF NOT EXISTS forge_meta (
    id          INTEGER PRIMARY KEY CHECK (id = 1),
    version     INTEGER NOT NULL,
    last_number INTEGER NOT NULL
) STRICT;
INSERT OR IGNORE INTO forge_meta (id, version, last_number) VALUES (1, 0, 0);";

pub(super) fn migrate(writer: &mut Connection, steps: &[&str], path: &Path) -> Result<(), OpenError> {
    let known = i64::try_from(steps.len()).expect("the steps fit into memory");
    let failed = |source| OpenError::Migrate { path: path.to_owned(), version: known, source };
    // Looked at first without the write lock: a second program must not wait for it when there is nothing to do.
    if version(writer).map_err(failed)? == Some(known) {
        return Ok(());
    }
    let tx = writer.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
    let found = version(&tx).map_err(failed)?.unwrap_or(0);
    if found > known {
        return Err(OpenError::TooNew { path: path.to_owned(), found, known });
    }
    let done = usize::try_from(found).unwrap_or(0);
    run(&tx, &steps[done..], known).map_err(failed)?;
    tx.commit().map_err(failed)
}

/// `None` before the first step.
fn version(connection: &Connection) -> Result<Option<i64>, rusqlite::Error> {
    // By a query, which reads the file: `table_exists` answers from what this connection remembers.
    let made = connection
        .prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'forge_meta'")?
        .exists([])?;
    if !made {
        return Ok(None);
    }
    connection.query_row("SELECT version FROM forge_meta", [], |row| row.get(0)).optional()
}

fn run(tx: &Transaction<'_>, steps: &[&str], known: i64) -> Result<(), rusqlite::Error> {
    tx.execute_batch(META)?;
    for step in steps {
        tx.execute_batch(step)?;
    }
    tx.execute("UPDATE forge_meta SET version = ?1", [known])?;
    Ok(())
}

/// The next number for an issue or a change.
pub(super) fn next_number(tx: &Transaction<'_>) -> Result<i64, rusqlite::Error> {
    tx.query_row("UPDATE forge_meta SET last_number = last_number + 1 RETURNING last_number", [], |row| {
        row.get(0)
    })
}

#[cfg(test)]
mod tests;
