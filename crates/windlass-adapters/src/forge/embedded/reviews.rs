//! Reviews of changes, each of one head, one for each key.

use rusqlite::{Connection, Error, OptionalExtension, Row, Transaction};
use windlass_core::forge::Review;
use windlass_core::id::{ChangeNumber, EffectKey};
use windlass_core::time::Millis;

use super::fault::Fault;
use super::{cell, changes, text};
use crate::forge::NewReview;

const COLUMNS: &str = "SELECT id, author, head, decision, body, created_at FROM forge_review";

pub(super) fn post(
    tx: &Transaction<'_>,
    change: ChangeNumber,
    new: &NewReview,
    author: &str,
    now: Millis,
) -> Result<Review, Fault> {
    if let Some(review) = find(tx, change, &new.key)? {
        return Ok(review);
    }
    let body = text::keyed_body(&new.body, &new.key)?;
    tx.execute(
        "INSERT INTO forge_review (change, key, author, head, decision, created_at, body)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        (
            cell::number(change.0),
            new.key.as_str(),
            author,
            new.head.as_str(),
            cell::word(new.decision),
            now.0,
            &body,
        ),
    )?;
    let id = tx.last_insert_rowid().unsigned_abs();
    let (author, head) = (author.to_owned(), new.head.clone());
    Ok(Review { id, author, head, decision: new.decision, body, created_at: now })
}

pub(super) fn find(
    connection: &Connection,
    change: ChangeNumber,
    key: &EffectKey,
) -> Result<Option<Review>, Fault> {
    changes::read(connection, change)?;
    let mut statement = connection.prepare_cached(&format!("{COLUMNS} WHERE change = ?1 AND key = ?2"))?;
    Ok(statement.query_row((cell::number(change.0), key.as_str()), from_row).optional()?)
}

pub(super) fn list(connection: &Connection, change: ChangeNumber) -> Result<Vec<Review>, Fault> {
    changes::read(connection, change)?;
    let mut statement = connection.prepare_cached(&format!("{COLUMNS} WHERE change = ?1 ORDER BY id"))?;
    let reviews = statement.query_map([cell::number(change.0)], from_row)?;
    Ok(reviews.collect::<Result<_, _>>()?)
}

fn from_row(row: &Row<'_>) -> Result<Review, Error> {
    Ok(Review {
        id: cell::read_number(row, 0)?,
        author: row.get(1)?,
        head: cell::read_sha(row, 2)?,
        decision: cell::read_word(row, 3)?,
        body: row.get(4)?,
        created_at: cell::read_time(row, 5)?,
    })
}
