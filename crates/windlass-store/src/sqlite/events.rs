//! Rows of `event`: the log, which only grows.

use std::ops::ControlFlow;

use rusqlite::types::Type;
use rusqlite::{Connection, Row, params, params_from_iter};
use windlass_core::id::{IssueNumber, TaskId};
use windlass_core::journal::Entry;
use windlass_core::time::Millis;

use super::cell::{count, json, number, read_json, read_number};
use super::filter::Filter;
use crate::error::{StoreError, fault};
use crate::rows::{EventQuery, LoggedEvent, RawEvent};

const PAGE: usize = 1_000;

pub(super) fn append(conn: &Connection, entry: &Entry) -> Result<(), StoreError> {
    conn.prepare_cached("INSERT INTO event (at, task, issue, kind, data) VALUES (?1, ?2, ?3, ?4, ?5)")
        .and_then(|mut statement| {
            statement.execute(params![
                entry.at.0,
                entry.task.as_ref().map(TaskId::as_str),
                entry.issue.map(|issue| number(issue.0)),
                entry.fact.kind(),
                json(&entry.fact)
            ])
        })
        .map_err(fault(conn, "log an event"))?;
    Ok(())
}

pub(super) fn last_seq(conn: &Connection) -> rusqlite::Result<i64> {
    conn.prepare_cached("SELECT coalesce(max(seq), 0) FROM event")?.query_row([], |row| row.get(0))
}

pub(super) fn list(conn: &Connection, query: &EventQuery) -> rusqlite::Result<Vec<LoggedEvent>> {
    let filter = filter("SELECT seq, at, task, issue, data FROM event", query);
    conn.prepare_cached(&filter.sql)?.query_map(params_from_iter(filter.holes), read)?.collect()
}

pub(super) fn list_raw(conn: &Connection, query: &EventQuery) -> rusqlite::Result<Vec<RawEvent>> {
    let filter = filter("SELECT seq, at, task, issue, kind, data FROM event", query);
    conn.prepare_cached(&filter.sql)?.query_map(params_from_iter(filter.holes), read_raw)?.collect()
}

fn filter(select: &str, query: &EventQuery) -> Filter {
    let order = if query.newest_first { "ORDER BY seq DESC" } else { "ORDER BY seq" };
    Filter::new(select)
        .with("AND seq >", query.since)
        .with_some("AND seq <=", query.until)
        .with_some("AND issue =", query.issue.map(|issue| number(issue.0)))
        .with_some("AND task =", query.task.as_ref().map(|task| task.as_str().to_owned()))
        .with_any("kind", &query.kinds)
        .then(order)
        .with_some("LIMIT", query.limit.map(count))
}

/// Page by page, so that nobody's connection is held while an event is looked at, and no old snapshot keeps the log
/// of changes from being folded into the file.
pub(super) fn for_each<T>(
    query: &EventQuery,
    last_seq: i64,
    page: impl Fn(&EventQuery) -> Result<Vec<T>, StoreError>,
    seq: impl Fn(&T) -> i64,
    each: &mut dyn FnMut(T) -> ControlFlow<()>,
) -> Result<(), StoreError> {
    let mut left = query.limit.unwrap_or(usize::MAX);
    let mut ask = query.clone();
    ask.until = Some(query.until.map_or(last_seq, |until| until.min(last_seq)));
    while left > 0 {
        ask.limit = Some(left.min(PAGE));
        let events = page(&ask)?;
        let Some(last) = events.last() else { break };
        if query.newest_first {
            ask.until = Some(seq(last) - 1);
        } else {
            ask.since = seq(last);
        }
        left -= events.len();
        for event in events {
            if each(event).is_break() {
                return Ok(());
            }
        }
    }
    Ok(())
}

fn read_raw(row: &Row<'_>) -> rusqlite::Result<RawEvent> {
    Ok(RawEvent {
        seq: row.get(0)?,
        at: Millis(row.get(1)?),
        task: row.get(2)?,
        issue: row.get(3)?,
        kind: row.get(4)?,
        data: row.get(5)?,
    })
}

fn read(row: &Row<'_>) -> rusqlite::Result<LoggedEvent> {
    let entry = Entry {
        at: Millis(row.get(1)?),
        task: row.get::<_, Option<String>>(2)?.map(TaskId::stored),
        issue: match row.get_ref(3)?.data_type() {
            Type::Null => None,
            _ => Some(IssueNumber(read_number(row, 3)?)),
        },
        fact: read_json(row, 4)?,
    };
    Ok(LoggedEvent { seq: row.get(0)?, entry })
}
