//! Writes every row of every table as a line of JSON.

use std::io::Write;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row};
use serde_json::{Map, Value, json};

use super::migrate;
use crate::error::{StoreError, fault, io_fault};

pub(super) const SCHEMA: &str = "windlass.export/1";
const TRIED: &str = "export the database";

pub(super) fn export(conn: &Connection, out: &mut dyn Write) -> Result<(), StoreError> {
    // One transaction, so that all rows are of one moment.
    let snapshot = conn.unchecked_transaction().map_err(fault(conn, TRIED))?;
    let tables = tables(&snapshot).map_err(fault(conn, TRIED))?;
    let head = json!({ "schema": SCHEMA, "version": migrate::version(&snapshot)?, "tables": tables });
    line(conn, out, &head)?;
    let mut written = 0;
    for table in &tables {
        written += rows(&snapshot, out, table)?;
    }
    // One that was cut off lacks this line.
    line(conn, out, &json!({ "end": true, "rows": written }))?;
    out.flush().map_err(io_fault(conn.path().unwrap_or_default().as_ref(), TRIED))
}

pub(super) fn tables(conn: &Connection) -> rusqlite::Result<Vec<String>> {
    conn.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name")?
        .query_map([], |row| row.get(0))?
        .collect()
}

fn rows(conn: &Connection, out: &mut dyn Write, table: &str) -> Result<u64, StoreError> {
    let failed = || fault(conn, TRIED);
    let quoted = table.replace('"', "\"\"");
    let mut statement = conn.prepare(&format!("SELECT * FROM \"{quoted}\"")).map_err(failed())?;
    let names: Vec<String> = statement.column_names().map(str::to_owned).collect();
    let mut rows = statement.query([]).map_err(failed())?;
    let mut written = 0;
    while let Some(row) = rows.next().map_err(failed())? {
        let row = object(row, &names).map_err(failed())?;
        line(conn, out, &json!({ "table": table, "row": row }))?;
        written += 1;
    }
    Ok(written)
}

fn object(row: &Row<'_>, names: &[String]) -> rusqlite::Result<Map<String, Value>> {
    names.iter().enumerate().map(|(at, name)| Ok((name.clone(), value(row.get_ref(at)?)))).collect()
}

fn value(cell: ValueRef<'_>) -> Value {
    match cell {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => number.into(),
        ValueRef::Real(number) => number.into(),
        ValueRef::Text(text) => String::from_utf8_lossy(text).into(),
        // JSON has no bytes.
        ValueRef::Blob(bytes) => {
            json!({ "hex": bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>() })
        }
    }
}

fn line(conn: &Connection, out: &mut dyn Write, value: &Value) -> Result<(), StoreError> {
    serde_json::to_writer(&mut *out, value)
        .map_err(std::io::Error::from)
        .and_then(|()| out.write_all(b"\n"))
        .map_err(io_fault(conn.path().unwrap_or_default().as_ref(), TRIED))
}
