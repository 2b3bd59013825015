//! The lines of an export. The store writes them; here is only how they look.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde_json::Value;

pub const SCHEMA: &str = "windlass.export/1";

/// First the head, then every row of every table, then the end.
#[derive(Debug, JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "the store writes the lines; only their schema is made of this")]
pub enum ExportLine {
    Head {
        schema: &'static str,
        /// Of the tables.
        version: i64,
        tables: Vec<String>,
    },
    Row {
        table: String,
        /// By the name of the column; bytes are `{"hex": "…"}`.
        row: BTreeMap<String, Value>,
    },
    /// An export without it was cut off.
    End {
        /// Always true.
        end: bool,
        /// How many there are.
        rows: u64,
    },
}
