//! Cells of a row to and from the types of the rules.

use rusqlite::types::Type;
use rusqlite::{Error, Row, ffi};
use serde::Serialize;
use serde::de::DeserializeOwned;
use windlass_core::time::Millis;

pub(super) fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("our values are plain data with text as keys")
}

pub(super) fn read_json<T: DeserializeOwned>(row: &Row<'_>, at: usize) -> Result<T, Error> {
    let text = row
        .get_ref(at)?
        .as_str()
        .map_err(|error| Error::FromSqlConversionFailure(at, Type::Text, Box::new(error)))?;
    serde_json::from_str(text)
        .map_err(|error| Error::FromSqlConversionFailure(at, Type::Text, Box::new(error)))
}

/// A number as SQLite holds it. Nothing that we count comes near the end of its range.
pub(super) fn number(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A limit as SQLite takes it.
pub(super) fn count(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

pub(super) fn read_number(row: &Row<'_>, at: usize) -> Result<u64, Error> {
    let value: i64 = row.get(at)?;
    u64::try_from(value).map_err(|_| Error::IntegralValueOutOfRange(at, value))
}

pub(super) fn read_time(row: &Row<'_>, at: usize) -> Result<Option<Millis>, Error> {
    Ok(row.get::<_, Option<i64>>(at)?.map(Millis))
}

/// Whether a unique index refused the row.
pub(super) fn is_taken(error: &Error) -> bool {
    error.sqlite_error().is_some_and(|error| error.extended_code == ffi::SQLITE_CONSTRAINT_UNIQUE)
}
