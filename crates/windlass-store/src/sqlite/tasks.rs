//! Rows of `task`: where each issue's task stands.

use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension, Params, Row, params, params_from_iter};
use windlass_core::id::{IssueNumber, TaskId};
use windlass_core::task::Task;
use windlass_core::time::Millis;

use super::cell::{count, is_taken, json, number, read_json, read_number, read_time};
use super::filter::Filter;
use crate::error::{StoreError, fault};
use crate::rows::{TaskQuery, Versioned, Which};

const SELECT: &str = "SELECT seq, version, data FROM task";

pub(super) fn insert(conn: &Connection, task: &Task, wake_at: Option<Millis>) -> Result<(), StoreError> {
    let done = conn
        .prepare_cached(
            "INSERT INTO task (id, issue, state, live, version, wake_at, since, updated_at, data)
             VALUES (?1, ?2, ?3, ?4, 1, ?5, ?6, ?6, ?7)",
        )
        .and_then(|mut statement| {
            statement.execute(params![
                task.id.as_str(),
                number(task.issue.0),
                task.state.name(),
                !task.state.is_terminal(),
                wake_at.map(|at| at.0),
                task.since.0,
                json(task)
            ])
        });
    match done {
        Ok(_) => Ok(()),
        Err(error) if is_taken(&error) => Err(whose(conn, task)?),
        Err(error) => Err(fault(conn, "insert a task")(error)),
    }
}

pub(super) fn save(
    conn: &Connection,
    task: &Task,
    expected: u64,
    wake_at: Option<Millis>,
    at: Millis,
) -> Result<(), StoreError> {
    let done = conn
        .prepare_cached(
            "UPDATE task SET state = ?3, live = ?4, version = version + 1, wake_at = ?5, since = ?6,
                             updated_at = ?7, data = ?8
             WHERE id = ?1 AND version = ?2",
        )
        .and_then(|mut statement| {
            statement.execute(params![
                task.id.as_str(),
                number(expected),
                task.state.name(),
                !task.state.is_terminal(),
                wake_at.map(|at| at.0),
                task.since.0,
                at.0,
                json(task)
            ])
        });
    match done {
        Ok(0) => Err(StoreError::Lost { task: task.id.clone() }),
        Ok(_) => Ok(()),
        // The ended task came back to life, and its issue has another live one.
        Err(error) if is_taken(&error) => Err(StoreError::AlreadyClaimed { issue: task.issue }),
        Err(error) => Err(fault(conn, "save a task")(error)),
    }
}

fn whose(conn: &Connection, task: &Task) -> Result<StoreError, StoreError> {
    let same = by_id(conn, &task.id).map_err(fault(conn, "look for a task"))?;
    Ok(match same {
        Some(_) => StoreError::Duplicate { what: "task", key: task.id.to_string() },
        None => StoreError::AlreadyClaimed { issue: task.issue },
    })
}

pub(super) fn live(conn: &Connection) -> rusqlite::Result<Vec<Versioned<Task>>> {
    list(conn, "WHERE live = 1 ORDER BY seq", [])
}

pub(super) fn by_id(conn: &Connection, id: &TaskId) -> rusqlite::Result<Option<Versioned<Task>>> {
    one(conn, "WHERE id = ?1", [id.as_str()])
}

pub(super) fn newest_of(conn: &Connection, issue: IssueNumber) -> rusqlite::Result<Option<Versioned<Task>>> {
    one(conn, "WHERE issue = ?1 ORDER BY seq DESC LIMIT 1", [number(issue.0)])
}

pub(super) fn count_of(conn: &Connection, issue: IssueNumber) -> rusqlite::Result<u32> {
    conn.prepare_cached("SELECT count(*) FROM task WHERE issue = ?1")?
        .query_row([number(issue.0)], |row| row.get(0))
}

pub(super) fn due(conn: &Connection, now: Millis) -> rusqlite::Result<Vec<Versioned<Task>>> {
    list(conn, "WHERE wake_at <= ?1 AND live = 1 ORDER BY wake_at, seq", [now.0])
}

pub(super) fn next_wake(conn: &Connection) -> rusqlite::Result<Option<Millis>> {
    conn.prepare_cached("SELECT min(wake_at) FROM task WHERE wake_at IS NOT NULL AND live = 1")?
        .query_row([], |row| read_time(row, 0))
}

pub(super) fn ended_since(conn: &Connection, at: Millis) -> rusqlite::Result<Vec<Versioned<Task>>> {
    list(conn, "WHERE live = 0 AND since >= ?1 ORDER BY since, seq", [at.0])
}

pub(super) fn page(conn: &Connection, query: &TaskQuery) -> rusqlite::Result<Vec<Versioned<Task>>> {
    let live = match query.which {
        Which::All => None,
        Which::Live => Some(true),
        Which::Ended => Some(false),
    };
    let filter = Filter::new(SELECT)
        .with_some("AND seq <", query.before)
        .with_some("AND live =", live)
        .with_any("state", &query.states)
        .with("ORDER BY seq DESC LIMIT", count(query.limit));
    conn.prepare_cached(&filter.sql)?.query_map(params_from_iter(filter.holes), read)?.collect()
}

pub(super) fn counts_by_state(conn: &Connection) -> rusqlite::Result<BTreeMap<String, u64>> {
    conn.prepare_cached("SELECT state, count(*) FROM task GROUP BY live, state")?
        .query_map([], |row| Ok((row.get(0)?, read_number(row, 1)?)))?
        .collect()
}

fn list(conn: &Connection, tail: &str, holes: impl Params) -> rusqlite::Result<Vec<Versioned<Task>>> {
    conn.prepare_cached(&format!("{SELECT} {tail}"))?.query_map(holes, read)?.collect()
}

fn one(conn: &Connection, tail: &str, holes: impl Params) -> rusqlite::Result<Option<Versioned<Task>>> {
    conn.prepare_cached(&format!("{SELECT} {tail}"))?.query_row(holes, read).optional()
}

fn read(row: &Row<'_>) -> rusqlite::Result<Versioned<Task>> {
    Ok(Versioned { order: row.get(0)?, version: read_number(row, 1)?, value: read_json(row, 2)? })
}
