//! The lines that `codex exec --json` prints.

use serde_json::Value;

use crate::agent::bridge::Tool;
use crate::agent::bridge::memory::Spent;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The conversation by codex's own name.
    Thread(String),
    Said(String),
    Ran(String),
    Changed(Vec<String>),
    Searched(String),
    Planned,
    /// A tool that codex was given by somebody else.
    Called(String),
    /// The turn ended well; what the conversation has used since it began.
    Completed(Spent),
    Failed(String),
    /// It cannot reach the provider, and would wait for ever.
    Waits(String),
}

/// What a line says; nothing for one that tells us nothing.
pub fn read(line: &str) -> Option<Event> {
    let value: Value = serde_json::from_str(line).ok()?;
    let word = |value: &Value| value.as_str().map(str::to_owned);
    match value["type"].as_str()? {
        "thread.started" => word(&value["thread_id"]).map(Event::Thread),
        "item.started" => begun(&value["item"]),
        "item.updated" => (value["item"]["type"] == "todo_list").then_some(Event::Planned),
        "item.completed" => done(&value["item"]),
        "turn.completed" => Some(Event::Completed(spent(&value["usage"]))),
        "turn.failed" => Some(Event::Failed(word(&value["error"]["message"]).unwrap_or_default())),
        "error" => {
            word(&value["message"]).filter(|text| text.contains("waiting for network")).map(Event::Waits)
        }
        _ => None,
    }
}

impl Event {
    /// The tools that this event shows at work.
    pub fn tools(&self) -> Vec<Tool<'_>> {
        match self {
            Self::Ran(command) => vec![Tool::Run(command)],
            Self::Changed(paths) => paths.iter().map(|path| Tool::Edit(path)).collect(),
            Self::Searched(query) => vec![Tool::Fetch(query)],
            Self::Planned => vec![Tool::Plan],
            Self::Called(name) => vec![Tool::Other(name)],
            Self::Thread(_) | Self::Said(_) | Self::Completed(_) | Self::Failed(_) | Self::Waits(_) => {
                Vec::new()
            }
        }
    }
}

/// What takes its time is shown when it begins.
fn begun(item: &Value) -> Option<Event> {
    match item["type"].as_str()? {
        "command_execution" => item["command"].as_str().map(|line| Event::Ran(bare(line))),
        "mcp_tool_call" => item["tool"].as_str().map(|tool| Event::Called(tool.to_owned())),
        "todo_list" => Some(Event::Planned),
        _ => None,
    }
}

fn done(item: &Value) -> Option<Event> {
    match item["type"].as_str()? {
        "agent_message" => item["text"].as_str().map(|text| Event::Said(text.to_owned())),
        "file_change" => {
            let changes = item["changes"].as_array()?.iter();
            Some(Event::Changed(changes.filter_map(|one| one["path"].as_str()).map(str::to_owned).collect()))
        }
        "web_search" => item["query"].as_str().map(|query| Event::Searched(query.to_owned())),
        _ => None,
    }
}

fn spent(usage: &Value) -> Spent {
    let count = |key: &str| usage[key].as_u64().unwrap_or(0);
    Spent {
        input: count("input_tokens"),
        cached: count("cached_input_tokens"),
        output: count("output_tokens"),
    }
}

/// The line as the model wrote it, without the shell that codex puts around it.
fn bare(command: &str) -> String {
    let Some((_, line)) = command.split_once(" -lc ") else { return command.to_owned() };
    let quoted = line.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''));
    quoted.map_or_else(|| line.to_owned(), |line| line.replace("'\\''", "'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recorded_turn_is_read() {
        let lines = [
            r#"{"type":"thread.started","thread_id":"01a1e2d6-e3f5"}"#,
            r#"{"type":"turn.started"}"#,
            r#"{"type":"item.started","item":{"id":"item_0","type":"command_execution","command":"/bin/bash -lc 'echo it > f; cat f'","aggregated_output":"","exit_code":null,"status":"in_progress"}}"#,
            r#"{"type":"item.completed","item":{"id":"item_0","type":"command_execution","command":"/bin/bash -lc 'cat f'","aggregated_output":"it\n","exit_code":0,"status":"completed"}}"#,
            r#"{"type":"item.completed","item":{"id":"item_1","type":"reasoning","text":"I wonder"}}"#,
            r#"{"type":"item.completed","item":{"id":"item_2","type":"file_change","changes":[{"path":"/w/a.rs","kind":"update"}],"status":"completed"}}"#,
            r#"{"type":"item.updated","item":{"id":"item_3","type":"todo_list","items":[]}}"#,
            r#"{"type":"item.completed","item":{"id":"item_4","type":"agent_message","text":"done"}}"#,
            r#"{"type":"turn.completed","usage":{"input_tokens":200,"cached_input_tokens":120,"cache_write_input_tokens":0,"output_tokens":40,"reasoning_output_tokens":0}}"#,
            "WARNING: not json",
        ];
        let seen: Vec<Event> = lines.iter().filter_map(|line| read(line)).collect();
        let expected = [
            Event::Thread("01a1e2d6-e3f5".into()),
            Event::Ran("echo it > f; cat f".into()),
            Event::Changed(vec!["/w/a.rs".into()]),
            Event::Planned,
            Event::Said("done".into()),
            Event::Completed(Spent { input: 200, cached: 120, output: 40 }),
        ];
        assert_eq!(seen, expected);
    }

    #[test]
    fn a_failed_turn_is_read() {
        let failed = r#"{"type":"turn.failed","error":{"message":"exceeded retry limit, last status: 429 Too Many Requests"}}"#;
        assert_eq!(
            read(failed),
            Some(Event::Failed("exceeded retry limit, last status: 429 Too Many Requests".into()))
        );
        let waits = r#"{"type":"error","message":"Reconnecting... waiting for network (Connection failed: error sending request)"}"#;
        assert!(matches!(read(waits), Some(Event::Waits(_))));
        let passing = r#"{"type":"error","message":"Reconnecting... 1/5"}"#;
        assert_eq!(read(passing), None, "it goes on by itself");
    }

    #[test]
    fn a_command_is_shown_as_the_model_wrote_it() {
        assert_eq!(bare("/bin/bash -lc 'echo '\\''a'\\'' > b'"), "echo 'a' > b");
        assert_eq!(bare("bash -lc ls"), "ls");
        assert_eq!(bare("ls -l"), "ls -l");
    }
}
