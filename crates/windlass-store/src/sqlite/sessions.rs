//! Rows of `identity` and `hook`: who is at work, and on what.

use rusqlite::{Connection, OptionalExtension, Params, params};
use windlass_core::id::{SessionId, TaskId};
use windlass_core::session::{Hook, Identity, IdentityStatus};

use super::cell::{json, number, read_json};
use crate::error::{StoreError, fault};
use crate::rows::Which;

pub(super) fn save_identity(conn: &Connection, identity: &Identity) -> Result<(), StoreError> {
    let (status, live) = match identity.status {
        IdentityStatus::Active => ("active", true),
        IdentityStatus::Terminated => ("terminated", false),
        IdentityStatus::Crashed => ("crashed", false),
    };
    conn.prepare_cached(
        "INSERT INTO identity (name, task, issue, role, status, live, data) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
         ON CONFLICT (name) DO UPDATE SET task = ?2, issue = ?3, role = ?4, status = ?5, live = ?6, data = ?7",
    )
    .and_then(|mut statement| {
        statement.execute(params![
            identity.name.as_str(),
            identity.task.as_str(),
            number(identity.issue.0),
            identity.role.word(),
            status,
            live,
            json(identity)
        ])
    })
    .map_err(fault(conn, "save an identity"))?;
    Ok(())
}

pub(super) fn save_hook(conn: &Connection, hook: &Hook) -> Result<(), StoreError> {
    conn.prepare_cached(
        "INSERT INTO hook (identity, data) VALUES (?1, ?2) ON CONFLICT (identity) DO UPDATE SET data = ?2",
    )
    .and_then(|mut statement| statement.execute(params![hook.identity_name.as_str(), json(hook)]))
    .map_err(fault(conn, "save a hook"))?;
    Ok(())
}

pub(super) fn identities(conn: &Connection, which: Which) -> rusqlite::Result<Vec<Identity>> {
    match which {
        Which::All => list(conn, "ORDER BY seq", []),
        Which::Live => list(conn, "WHERE live = 1 ORDER BY seq", []),
        Which::Ended => list(conn, "WHERE live = 0 ORDER BY seq", []),
    }
}

pub(super) fn of_task(conn: &Connection, task: &TaskId) -> rusqlite::Result<Vec<Identity>> {
    list(conn, "WHERE task = ?1 ORDER BY seq", [task.as_str()])
}

pub(super) fn identity(conn: &Connection, name: &SessionId) -> rusqlite::Result<Option<Identity>> {
    conn.prepare_cached("SELECT data FROM identity WHERE name = ?1")?
        .query_row([name.as_str()], |row| read_json(row, 0))
        .optional()
}

pub(super) fn hook(conn: &Connection, identity: &SessionId) -> rusqlite::Result<Option<Hook>> {
    conn.prepare_cached("SELECT data FROM hook WHERE identity = ?1")?
        .query_row([identity.as_str()], |row| read_json(row, 0))
        .optional()
}

fn list(conn: &Connection, tail: &str, holes: impl Params) -> rusqlite::Result<Vec<Identity>> {
    conn.prepare_cached(&format!("SELECT data FROM identity {tail}"))?
        .query_map(holes, |row| read_json(row, 0))?
        .collect()
}
