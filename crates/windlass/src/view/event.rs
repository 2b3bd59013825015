//! One line of the event log, and one line of a transcript.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use windlass_store::{LoggedEvent, RawEvent};

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

/// The same line for an event that nobody looks into, a hundred thousand of them in a second.
pub fn raw_line(event: &RawEvent) -> String {
    let data = without_kind(&event.kind, &event.data);
    let text = |text: &str| Value::from(text).to_string();
    let issue = event.issue.map_or_else(|| "null".to_owned(), |issue| issue.to_string());
    let task = event.task.as_deref().map_or_else(|| "null".to_owned(), text);
    format!(
        "{{\"schema\":\"{SCHEMA}\",\"seq\":{},\"at\":\"{}\",\"kind\":{},\"issue\":{issue},\"task\":{task},\"data\":{data}}}",
        event.seq,
        Stamp(event.at),
        text(&event.kind)
    )
}

/// The kind stands one level above. We write it as the first field; another order is read and written anew.
fn without_kind<'a>(kind: &str, data: &'a str) -> Cow<'a, str> {
    let rest = data.strip_prefix("{\"kind\":\"").and_then(|rest| rest.strip_prefix(kind));
    match rest.and_then(|rest| rest.strip_prefix('"')) {
        Some("}") => Cow::Borrowed("{}"),
        Some(rest) if rest.starts_with(',') => Cow::Owned(format!("{{{}", &rest[1..])),
        Some(_) | None => {
            let mut data: Value = serde_json::from_str(data).unwrap_or_default();
            if let Some(fields) = data.as_object_mut() {
                fields.remove("kind");
            }
            Cow::Owned(data.to_string())
        }
    }
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct LogLine {
    pub schema: &'static str,
    /// The session, the build, or `daemon`.
    pub source: String,
    /// Where it ends in its source, counted in bytes: it grows with every line. `logs --since SOURCE:SEQ` goes on after it.
    pub seq: u64,
    /// say, tool, usage, result, note or line.
    pub kind: &'static str,
    pub text: String,
}

impl LogLine {
    pub fn new(source: &str, seq: u64, kind: &'static str, text: impl Into<String>) -> Self {
        Self { schema: LOG_SCHEMA, source: source.to_owned(), seq, kind, text: text.into() }
    }
}

#[cfg(test)]
mod tests {
    use windlass_core::journal::{Entry, Fact, FactoryFact};
    use windlass_core::time::Millis;

    use super::*;

    #[test]
    fn a_line_that_was_not_looked_into_says_the_same() {
        let task = windlass_core::id::TaskId::nth(windlass_core::id::IssueNumber(7), 1);
        let mut facts: Vec<Fact> = windlass_testkit::samples::events().into_iter().map(Fact::Task).collect();
        facts.push(Fact::Factory(FactoryFact::Paused));
        facts.push(Fact::Factory(FactoryFact::Decided { decision: "a \"b\" \\ \n \u{1}".into() }));
        assert!(facts.len() > 20);
        for (seq, fact) in (1..).zip(facts) {
            let entry =
                Entry { at: Millis(1_700_000_000_123), task: Some(task.clone()), issue: task.issue(), fact };
            let raw = RawEvent {
                seq,
                at: entry.at,
                task: Some(task.to_string()),
                issue: Some(7),
                kind: entry.fact.kind().to_owned(),
                data: serde_json::to_string(&entry.fact).unwrap(),
            };
            let said: Value = serde_json::from_str(&raw_line(&raw)).unwrap();
            let typed = serde_json::to_value(EventLine::from(&LoggedEvent { seq, entry })).unwrap();
            assert_eq!(said, typed);
        }
        assert_eq!(without_kind("x", "{\"a\":1,\"kind\":\"x\"}"), "{\"a\":1}");
    }
}
