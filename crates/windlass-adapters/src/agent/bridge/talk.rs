//! The side of a bridge that the shim sees: messages in, stream-json out, in the words of Claude Code.

use std::io::{self, BufRead, Write};

use serde_json::{Value, json};
use windlass_core::money::usd;
use windlass_core::time::Millis;

use crate::agent::Usage;
use crate::shim::Failure;

/// The conversation with the shim.
#[derive(Debug)]
pub struct Talk<R, W> {
    input: R,
    output: W,
    conversation: String,
}

/// A tool as Claude Code names it: one vocabulary for all agents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tool<'a> {
    Read(&'a str),
    Search(&'a str),
    Edit(&'a str),
    Run(&'a str),
    Fetch(&'a str),
    Plan,
    /// One that has no counterpart, by its own name.
    Other(&'a str),
}

/// How a turn ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Turn {
    pub text: String,
    pub usage: Usage,
    /// How many tokens the model can hold, where the agent says so.
    pub window: Option<u64>,
    pub failure: Option<Failure>,
    /// When a limit of the provider ends, where the agent says so beside the failure.
    pub limited_until: Option<Millis>,
}

impl<R: BufRead, W: Write> Talk<R, W> {
    pub fn new(input: R, output: W, conversation: &str) -> Self {
        Self { input, output, conversation: conversation.to_owned() }
    }

    /// The next message; nothing when none will come.
    pub fn hear(&mut self) -> io::Result<Option<String>> {
        let mut line = String::new();
        loop {
            line.clear();
            if self.input.read_line(&mut line)? == 0 {
                return Ok(None);
            }
            if let Some(text) = message(&line) {
                return Ok(Some(text));
            }
        }
    }

    /// Comes before every turn, as the conversation's name may be asked for at any time.
    pub fn begin(&mut self) -> io::Result<()> {
        let id = self.conversation.clone();
        self.line(&json!({"type": "system", "subtype": "init", "session_id": id}))
    }

    pub fn said(&mut self, text: &str) -> io::Result<()> {
        self.assistant(&json!({"type": "text", "text": text}), 0)
    }

    pub fn used(&mut self, tool: Tool<'_>) -> io::Result<()> {
        self.assistant(&tool.block(), 0)
    }

    /// How many tokens the conversation has by now.
    pub fn holds(&mut self, tokens: u64) -> io::Result<()> {
        self.assistant(&json!({"type": "text", "text": ""}), tokens)
    }

    /// A message of the model, as the agent itself has it: its blocks and its figures.
    pub fn pass_on(&mut self, message: &Value) -> io::Result<()> {
        self.line(&json!({"type": "assistant", "message": message}))
    }

    pub fn end(&mut self, turn: &Turn) -> io::Result<()> {
        let Usage { input, cache_write, cache_read, output, model, cost_micro_usd } = &turn.usage;
        let mut line = json!({
            "type": "result",
            "subtype": "success",
            "is_error": turn.failure.is_some(),
            "result": turn.text,
            "session_id": self.conversation,
            "usage": {"input_tokens": input, "cache_creation_input_tokens": cache_write,
                      "cache_read_input_tokens": cache_read, "output_tokens": output},
        });
        if let Some(micro) = cost_micro_usd {
            line["total_cost_usd"] = json!(usd(*micro));
        }
        if model.is_some() || turn.window.is_some() {
            // The window stands below a model, also one without a name.
            let model = model.as_deref().unwrap_or("unknown");
            line["modelUsage"] = json!({ model: {"contextWindow": turn.window} });
        }
        if let Some(until) = turn.limited_until.filter(|_| turn.failure.is_some()) {
            let info = json!({"status": "rejected", "resetsAt": until.0 / 1000});
            self.line(&json!({"type": "rate_limit_event", "rate_limit_info": info}))?;
        }
        if let Some(Failure { status, kind, text }) = &turn.failure {
            line["result"] = json!(text);
            line["terminal_reason"] = json!(kind);
            line["api_error_status"] = json!(status);
        }
        self.line(&line)
    }

    fn assistant(&mut self, block: &Value, tokens: u64) -> io::Result<()> {
        self.line(
            &json!({"type": "assistant", "message": {"content": [block], "usage": {"input_tokens": tokens}}}),
        )
    }

    fn line(&mut self, value: &Value) -> io::Result<()> {
        writeln!(self.output, "{value}")?;
        self.output.flush()
    }
}

impl Tool<'_> {
    fn block(self) -> Value {
        let (name, input) = match self {
            Self::Read(path) => ("Read", json!({"file_path": path})),
            Self::Search(pattern) => ("Grep", json!({"pattern": pattern})),
            Self::Edit(path) => ("Edit", json!({"file_path": path})),
            Self::Run(command) => ("Bash", json!({"command": command})),
            Self::Fetch(url) => ("WebFetch", json!({"url": url})),
            Self::Plan => ("TodoWrite", json!({})),
            Self::Other(name) => (name, json!({})),
        };
        json!({"type": "tool_use", "name": name, "input": input})
    }
}

/// The text of a line that is a message.
fn message(line: &str) -> Option<String> {
    let value: Value = serde_json::from_str(line).ok()?;
    let blocks = value["message"]["content"].as_array()?.iter();
    Some(blocks.filter_map(|block| block["text"].as_str()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::{Seen, read};

    #[test]
    fn what_a_bridge_says_is_read_as_if_claude_code_had_said_it() {
        let line = r#"{"type":"user","message":{"role":"user","content":[{"type":"text","text":"do it"}]}}"#;
        let mut output = Vec::new();
        let mut talk = Talk::new(line.as_bytes(), &mut output, "c-1");
        assert_eq!(talk.hear().unwrap().as_deref(), Some("do it"));
        talk.begin().unwrap();
        talk.used(Tool::Run("ls")).unwrap();
        talk.holds(70).unwrap();
        let usage = Usage {
            input: 1,
            cache_write: 2,
            cache_read: 3,
            output: 4,
            model: Some("m".into()),
            cost_micro_usd: Some(5),
        };
        let turn = Turn { text: "done".into(), usage: usage.clone(), window: Some(100), ..Turn::default() };
        talk.end(&turn).unwrap();
        assert_eq!(talk.hear().unwrap(), None);
        let said = String::from_utf8(output).unwrap();
        let seen: Vec<Seen> = said.lines().flat_map(read).collect();
        let session = || Seen::ProviderSession("c-1".into());
        let expected = [
            session(),
            Seen::Tool {
                name: "Bash".into(),
                target: Some("ls".into()),
                act: windlass_core::activity::Act::Look,
            },
            Seen::Context(70),
            session(),
            Seen::Usage(usage),
            Seen::Window(100),
            Seen::TurnResult { is_error: false, text: "done".into() },
        ];
        assert_eq!(seen, expected);
    }
}
