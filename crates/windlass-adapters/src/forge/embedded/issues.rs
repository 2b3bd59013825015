//! Issues: made, read, closed and listed.

use rusqlite::types::{Type, Value};
use rusqlite::{Connection, Error, OptionalExtension, Row, Transaction, params_from_iter};
use windlass_core::forge::Issue;
use windlass_core::id::{EffectKey, IssueNumber};
use windlass_core::time::Millis;

use super::fault::Fault;
use super::{cell, labels, migrate, paging, text};
use crate::forge::page::Cursor;
use crate::forge::{ForgeError, IssueFilter, IssueQuery, NewIssue, Page, Subject};

const COLUMNS: &str = "SELECT i.number, i.title, i.author, i.created_at, i.updated_at, i.closed_at, i.body,
    (SELECT json_group_array(name) FROM (
        SELECT l.name FROM forge_issue_label il JOIN forge_label l ON l.id = il.label
        WHERE il.issue = i.number ORDER BY l.name))
    FROM forge_issue i";

pub(super) fn create(tx: &Transaction<'_>, new: &NewIssue, now: Millis) -> Result<Issue, Fault> {
    let body = match &new.key {
        Some(key) => match find(tx, key)? {
            Some(issue) => return Ok(issue),
            None => text::keyed_body(&new.body, key)?,
        },
        None => text::body(&new.body)?.to_owned(),
    };
    let number = migrate::next_number(tx)?;
    tx.execute(
        "INSERT INTO forge_issue (number, title, author, created_at, updated_at, key, body)
         VALUES (?1, ?2, ?3, ?4, ?4, ?5, ?6)",
        (number, text::title(&new.title)?, &new.author, now.0, new.key.as_ref().map(EffectKey::as_str), body),
    )?;
    let number = IssueNumber(number.unsigned_abs());
    let names: Vec<&str> = new.labels.iter().map(String::as_str).collect();
    labels::attach(tx, number, &names)?;
    read(tx, number)
}

pub(super) fn read(connection: &Connection, number: IssueNumber) -> Result<Issue, Fault> {
    let mut statement = connection.prepare_cached(&format!("{COLUMNS} WHERE i.number = ?1"))?;
    let issue = statement.query_row([cell::number(number.0)], from_row).optional()?;
    Ok(issue.ok_or(ForgeError::NotFound(Subject::Issue(number)))?)
}

pub(super) fn find(connection: &Connection, key: &EffectKey) -> Result<Option<Issue>, Fault> {
    let mut statement = connection.prepare_cached(&format!("{COLUMNS} WHERE i.key = ?1"))?;
    Ok(statement.query_row([key.as_str()], from_row).optional()?)
}

pub(super) fn close(tx: &Transaction<'_>, number: IssueNumber, now: Millis) -> Result<(), Fault> {
    must_exist(tx, number)?;
    let closed = tx.execute(
        "UPDATE forge_issue SET closed_at = ?2 WHERE number = ?1 AND closed_at IS NULL",
        (cell::number(number.0), now.0),
    )?;
    if closed > 0 { touch(tx, number, now) } else { Ok(()) }
}

pub(super) fn reopen(tx: &Transaction<'_>, number: IssueNumber, now: Millis) -> Result<(), Fault> {
    must_exist(tx, number)?;
    let opened = tx.execute(
        "UPDATE forge_issue SET closed_at = NULL WHERE number = ?1 AND closed_at IS NOT NULL",
        [cell::number(number.0)],
    )?;
    if opened > 0 { touch(tx, number, now) } else { Ok(()) }
}

pub(super) fn must_exist(connection: &Connection, number: IssueNumber) -> Result<(), Fault> {
    let mut statement = connection.prepare_cached("SELECT 1 FROM forge_issue WHERE number = ?1")?;
    if statement.exists([cell::number(number.0)])? {
        Ok(())
    } else {
        Err(ForgeError::NotFound(Subject::Issue(number)).into())
    }
}

/// Puts the issue into reach of everybody who asks what was updated lately; a clock that went back does not hide it.
pub(super) fn touch(tx: &Transaction<'_>, number: IssueNumber, now: Millis) -> Result<(), Fault> {
    tx.execute(
        "UPDATE forge_issue SET updated_at = MAX(updated_at, ?2) WHERE number = ?1",
        (cell::number(number.0), now.0),
    )?;
    Ok(())
}

pub(super) fn list(
    connection: &Connection,
    query: &IssueQuery,
    from: Option<&Cursor>,
) -> Result<Page<Issue>, Fault> {
    let after = from.map(Place::parse).transpose()?;
    let (sql, values) = listing(query, after);
    let mut statement = connection.prepare_cached(&sql)?;
    Ok(paging::page(statement.query(params_from_iter(values))?)?)
}

/// The statement and its values, in the order of the question marks.
fn listing(query: &IssueQuery, after: Option<Place>) -> (String, Vec<Value>) {
    let mut sql = format!("{COLUMNS} WHERE ");
    let mut values = Vec::new();
    sql.push_str(match query.filter {
        IssueFilter::Open => "i.closed_at IS NULL",
        IssueFilter::Closed => "i.closed_at IS NOT NULL",
        IssueFilter::All => "TRUE",
    });
    for label in &query.labels {
        sql.push_str(
            " AND i.number IN (SELECT il.issue FROM forge_issue_label il
              JOIN forge_label l ON l.id = il.label WHERE l.name = ?)",
        );
        values.push(Value::from(label.clone()));
    }
    match query.updated_since {
        Some(since) => {
            let start = Place { updated: since.0, number: i64::MIN };
            let start = after.map_or(start, |after| after.max(start));
            sql.push_str(" AND (i.updated_at, i.number) > (?, ?) ORDER BY i.updated_at, i.number");
            values.extend([start.updated, start.number].map(Value::from));
        }
        None => {
            sql.push_str(" AND i.number > ? ORDER BY i.number");
            values.push(Value::from(after.map_or(0, |after| after.number)));
        }
    }
    sql.push_str(&format!(" LIMIT {}", paging::LIMIT));
    (sql, values)
}

/// Where a page ended, in both orders of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    updated: i64,
    number: i64,
}

impl Place {
    fn parse(cursor: &Cursor) -> Result<Self, ForgeError> {
        let read = |(updated, number): (&str, &str)| {
            Some(Self { updated: updated.parse().ok()?, number: number.parse().ok()? })
        };
        cursor.0.split_once('/').and_then(read).ok_or_else(|| cursor.foreign())
    }
}

pub(super) fn from_row(row: &Row<'_>) -> Result<Issue, Error> {
    let closed_at: Option<i64> = row.get(5)?;
    let labels: String = row.get(7)?;
    let labels = serde_json::from_str(&labels)
        .map_err(|error| Error::FromSqlConversionFailure(7, Type::Text, Box::new(error)))?;
    Ok(Issue {
        number: IssueNumber(cell::read_number(row, 0)?),
        title: row.get(1)?,
        body: row.get(6)?,
        open: closed_at.is_none(),
        labels,
        author: row.get(2)?,
        created_at: cell::read_time(row, 3)?,
        updated_at: cell::read_time(row, 4)?,
        closed_at: closed_at.map(Millis),
    })
}

#[cfg(test)]
mod tests;
