//! Comments on issues, one for each key.

use rusqlite::{Connection, Error, OptionalExtension, Row, Transaction};
use windlass_core::forge::Comment;
use windlass_core::id::{EffectKey, IssueNumber};
use windlass_core::time::Millis;

use super::fault::Fault;
use super::{cell, issues, paging, text};
use crate::forge::Page;
use crate::forge::page::Cursor;

const COLUMNS: &str = "SELECT id, author, created_at, body FROM forge_comment";

/// What to write, and by whom.
pub(super) struct Words<'a> {
    pub key: &'a EffectKey,
    pub author: &'a str,
    pub body: &'a str,
}

pub(super) fn add(
    tx: &Transaction<'_>,
    issue: IssueNumber,
    words: &Words<'_>,
    now: Millis,
) -> Result<Comment, Fault> {
    if let Some(comment) = find(tx, issue, words.key)? {
        return Ok(comment);
    }
    let body = text::keyed_body(words.body, words.key)?;
    tx.execute(
        "INSERT INTO forge_comment (issue, key, author, created_at, body) VALUES (?1, ?2, ?3, ?4, ?5)",
        (cell::number(issue.0), words.key.as_str(), words.author, now.0, &body),
    )?;
    issues::touch(tx, issue, now)?;
    let id = tx.last_insert_rowid().unsigned_abs();
    Ok(Comment { id, author: words.author.to_owned(), body, created_at: now })
}

pub(super) fn find(
    connection: &Connection,
    issue: IssueNumber,
    key: &EffectKey,
) -> Result<Option<Comment>, Fault> {
    issues::must_exist(connection, issue)?;
    let mut statement = connection.prepare_cached(&format!("{COLUMNS} WHERE issue = ?1 AND key = ?2"))?;
    Ok(statement.query_row((cell::number(issue.0), key.as_str()), from_row).optional()?)
}

pub(super) fn list(
    connection: &Connection,
    issue: IssueNumber,
    since: Millis,
    from: Option<&Cursor>,
) -> Result<Page<Comment>, Fault> {
    issues::must_exist(connection, issue)?;
    let after = from.map_or(Ok(0), Cursor::number)?;
    let mut statement = connection.prepare_cached(&format!(
        "{COLUMNS} WHERE issue = ?1 AND id > ?2 AND created_at >= ?3 ORDER BY id LIMIT {}",
        paging::LIMIT
    ))?;
    Ok(paging::page(statement.query((cell::number(issue.0), after, since.0))?)?)
}

pub(super) fn from_row(row: &Row<'_>) -> Result<Comment, Error> {
    Ok(Comment {
        id: cell::read_number(row, 0)?,
        author: row.get(1)?,
        created_at: cell::read_time(row, 2)?,
        body: row.get(3)?,
    })
}
