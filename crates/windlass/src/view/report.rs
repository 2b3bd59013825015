//! Where a bug report was written, as programs see it.

use schemars::JsonSchema;
use serde::Serialize;

pub const SCHEMA: &str = "windlass.report/1";

#[derive(Debug, Serialize, JsonSchema)]
pub struct Report {
    pub schema: &'static str,
    /// The one file to send.
    pub path: String,
    pub bytes: usize,
    /// What is packed in it.
    pub files: Vec<String>,
}
