//! Cells of a row to and from the types of the rules.

use rusqlite::types::Type;
use rusqlite::{Error, Row};
use serde::Serialize;
use serde::de::DeserializeOwned;
use windlass_core::id::Sha;
use windlass_core::time::Millis;

/// A number as SQLite holds it; one that does not fit is one that no row has.
pub(super) fn number(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(-1)
}

pub(super) fn read_number(row: &Row<'_>, at: usize) -> Result<u64, Error> {
    let value: i64 = row.get(at)?;
    u64::try_from(value).map_err(|_| Error::IntegralValueOutOfRange(at, value))
}

pub(super) fn read_time(row: &Row<'_>, at: usize) -> Result<Millis, Error> {
    row.get(at).map(Millis)
}

pub(super) fn read_sha(row: &Row<'_>, at: usize) -> Result<Sha, Error> {
    let text: String = row.get(at)?;
    Sha::parse(&text).map_err(|error| Error::FromSqlConversionFailure(at, Type::Text, Box::new(error)))
}

/// The word that the JSON of a choice has, too.
pub(super) fn word(choice: impl Serialize) -> String {
    match serde_json::to_value(choice) {
        Ok(serde_json::Value::String(word)) => word,
        other => unreachable!("a choice without data is one word, not {other:?}"),
    }
}

pub(super) fn read_word<T: DeserializeOwned>(row: &Row<'_>, at: usize) -> Result<T, Error> {
    let word: String = row.get(at)?;
    serde_json::from_value(serde_json::Value::String(word))
        .map_err(|error| Error::FromSqlConversionFailure(at, Type::Text, Box::new(error)))
}
