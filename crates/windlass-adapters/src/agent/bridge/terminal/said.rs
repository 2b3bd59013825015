//! One line of the program's own transcript, as far as it matters: what was said, what it used up, what went wrong.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::agent::Usage;
use crate::shim::Failure;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Said {
    /// A block of a message of the model, with the figures of the whole message.
    Message(Value),
    /// The provider refused, or was not there.
    Failed(Failure),
    /// The turn is over, and all that was said in it is written.
    Over,
}

impl Said {
    pub fn read(line: &str) -> Option<Self> {
        // Most of a transcript are snapshots of prompts, which are long.
        if !line.contains("\"assistant\"") && !line.contains("\"turn_duration\"") {
            return None;
        }
        let value: Value = serde_json::from_str(line).ok()?;
        match value["type"].as_str()? {
            "assistant" if value["isSidechain"] == true => None,
            "assistant" if value["isApiErrorMessage"] == true => Some(Self::Failed(failure(&value))),
            "assistant" => Some(Self::Message(value["message"].clone())),
            "system" if value["subtype"] == "turn_duration" => Some(Self::Over),
            _ => None,
        }
    }
}

/// In the words in which the program says it without a terminal.
fn failure(value: &Value) -> Failure {
    let blocks = value["message"]["content"].as_array().into_iter().flatten();
    let text: String = blocks.filter_map(|block| block["text"].as_str()).collect();
    let too_long = value["error"] == "invalid_request" && text.starts_with("Prompt is too long");
    let kind = if too_long { "prompt_too_long" } else { "api_error" };
    Failure { status: value["apiErrorStatus"].as_u64(), kind: kind.to_owned(), text }
}

/// What the messages of a turn come to. Each is said once for every block of it, with the same figures.
#[derive(Debug, Default)]
pub(super) struct Sum {
    messages: BTreeMap<String, Usage>,
    /// The figures of the last message.
    pub last: Option<Usage>,
    pub text: String,
}

impl Sum {
    pub fn add(&mut self, message: &Value) {
        let id = message["id"].as_str().unwrap_or_default().to_owned();
        let count = |key: &str| message["usage"][key].as_u64().unwrap_or(0);
        let usage = Usage {
            input: count("input_tokens"),
            cache_write: count("cache_creation_input_tokens"),
            cache_read: count("cache_read_input_tokens"),
            output: count("output_tokens"),
            model: message["model"].as_str().map(str::to_owned),
            cost_micro_usd: None,
        };
        let blocks = message["content"].as_array().into_iter().flatten();
        for text in blocks.filter_map(|block| block["text"].as_str()) {
            text.clone_into(&mut self.text);
        }
        self.last = Some(usage.clone());
        self.messages.insert(id, usage);
    }

    pub fn usage(&self) -> Usage {
        let mut sum =
            Usage { model: self.last.as_ref().and_then(|last| last.model.clone()), ..Usage::default() };
        for usage in self.messages.values() {
            sum.input += usage.input;
            sum.cache_write += usage.cache_write;
            sum.cache_read += usage.cache_read;
            sum.output += usage.output;
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_counts_once_however_many_blocks_it_has() {
        let lines = [
            r#"{"type":"user","message":{"role":"user","content":"\"assistant\""}}"#,
            r#"{"type":"assistant","message":{"id":"m1","model":"m","content":[{"type":"text","text":"I look"}],"usage":{"input_tokens":1,"cache_creation_input_tokens":2,"cache_read_input_tokens":3,"output_tokens":4}}}"#,
            r#"{"type":"assistant","message":{"id":"m1","model":"m","content":[{"type":"tool_use","name":"Bash","input":{}}],"usage":{"input_tokens":1,"cache_creation_input_tokens":2,"cache_read_input_tokens":3,"output_tokens":4}}}"#,
            r#"{"type":"assistant","isSidechain":true,"message":{"id":"m2","content":[],"usage":{"input_tokens":9}}}"#,
            r#"{"type":"system","subtype":"turn_duration"}"#,
        ];
        let said: Vec<Said> = lines.iter().filter_map(|line| Said::read(line)).collect();
        assert!(matches!(said[..], [Said::Message(_), Said::Message(_), Said::Over]), "{said:?}");
        let mut sum = Sum::default();
        for said in &said {
            if let Said::Message(message) = said {
                sum.add(message);
            }
        }
        let Usage { input, cache_write, cache_read, output, model, .. } = sum.usage();
        assert_eq!((input, cache_write, cache_read, output), (1, 2, 3, 4));
        assert_eq!((model.as_deref(), sum.text.as_str()), (Some("m"), "I look"));
    }

    #[test]
    fn errors_are_told_as_they_are_without_a_terminal() {
        let line = |error: &str, status: u64, text: &str| {
            format!(
                r#"{{"type":"assistant","isApiErrorMessage":true,"error":"{error}","apiErrorStatus":{status},"message":{{"content":[{{"type":"text","text":"{text}"}}]}}}}"#
            )
        };
        let limit = Failure { status: Some(429), kind: "api_error".into(), text: "rejected (429)".into() };
        assert_eq!(Said::read(&line("rate_limit", 429, "rejected (429)")), Some(Said::Failed(limit)));
        let long = Said::read(&line("invalid_request", 400, "Prompt is too long"));
        assert!(matches!(long, Some(Said::Failed(failure)) if failure.kind == "prompt_too_long"));
    }
}
