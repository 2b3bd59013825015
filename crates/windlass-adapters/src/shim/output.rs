//! Bounded keeping of what a program prints.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use serde_json::{Value, json};
use windlass_core::time::Millis;

use super::protocol::{Failure, TurnResult};

/// Enough to know what is wrong.
const MAX_FAILURE_CHARS: usize = 1_000;

/// A file that takes up to so many bytes; what comes after is dropped, with one note.
#[derive(Debug)]
pub(super) struct Store {
    file: File,
    left: u64,
    full: bool,
}

impl Store {
    pub fn open(path: &Path, max_bytes: u64) -> io::Result<Self> {
        let file = OpenOptions::new().append(true).create(true).mode(0o600).open(path)?;
        let left = max_bytes.saturating_sub(file.metadata()?.len());
        Ok(Self { file, left, full: false })
    }

    /// A full disk must not end the program: what cannot be written counts as too much.
    fn put(&mut self, bytes: &[u8], note: &str) {
        if self.full {
            return;
        }
        if bytes.len() as u64 > self.left || self.file.write_all(bytes).is_err() {
            self.full = true;
            // Best effort: the note is for people, nothing depends on it.
            drop(self.file.write_all(note.as_bytes()));
        }
        self.left = self.left.saturating_sub(bytes.len() as u64);
    }
}

/// What becomes of the bytes of one stream.
#[derive(Debug)]
pub(super) enum Sink {
    /// As they come.
    Raw(Store),
    /// Each line as a JSON text.
    Text(Store, Lines),
    /// Lines that are JSON already; `result` lines are reported, with the limit that was told before them.
    Json(Store, Lines, Option<Millis>),
}

impl Sink {
    pub fn json(store: Store, lines: Lines) -> Self {
        Self::Json(store, lines, None)
    }

    pub fn take(&mut self, bytes: &[u8], results: &mut Vec<TurnResult>) {
        match self {
            Self::Raw(store) => put_raw(store, bytes),
            Self::Text(store, lines) => lines.feed(bytes, |line, cut| put_text(store, line, cut)),
            Self::Json(store, lines, limit) => {
                lines.feed(bytes, |line, cut| put_json(store, line, cut, limit, results));
            }
        }
    }

    /// The stream is at its end: an unfinished line counts as a line.
    pub fn finish(&mut self, results: &mut Vec<TurnResult>) {
        match self {
            Self::Raw(_) => {}
            Self::Text(store, lines) => lines.finish(|line, cut| put_text(store, line, cut)),
            Self::Json(store, lines, limit) => {
                lines.finish(|line, cut| put_json(store, line, cut, limit, results));
            }
        }
    }
}

/// Splits a stream into lines and never holds more than `max` bytes of one.
#[derive(Debug)]
pub(super) struct Lines {
    line: Vec<u8>,
    max: usize,
    cut: bool,
}

impl Lines {
    pub fn new(max: usize) -> Self {
        Self { line: Vec::new(), max, cut: false }
    }

    fn feed(&mut self, bytes: &[u8], mut each: impl FnMut(&[u8], bool)) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let (text, ended) = piece.strip_suffix(b"\n").map_or((piece, false), |text| (text, true));
            let room = self.max.saturating_sub(self.line.len());
            self.cut |= text.len() > room;
            self.line.extend_from_slice(&text[..text.len().min(room)]);
            if ended {
                each(&self.line, self.cut);
                self.line.clear();
                self.cut = false;
            }
        }
    }

    fn finish(&mut self, mut each: impl FnMut(&[u8], bool)) {
        if !self.line.is_empty() || self.cut {
            each(&self.line, self.cut);
            self.line.clear();
            self.cut = false;
        }
    }
}

const FULL_RAW: &str = "\n[windlass: the output is too long, the rest is not kept]\n";
const FULL_LINE: &str = "{\"type\":\"windlass\",\"note\":\"the output is too long, the rest is not kept\"}\n";

fn put_raw(store: &mut Store, bytes: &[u8]) {
    let fitting = bytes.len().min(usize::try_from(store.left).unwrap_or(usize::MAX));
    store.put(&bytes[..fitting], FULL_RAW);
    if fitting < bytes.len() {
        store.put(&bytes[fitting..], FULL_RAW);
    }
}

fn put_text(store: &mut Store, line: &[u8], cut: bool) {
    let mut value = json!({"type": "text", "text": String::from_utf8_lossy(line)});
    if cut {
        value["cut"] = Value::Bool(true);
    }
    store.put(format!("{value}\n").as_bytes(), FULL_LINE);
}

fn put_json(
    store: &mut Store,
    line: &[u8],
    cut: bool,
    limit: &mut Option<Millis>,
    results: &mut Vec<TurnResult>,
) {
    let text = String::from_utf8_lossy(line);
    *limit = limit_in(&text).or(*limit);
    if let Some(mut result) = result_in(&text, cut) {
        result.limited_until = limit.take().filter(|_| result.is_error);
        results.push(result);
    }
    if cut {
        let value = json!({"type": "windlass", "note": "this line was too long", "cut": true, "text": text});
        store.put(format!("{value}\n").as_bytes(), FULL_LINE);
    } else {
        store.put(format!("{text}\n").as_bytes(), FULL_LINE);
    }
}

/// The end of a limit that is used up, in seconds, where the provider has named it.
fn limit_in(text: &str) -> Option<Millis> {
    if !text.contains("\"rate_limit_event\"") {
        return None;
    }
    let value: Value = serde_json::from_str(text).ok()?;
    let info = Some(&value["rate_limit_info"]).filter(|info| info["status"] == "rejected")?;
    info["resetsAt"].as_i64()?.checked_mul(1000).map(Millis)
}

/// The result that a line is, if it is one. A cut line is no JSON any more, but it still ends the turn.
fn result_in(text: &str, cut: bool) -> Option<TurnResult> {
    // Most lines are not results, and parsing a megabyte to learn that is a waste.
    if !text.contains("\"result\"") {
        return None;
    }
    if cut {
        let start: String = text.chars().take(300).filter(|c| !c.is_whitespace()).collect();
        let is_error = start.contains("\"is_error\":true");
        return start
            .contains("\"type\":\"result\"")
            .then(|| TurnResult { is_error, ..TurnResult::default() });
    }
    let value: Value = serde_json::from_str(text).ok()?;
    (value.get("type")? == "result").then(|| {
        let is_error = value["is_error"].as_bool().unwrap_or(false);
        TurnResult {
            is_error,
            usage: value.get("usage").cloned(),
            total_cost_usd: value["total_cost_usd"].as_f64(),
            session_id: value["session_id"].as_str().map(str::to_owned),
            model: model(&value["modelUsage"]),
            failure: is_error.then(|| failure(&value)),
            limited_until: None,
        }
    })
}

/// Small models do small things beside the one that works.
fn model(used: &Value) -> Option<String> {
    let cost = |used: &Value| used["costUSD"].as_f64().unwrap_or(0.0);
    let models = used.as_object()?.iter();
    models.max_by(|(_, one), (_, other)| cost(one).total_cmp(&cost(other))).map(|(name, _)| name.clone())
}

fn failure(value: &Value) -> Failure {
    let errors = value["errors"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let words = value["result"].as_str().into_iter().chain(errors);
    let text = words.collect::<Vec<_>>().join("; ");
    let word = |key: &str| value[key].as_str().map(str::to_owned);
    Failure {
        status: value["api_error_status"].as_u64(),
        kind: word("terminal_reason").or_else(|| word("subtype")).unwrap_or_default(),
        text: text.chars().take(MAX_FAILURE_CHARS).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_cut_and_the_next_line_is_whole() {
        let mut lines = Lines::new(4);
        let mut seen = Vec::new();
        for piece in ["ab", "cdef", "gh\nxy\n", "\nlast"] {
            lines.feed(piece.as_bytes(), |line, cut| {
                seen.push((String::from_utf8_lossy(line).into_owned(), cut))
            });
        }
        lines.finish(|line, cut| seen.push((String::from_utf8_lossy(line).into_owned(), cut)));
        let seen: Vec<_> = seen.iter().map(|(line, cut)| (line.as_str(), *cut)).collect();
        assert_eq!(seen, [("abcd", true), ("xy", false), ("", false), ("last", false)]);
    }

    #[test]
    fn a_full_store_keeps_what_fits_and_says_so_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let mut sink = Sink::Raw(Store::open(&path, 10).unwrap());
        for _ in 0..5 {
            sink.take(b"1234", &mut Vec::new());
        }
        let kept = std::fs::read_to_string(path).unwrap();
        assert_eq!(kept, format!("1234123412{FULL_RAW}"));
    }

    #[test]
    fn only_a_result_line_is_a_result() {
        assert_eq!(result_in(r#"{"type":"assistant","text":"\"result\""}"#, false), None);
        assert_eq!(result_in(r#"{"type":"result","is_error":true"#, false), None);
        let found = result_in(r#"{"type":"result","is_error":true,"session_id":"s"}"#, false).unwrap();
        assert!(found.is_error && found.session_id.as_deref() == Some("s"));
        assert!(result_in(r#"{"type": "result", "is_error": false, "result": "xxxx"#, true).is_some());
    }

    /// As Claude Code 2.1.325 prints it for a subscription whose window is used up.
    #[test]
    fn a_failed_turn_knows_when_its_limit_ends_and_the_next_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let mut sink =
            Sink::json(Store::open(&folder.path().join("log"), 1 << 20).unwrap(), Lines::new(1 << 16));
        let told = r#"{"type":"rate_limit_event","rate_limit_info":{"status":"STATUS","resetsAt":1794816843,"rateLimitType":"five_hour"}}"#;
        let failed = r#"{"type":"result","is_error":true,"api_error_status":429}"#;
        let mut ends = |status: &str| {
            let mut results = Vec::new();
            let lines = format!("{}\n{failed}\n{failed}\n", told.replace("STATUS", status));
            sink.take(lines.as_bytes(), &mut results);
            results.into_iter().map(|result| result.limited_until).collect::<Vec<_>>()
        };
        assert_eq!(ends("rejected"), [Some(Millis(1_794_816_843_000)), None]);
        assert_eq!(ends("allowed_warning"), [None, None]);
    }
}
