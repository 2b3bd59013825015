//! Rows of `usage`: what sessions have used.

use rusqlite::{Connection, params, params_from_iter};

use super::cell::{json, number, read_json, read_number};
use super::filter::Filter;
use crate::error::{StoreError, fault};
use crate::rows::UsageQuery;
use crate::write::UsageRow;

pub(super) fn add(conn: &Connection, row: &UsageRow) -> Result<(), StoreError> {
    conn.prepare_cached("INSERT INTO usage (session, task, issue, at, data) VALUES (?1, ?2, ?3, ?4, ?5)")
        .and_then(|mut statement| {
            statement.execute(params![
                row.session.as_str(),
                row.task.as_str(),
                number(row.issue.0),
                row.at.0,
                json(row)
            ])
        })
        .map_err(fault(conn, "add usage"))?;
    Ok(())
}

pub(super) fn list(conn: &Connection, query: &UsageQuery) -> rusqlite::Result<Vec<UsageRow>> {
    let filter = filter("SELECT data FROM usage", query).then("ORDER BY id");
    conn.prepare_cached(&filter.sql)?
        .query_map(params_from_iter(filter.holes), |row| read_json(row, 0))?
        .collect()
}

pub(super) fn cost(conn: &Connection, query: &UsageQuery) -> rusqlite::Result<u64> {
    let sum = "SELECT coalesce(sum(json_extract(data, '$.cost_micro_usd')), 0) FROM usage";
    let filter = filter(sum, query);
    conn.prepare_cached(&filter.sql)?.query_row(params_from_iter(filter.holes), |row| read_number(row, 0))
}

fn filter(select: &str, query: &UsageQuery) -> Filter {
    Filter::new(select)
        .with_some("AND issue =", query.issue.map(|issue| number(issue.0)))
        .with_some("AND at >=", query.since.map(|since| since.0))
}
