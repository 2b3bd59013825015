//! Lines of a transcript, for people.

use serde_json::Value;
use windlass_adapters::agent::{self, Seen};
use windlass_core::text::{clean, one_line};

use super::tail::Line;
use crate::error::CliError;
use crate::out::Out;
use crate::view::LogLine;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// What a shim keeps of an agent.
    Transcript,
    /// Text as it is.
    Plain,
}

/// One thing that a line says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// Where it ends, counted in bytes of its source.
    pub seq: u64,
    pub kind: &'static str,
    pub text: String,
}

pub fn show(out: &mut Out, source: &str, said: &Said) -> Result<(), CliError> {
    let Said { seq, kind, text } = said;
    if out.is_json() {
        out.record(&LogLine::new(source, *seq, kind, text))
    } else if *kind == "line" {
        out.line(&clean(text))
    } else {
        let text = clean(text).trim_end().replace('\n', "\n       ");
        let kind = out.style.faint(&format!("{kind:<6}"));
        out.line(&format!("{kind} {text}"))
    }
}

/// What a line says, each with its kind. The last ends with the line; those before have numbers of their own within it, so
/// that a reader may stop between them.
pub fn said(format: Format, line: &Line) -> Vec<Said> {
    let said = match format {
        Format::Plain => vec![("line", line.text.clone())],
        Format::Transcript => read(&line.text),
    };
    let last = said.len().saturating_sub(1);
    let seq = |nth: usize| if nth == last { line.end } else { line.start + 1 + nth as u64 };
    said.into_iter().enumerate().map(|(nth, (kind, text))| Said { seq: seq(nth), kind, text }).collect()
}

/// Transcripts of all kinds of agents: a line that one does not know, another does.
fn read(line: &str) -> Vec<(&'static str, String)> {
    let note = serde_json::from_str::<Value>(line).ok().filter(|value| value["type"] == "windlass");
    if let Some(note) = note.as_ref().and_then(|value| value["note"].as_str()) {
        return vec![("note", note.to_owned())];
    }
    agent::read(line).iter().filter_map(words).collect()
}

fn words(seen: &Seen) -> Option<(&'static str, String)> {
    match seen {
        Seen::Said(text) => Some(("say", text.clone())),
        Seen::Tool { name, target, .. } => {
            let target = target.as_deref().map(|target| one_line(target, 200)).unwrap_or_default();
            Some(("tool", format!("{name} {target}").trim_end().to_owned()))
        }
        Seen::Usage(usage) => {
            let new = usage.input + usage.cache_write;
            Some((
                "usage",
                format!("{new} tokens in, {} from the cache, {} out", usage.cache_read, usage.output),
            ))
        }
        Seen::TurnResult { is_error: false, .. } => Some(("result", "the turn is over".into())),
        Seen::TurnResult { is_error: true, text } => {
            Some(("result", format!("the turn failed: {}", one_line(text, 300))))
        }
        Seen::ProviderSession(_) | Seen::Context(_) | Seen::Window(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_line_is_read_once() {
        for (line, kinds) in [
            (r#"{"type":"text","text":"hello"}"#, vec!["say"]),
            (r#"{"type":"windlass","note":"too long"}"#, vec!["note"]),
            (
                r#"{"type":"assistant","message":{"content":[{"type":"text","text":"I look"},{"type":"tool_use","name":"Read","input":{"path":"a"}}]}}"#,
                vec!["say", "tool"],
            ),
            (
                r#"{"type":"result","is_error":true,"result":"no","usage":{"input_tokens":1}}"#,
                vec!["usage", "result"],
            ),
            ("torn", vec![]),
        ] {
            let read: Vec<&str> = read(line).iter().map(|(kind, _)| *kind).collect();
            assert_eq!(read, kinds, "{line}");
        }
    }

    #[test]
    fn each_thing_of_a_line_has_its_own_number() {
        let text = r#"{"type":"result","is_error":true,"result":"no","usage":{"input_tokens":1}}"#;
        let line = Line { start: 100, end: 175, text: text.into() };
        let seqs = |format| -> Vec<u64> { said(format, &line).iter().map(|said| said.seq).collect() };
        assert_eq!((seqs(Format::Transcript), seqs(Format::Plain)), (vec![101, 175], vec![175]));
    }
}
