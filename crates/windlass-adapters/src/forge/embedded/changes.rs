//! Changes: a branch that asks to be merged, open at most once.

use rusqlite::{Connection, Error, OptionalExtension, Row, Transaction};
use windlass_core::forge::{Change, ChangeState};
use windlass_core::id::{ChangeNumber, IssueNumber, Sha};
use windlass_core::time::Millis;

use super::fault::Fault;
use super::{cell, issues, migrate, paging, text};
use crate::forge::page::Cursor;
use crate::forge::{ChangeFilter, ForgeError, NewChange, Page, Subject};

const COLUMNS: &str =
    "SELECT number, issue, title, body, branch, base, head, state, created_at FROM forge_change";

pub(super) fn open(tx: &Transaction<'_>, new: &NewChange, now: Millis) -> Result<Change, Fault> {
    if let Some(issue) = new.issue {
        issues::must_exist(tx, issue)?;
    }
    if let Some(other) = find(tx, &new.branch)?.filter(|other| other.state == ChangeState::Open) {
        let reason = format!("branch `{}` has the open change `{}`", new.branch, other.number);
        return Err(ForgeError::Conflict { tried: "open the change", reason }.into());
    }
    let number = migrate::next_number(tx)?;
    tx.execute(
        "INSERT INTO forge_change (number, issue, branch, base, head, state, created_at, title, body)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        (
            number,
            new.issue.map(|issue| cell::number(issue.0)),
            &new.branch,
            &new.base,
            new.head.as_str(),
            cell::word(ChangeState::Open),
            now.0,
            text::title(&new.title)?,
            text::body(&new.body)?,
        ),
    )?;
    read(tx, ChangeNumber(number.unsigned_abs()))
}

pub(super) fn read(connection: &Connection, number: ChangeNumber) -> Result<Change, Fault> {
    let mut statement = connection.prepare_cached(&format!("{COLUMNS} WHERE number = ?1"))?;
    let change = statement.query_row([cell::number(number.0)], from_row).optional()?;
    Ok(change.ok_or(ForgeError::NotFound(Subject::Change(number)))?)
}

pub(super) fn find(connection: &Connection, branch: &str) -> Result<Option<Change>, Fault> {
    let sql = format!("{COLUMNS} WHERE branch = ?1 ORDER BY number DESC LIMIT 1");
    Ok(connection.prepare_cached(&sql)?.query_row([branch], from_row).optional()?)
}

pub(super) fn list(
    connection: &Connection,
    filter: ChangeFilter,
    from: Option<&Cursor>,
) -> Result<Page<Change>, Fault> {
    let after = from.map_or(Ok(0), Cursor::number)?;
    let only = match filter {
        ChangeFilter::Open => "state = 'open' AND",
        ChangeFilter::All => "",
    };
    let limit = paging::LIMIT;
    let sql = format!("{COLUMNS} WHERE {only} number > ?1 ORDER BY number LIMIT {limit}");
    let mut statement = connection.prepare_cached(&sql)?;
    Ok(paging::page(statement.query([after])?)?)
}

pub(super) fn move_head(tx: &Transaction<'_>, number: ChangeNumber, head: &Sha) -> Result<(), Fault> {
    let change = read(tx, number)?;
    match change.state {
        ChangeState::Open => {}
        ChangeState::Merged | ChangeState::Closed => return Err(over("move the change's head", &change)),
    }
    tx.execute(
        "UPDATE forge_change SET head = ?2 WHERE number = ?1",
        (cell::number(number.0), head.as_str()),
    )?;
    Ok(())
}

pub(super) fn merge(tx: &Transaction<'_>, number: ChangeNumber, commit: &Sha) -> Result<(), Fault> {
    let change = read(tx, number)?;
    match change.state {
        ChangeState::Open => {}
        ChangeState::Merged if merged_as(tx, number)? == *commit => return Ok(()),
        ChangeState::Merged | ChangeState::Closed => return Err(over("mark the change as merged", &change)),
    }
    tx.execute(
        "UPDATE forge_change SET state = ?2, merged_as = ?3 WHERE number = ?1",
        (cell::number(number.0), cell::word(ChangeState::Merged), commit.as_str()),
    )?;
    Ok(())
}

pub(super) fn close(tx: &Transaction<'_>, number: ChangeNumber) -> Result<(), Fault> {
    let change = read(tx, number)?;
    match change.state {
        ChangeState::Open => {}
        ChangeState::Closed => return Ok(()),
        ChangeState::Merged => return Err(over("close the change", &change)),
    }
    tx.execute(
        "UPDATE forge_change SET state = ?2 WHERE number = ?1",
        (cell::number(number.0), cell::word(ChangeState::Closed)),
    )?;
    Ok(())
}

fn merged_as(tx: &Transaction<'_>, number: ChangeNumber) -> Result<Sha, Fault> {
    let sql = "SELECT merged_as FROM forge_change WHERE number = ?1";
    Ok(tx.query_row(sql, [cell::number(number.0)], |row| cell::read_sha(row, 0))?)
}

fn over(tried: &'static str, change: &Change) -> Fault {
    let reason = format!("change `{}` is already {}", change.number, cell::word(change.state));
    ForgeError::Conflict { tried, reason }.into()
}

pub(super) fn from_row(row: &Row<'_>) -> Result<Change, Error> {
    let issue: Option<i64> = row.get(1)?;
    Ok(Change {
        number: ChangeNumber(cell::read_number(row, 0)?),
        issue: issue.map(|number| IssueNumber(number.unsigned_abs())),
        title: row.get(2)?,
        body: row.get(3)?,
        branch: row.get(4)?,
        base: row.get(5)?,
        head: cell::read_sha(row, 6)?,
        state: cell::read_word(row, 7)?,
        created_at: cell::read_time(row, 8)?,
    })
}
