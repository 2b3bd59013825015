//! Rows of `command`, `decision` and `control`: what people asked for, and what was settled.

use rusqlite::{Connection, OptionalExtension, Row, params};
use windlass_core::command::{Answer, Command};
use windlass_core::id::IssueNumber;
use windlass_core::time::Millis;

use super::cell::{json, number, read_json, read_number, read_time};
use crate::error::{StoreError, fault};
use crate::rows::{Decision, PostedCommand};

const COMMAND: &str = "SELECT id, at, by, data, answer, answered_at FROM command";

pub(super) fn post(conn: &Connection, command: &Command, by: &str, at: Millis) -> Result<i64, StoreError> {
    conn.prepare_cached(
        "INSERT INTO command (at, by, data, status) VALUES (?1, ?2, ?3, 'waiting') RETURNING id",
    )
    .and_then(|mut statement| statement.query_row(params![at.0, by, json(command)], |row| row.get(0)))
    .map_err(fault(conn, "post a command"))
}

pub(super) fn answer(conn: &Connection, id: i64, answer: &Answer, at: Millis) -> Result<(), StoreError> {
    let rows = conn
        .prepare_cached(
            "UPDATE command SET status = 'done', answer = ?2, answered_at = ?3 WHERE id = ?1 AND status = 'waiting'",
        )
        .and_then(|mut statement| statement.execute(params![id, json(answer), at.0]))
        .map_err(fault(conn, "answer a command"))?;
    if rows == 0 { Err(StoreError::NotWaiting { id }) } else { Ok(()) }
}

pub(super) fn decide(
    conn: &Connection,
    issue: IssueNumber,
    text: &str,
    at: Millis,
) -> Result<(), StoreError> {
    conn.prepare_cached(
        "INSERT INTO decision (issue, at, text) VALUES (?1, ?2, ?3)
         ON CONFLICT (issue) DO UPDATE SET at = ?2, text = ?3",
    )
    .and_then(|mut statement| statement.execute(params![number(issue.0), at.0, text]))
    .map_err(fault(conn, "save a decision"))?;
    Ok(())
}

pub(super) fn set_control(conn: &Connection, key: &str, value: Option<&str>) -> Result<(), StoreError> {
    match value {
        Some(value) => conn
            .prepare_cached(
                "INSERT INTO control (key, value) VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET value = ?2",
            )
            .and_then(|mut statement| statement.execute([key, value])),
        None => conn
            .prepare_cached("DELETE FROM control WHERE key = ?1")
            .and_then(|mut statement| statement.execute([key])),
    }
    .map_err(fault(conn, "set a control"))?;
    Ok(())
}

pub(super) fn waiting(conn: &Connection) -> rusqlite::Result<Vec<PostedCommand>> {
    conn.prepare_cached(&format!("{COMMAND} WHERE status = 'waiting' ORDER BY id"))?
        .query_map([], read_command)?
        .collect()
}

pub(super) fn command(conn: &Connection, id: i64) -> rusqlite::Result<Option<PostedCommand>> {
    conn.prepare_cached(&format!("{COMMAND} WHERE id = ?1"))?.query_row([id], read_command).optional()
}

pub(super) fn decisions(conn: &Connection) -> rusqlite::Result<Vec<Decision>> {
    conn.prepare_cached("SELECT issue, at, text FROM decision ORDER BY issue")?
        .query_map([], read_decision)?
        .collect()
}

pub(super) fn decision(conn: &Connection, issue: IssueNumber) -> rusqlite::Result<Option<Decision>> {
    conn.prepare_cached("SELECT issue, at, text FROM decision WHERE issue = ?1")?
        .query_row([number(issue.0)], read_decision)
        .optional()
}

pub(super) fn control(conn: &Connection, key: &str) -> rusqlite::Result<Option<String>> {
    conn.prepare_cached("SELECT value FROM control WHERE key = ?1")?
        .query_row([key], |row| row.get(0))
        .optional()
}

fn read_command(row: &Row<'_>) -> rusqlite::Result<PostedCommand> {
    let answered = row.get_ref(4)?.data_type() != rusqlite::types::Type::Null;
    Ok(PostedCommand {
        id: row.get(0)?,
        at: Millis(row.get(1)?),
        by: row.get(2)?,
        command: read_json(row, 3)?,
        answer: if answered { Some(read_json(row, 4)?) } else { None },
        answered_at: read_time(row, 5)?,
    })
}

fn read_decision(row: &Row<'_>) -> rusqlite::Result<Decision> {
    Ok(Decision { issue: IssueNumber(read_number(row, 0)?), at: Millis(row.get(1)?), text: row.get(2)? })
}
