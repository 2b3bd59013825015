//! Statuses of commits: the last one set for each context.

use rusqlite::{Connection, Error, Row, Transaction};
use windlass_core::forge::Status;
use windlass_core::id::Sha;

use super::cell;
use super::fault::Fault;

pub(super) fn set(tx: &Transaction<'_>, sha: &Sha, status: &Status) -> Result<(), Fault> {
    tx.execute(
        "INSERT INTO forge_status (sha, context, state, description, updated_at) VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT DO UPDATE SET state = excluded.state, description = excluded.description,
                                   updated_at = excluded.updated_at",
        (sha.as_str(), &status.context, cell::word(status.state), &status.description, status.updated_at.0),
    )?;
    Ok(())
}

pub(super) fn list(connection: &Connection, sha: &Sha) -> Result<Vec<Status>, Fault> {
    let mut statement = connection.prepare_cached(
        "SELECT context, state, description, updated_at FROM forge_status WHERE sha = ?1 ORDER BY context",
    )?;
    let statuses = statement.query_map([sha.as_str()], from_row)?;
    Ok(statuses.collect::<Result<_, _>>()?)
}

fn from_row(row: &Row<'_>) -> Result<Status, Error> {
    Ok(Status {
        context: row.get(0)?,
        state: cell::read_word(row, 1)?,
        description: row.get(2)?,
        updated_at: cell::read_time(row, 3)?,
    })
}
