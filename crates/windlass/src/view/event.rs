//! One line of the event log, and one line of a transcript.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use windlass_store::LoggedEvent;

use super::Stamp;

pub const SCHEMA: &str = "windlass.event/1";
pub const LOG_SCHEMA: &str = "windlass.log/1";

#[derive(Debug, Serialize, JsonSchema)]
pub struct EventLine {
    pub schema: &'static str,
    pub seq: i64,
    pub at: Stamp,
    pub kind: String,
    pub issue: Option<u64>,
    pub task: Option<String>,
    pub data: Value,
}

impl From<&LoggedEvent> for EventLine {
    fn from(event: &LoggedEvent) -> Self {
        let mut data =
            serde_json::to_value(&event.entry.fact).expect("a fact is plain data with text as keys");
        if let Some(fields) = data.as_object_mut() {
            // It stands one level above already.
            fields.remove("kind");
        }
        Self {
            schema: SCHEMA,
            seq: event.seq,
            at: Stamp(event.entry.at),
            kind: event.entry.fact.kind().to_owned(),
            issue: event.entry.issue.map(|issue| issue.0),
            task: event.entry.task.as_ref().map(ToString::to_string),
            data,
        }
    }
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct LogLine {
    pub schema: &'static str,
    /// The session, the build, or `daemon`.
    pub source: String,
    /// say, tool, usage, result, note or line.
    pub kind: &'static str,
    pub text: String,
}

impl LogLine {
    pub fn new(source: &str, kind: &'static str, text: impl Into<String>) -> Self {
        Self { schema: LOG_SCHEMA, source: source.to_owned(), kind, text: text.into() }
    }
}
