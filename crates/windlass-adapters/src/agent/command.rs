//! Any program: the message is its input, its output is what it says, its exit code is the result.

use super::{Driver, Seen, SessionContext};
use crate::shim::{Framing, Launch};

#[derive(Debug, Clone)]
pub struct Command {
    argv: Vec<String>,
}

impl Command {
    pub fn new(argv: Vec<String>) -> Self {
        Self { argv }
    }
}

impl Driver for Command {
    fn launch(&self, context: &SessionContext) -> Launch {
        context.launch(self.argv.clone(), Framing::Turns)
    }

    fn resumes(&self) -> bool {
        false
    }
}

/// A line of text, as the shim keeps it.
pub(super) fn read(line: &str) -> Vec<Seen> {
    let value: Option<serde_json::Value> = serde_json::from_str(line).ok();
    let text =
        value.as_ref().filter(|value| value["type"] == "text").and_then(|value| value["text"].as_str());
    text.filter(|text| !text.trim().is_empty()).map(|text| Seen::Said(text.to_owned())).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_text_are_said() {
        assert_eq!(read(r#"{"type":"text","text":"hello"}"#), [Seen::Said("hello".into())]);
        for nothing in ["", "hello", r#"{"type":"text","text":" "}"#, r#"{"type":"windlass","note":"x"}"#] {
            assert_eq!(read(nothing), [], "{nothing}");
        }
    }
}
