//! Cuts the rows of a list into pages.

use rusqlite::{Error, Row, Rows};
use windlass_core::forge::{Change, Comment, Issue};

use crate::forge::Page;
use crate::forge::page::Cursor;

const ROWS: usize = 100;
// A page of the longest bodies would be 100 MiB; it ends early instead.
const BYTES: usize = 8 << 20;

/// How many rows a list asks for: one more than it shows, to know whether that was all.
pub(super) const LIMIT: usize = ROWS + 1;

pub(super) trait Listed: Sized {
    fn from_row(row: &Row<'_>) -> Result<Self, Error>;
    fn bytes(&self) -> usize;
    /// Where a list goes on after this one.
    fn cursor(&self) -> Cursor;
}

pub(super) fn page<T: Listed>(mut rows: Rows<'_>) -> Result<Page<T>, Error> {
    let (mut items, mut bytes) = (Vec::<T>::new(), 0);
    while let Some(row) = rows.next()? {
        if items.len() == ROWS || bytes > BYTES {
            let next = items.last().map(T::cursor);
            return Ok(Page { items, next });
        }
        let item = T::from_row(row)?;
        bytes += item.bytes();
        items.push(item);
    }
    Ok(Page { items, next: None })
}

impl Listed for Issue {
    fn from_row(row: &Row<'_>) -> Result<Self, Error> {
        super::issues::from_row(row)
    }

    fn bytes(&self) -> usize {
        self.body.len()
    }

    // Both orders of the list can go on from here.
    fn cursor(&self) -> Cursor {
        Cursor(format!("{}/{}", self.updated_at.0, self.number.0))
    }
}

impl Listed for Comment {
    fn from_row(row: &Row<'_>) -> Result<Self, Error> {
        super::comments::from_row(row)
    }

    fn bytes(&self) -> usize {
        self.body.len()
    }

    fn cursor(&self) -> Cursor {
        Cursor(self.id.to_string())
    }
}

impl Listed for Change {
    fn from_row(row: &Row<'_>) -> Result<Self, Error> {
        super::changes::from_row(row)
    }

    fn bytes(&self) -> usize {
        self.body.len()
    }

    fn cursor(&self) -> Cursor {
        Cursor(self.number.0.to_string())
    }
}
