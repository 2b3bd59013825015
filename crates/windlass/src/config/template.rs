//! The short file that `init` writes: what was chosen, and where to read about the rest.

use std::fmt::Write as _;

use windlass_adapters::agent::CodexOptions;

use super::{CODEX_CREDENTIALS, CREDENTIALS};

/// What a person or a guess decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choices {
    pub name: String,
    pub branch: String,
    pub ci: Option<String>,
    pub agent: Option<AgentChoice>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentChoice {
    Command(String),
    Demo,
    /// With the variable that holds its key.
    ClaudeCode {
        key: &'static str,
    },
    /// With the variable that holds its key.
    Codex {
        key: &'static str,
    },
    /// The line that starts an agent of the Agent Client Protocol.
    Acp(String),
    /// One that was found: the program with its arguments.
    AcpFound(Vec<String>),
}

impl AgentChoice {
    /// `claude-code`, `codex`, `demo`, `acp:LINE` or `command:LINE`.
    pub fn parse(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            None if text == "demo" => Ok(Self::Demo),
            None if text == "claude-code" => Ok(Self::ClaudeCode { key: CREDENTIALS[0] }),
            None if text == "codex" => Ok(Self::Codex { key: CODEX_CREDENTIALS[0] }),
            Some(("acp", line)) if !line.trim().is_empty() => Ok(Self::Acp(line.trim().to_owned())),
            Some(("command", line)) if !line.trim().is_empty() => Ok(Self::Command(line.trim().to_owned())),
            None | Some(_) => {
                Err("write `claude-code`, `codex`, `demo`, or `acp:` or `command:` and the line that \
                                   starts your agent"
                    .into())
            }
        }
    }
}

impl Choices {
    pub fn file(&self) -> String {
        let mut text = format!(
            "#:schema ./.windlass/windlass.schema.json\n\
             # What Windlass does with this repository. `windlass config defaults` shows every other key.\n\
             # For editors: mkdir -p .windlass && windlass config schema > .windlass/windlass.schema.json\n\
             name = {}\nbranch = {}\n\n[ci]\n# Runs with `sh -c` in a clean checkout; exit code 0 means good.\n",
            quoted(&self.name),
            quoted(&self.branch)
        );
        let done = match &self.ci {
            Some(command) => writeln!(text, "command = {}", quoted(command)),
            None => writeln!(text, "# command = \"make test\""),
        };
        done.expect("writing to a String cannot fail");
        text.push_str("\n# The program that does the work, in a clone of its own.\n");
        let done = match &self.agent {
            Some(AgentChoice::Command(line)) => {
                writeln!(text, "[agent.dev]\nkind = \"command\"\ncommand = {}", quoted(line))
            }
            Some(AgentChoice::ClaudeCode { key }) => writeln!(
                text,
                "[agent.dev]\nkind = \"claude-code\"\n# Where its key lies: `env:NAME` or `file:PATH`. Never the key itself.\n\
                 env = {{ {key} = \"env:{key}\" }}"
            ),
            Some(AgentChoice::Codex { key }) => writeln!(
                text,
                "[agent.dev]\nkind = \"codex\"\n# Where its key lies: `env:NAME` or `file:PATH`. Never the key itself.\n\
                 env = {{ {} = \"env:{key}\" }}",
                CodexOptions::KEY
            ),
            Some(AgentChoice::Acp(line)) => {
                writeln!(text, "[agent.dev]\nkind = \"acp\"\ncommand = {}", quoted(line))
            }
            Some(AgentChoice::AcpFound(argv)) => writeln!(
                text,
                "[agent.dev]\nkind = \"acp\"\ncommand = {}\n# It gets no variables but these: name what its provider needs, the key by the place where it lies.\n\
                 # env = {{ ANTHROPIC_API_KEY = \"env:ANTHROPIC_API_KEY\" }}",
                toml::Value::from(argv.clone())
            ),
            Some(AgentChoice::Demo) => writeln!(text, "[agent.dev]\nkind = \"demo\""),
            None => {
                writeln!(text, "# [agent.dev]\n# kind = \"command\"\n# command = \"my-agent --headless\"")
            }
        };
        done.expect("writing to a String cannot fail");
        text
    }
}

fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}
