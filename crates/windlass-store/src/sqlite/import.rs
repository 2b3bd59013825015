//! Reads back what `export` wrote, into a database that holds nothing yet. All of it or nothing.

use std::io::BufRead;

use rusqlite::types::Value as Cell;
use rusqlite::{Connection, Transaction, params_from_iter};
use serde_json::{Map, Value};

use super::export::{SCHEMA, tables};
use super::migrate;
use crate::error::{StoreError, fault};

const TRIED: &str = "import into the database";
/// Tables that are never empty, even in a new state.
const BOOKKEEPING: [&str; 3] = ["control", "forge_meta", "lease"];

/// Says how many rows there are.
pub(super) fn import(conn: &Connection, from: &mut dyn BufRead) -> Result<u64, StoreError> {
    migrate::alone(conn, TRIED, |tx| read(tx, from))
}

fn read(tx: &Transaction<'_>, from: &mut dyn BufRead) -> Result<u64, StoreError> {
    tx.pragma_update(None, "defer_foreign_keys", "ON").map_err(fault(tx, TRIED))?;
    let tables = tables(tx).map_err(fault(tx, TRIED))?;
    clear(tx, &tables)?;
    let (mut rows, mut promised, mut last) = (0, None, 1);
    for (nth, line) in (1..).zip(from.lines()) {
        let bad = |why: &str| bad_at(nth, why.to_owned());
        last = nth;
        if promised.is_some() {
            return Err(bad("there is more after its end"));
        }
        let line = line.map_err(|error| bad(&error.to_string()))?;
        let value: Value = serde_json::from_str(&line).map_err(|error| bad(&error.to_string()))?;
        if nth == 1 {
            head(tx, &value).map_err(|why| bad(&why))?;
            continue;
        }
        if value["end"] == true {
            promised =
                Some(value["rows"].as_u64().ok_or_else(|| bad("it does not say how many rows there are"))?);
            continue;
        }
        let table = value["table"].as_str().filter(|name| tables.iter().any(|known| known == name));
        let table = table.ok_or_else(|| bad("it names no table that this program knows"))?;
        let row = value["row"].as_object().ok_or_else(|| bad("it has no row"))?;
        insert(tx, table, row).map_err(|error| bad(&error.to_string()))?;
        rows += 1;
    }
    match promised {
        Some(promised) if promised == rows => Ok(rows),
        Some(promised) => Err(bad_at(last, format!("{promised} rows were written, and {rows} are there"))),
        None => Err(bad_at(last, "its end is missing: it was cut off".into())),
    }
}

fn bad_at(line: u64, why: String) -> StoreError {
    StoreError::NotAnExport { line, why }
}

fn head(conn: &Connection, head: &Value) -> Result<(), String> {
    if head["schema"] != SCHEMA {
        return Err(format!("its first line is not that of `{SCHEMA}`"));
    }
    let ours = migrate::version(conn).map_err(|error| error.to_string())?;
    match head["version"].as_i64() {
        Some(theirs) if theirs == ours => Ok(()),
        Some(theirs) => Err(format!("it was written at version {theirs} of the database, this is {ours}")),
        None => Err("it does not say its version".into()),
    }
}

/// Nothing is ever overwritten: only a new state has room for another.
fn clear(tx: &Transaction<'_>, tables: &[String]) -> Result<(), StoreError> {
    for table in tables {
        let sql = format!("SELECT EXISTS (SELECT 1 FROM \"{table}\")");
        let filled: bool = tx.query_row(&sql, [], |row| row.get(0)).map_err(fault(tx, TRIED))?;
        if filled && !BOOKKEEPING.contains(&table.as_str()) {
            return Err(StoreError::NotEmpty { table: table.clone() });
        }
        tx.execute(&format!("DELETE FROM \"{table}\""), []).map_err(fault(tx, TRIED))?;
    }
    Ok(())
}

fn insert(tx: &Transaction<'_>, table: &str, row: &Map<String, Value>) -> rusqlite::Result<()> {
    let quoted = |name: &String| format!("\"{}\"", name.replace('"', "\"\""));
    let names: Vec<String> = row.keys().map(quoted).collect();
    let holes = vec!["?"; names.len()].join(", ");
    let sql = format!("INSERT INTO \"{table}\" ({}) VALUES ({holes})", names.join(", "));
    tx.prepare_cached(&sql)?.execute(params_from_iter(row.values().map(cell)))?;
    Ok(())
}

fn cell(value: &Value) -> Cell {
    match value {
        Value::Null => Cell::Null,
        Value::Bool(bool) => Cell::Integer(i64::from(*bool)),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => Cell::Integer(whole),
            None => Cell::Real(number.as_f64().unwrap_or_default()),
        },
        Value::String(text) => Cell::Text(text.clone()),
        // JSON has no bytes: export writes them as digits.
        Value::Object(_) | Value::Array(_) => Cell::Blob(bytes(value["hex"].as_str().unwrap_or_default())),
    }
}

fn bytes(hex: &str) -> Vec<u8> {
    let pair = |at: usize| hex.get(at..at + 2).and_then(|pair| u8::from_str_radix(pair, 16).ok());
    (0..hex.len() / 2).filter_map(|nth| pair(nth * 2)).collect()
}
