//! What went wrong, why, and what to do next; and the one place that prints it.

mod from;

use std::error::Error;
use std::fmt::Write as _;
use std::io::{ErrorKind, Write as _};
use std::process::ExitCode;

use schemars::JsonSchema;
use serde::Serialize;

pub use from::DAMAGED;

use crate::exit::Exit;

/// `code` is stable, for programs; `title` says what was tried, `why` the reason, `next` the ways out.
#[derive(Debug)]
pub struct CliError {
    pub code: &'static str,
    pub title: String,
    pub why: Option<String>,
    pub next: Vec<String>,
    pub exit: Exit,
    pub source: Option<Box<dyn Error + Send + Sync>>,
}

impl CliError {
    pub fn new(code: &'static str, exit: Exit, title: impl Into<String>) -> Self {
        Self { code, title: title.into(), why: None, next: Vec::new(), exit, source: None }
    }

    /// A file that could not be read or written.
    pub fn io(tried: &str, path: &std::path::Path, source: std::io::Error) -> Self {
        let way = match source.kind() {
            ErrorKind::NotFound => "check the path",
            ErrorKind::PermissionDenied => "check who may use it: ls -ld",
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "make room on the disk",
            // The kinds are the system's, and many.
            _ => "check the disk and the path",
        };
        Self::new("io", Exit::Failed, format!("cannot {tried} `{}`", path.display()))
            .because(source)
            .next(way)
    }

    #[must_use]
    pub fn why(mut self, why: impl Into<String>) -> Self {
        self.why = Some(why.into());
        self
    }

    #[must_use]
    pub fn next(mut self, next: impl Into<String>) -> Self {
        self.next.push(next.into());
        self
    }

    #[must_use]
    pub fn because(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// The reader of our output has gone: nothing to say, and nobody to say it to.
    pub fn nobody_reads() -> Self {
        Self::new(NOBODY_READS, Exit::Ok, "nobody reads the output any more")
    }

    /// All of it in one sentence, for a log or a list.
    pub fn sentence(&self) -> String {
        match self.detail() {
            Some(why) => format!("{}: {why}", self.title),
            None => self.title.clone(),
        }
    }

    /// The reason in one text: our own words, then the whole chain of causes.
    fn detail(&self) -> Option<String> {
        let mut parts: Vec<String> = self.why.iter().cloned().collect();
        let mut cause = self.source.as_deref().map(|source| source as &dyn Error);
        while let Some(error) = cause {
            parts.push(error.to_string());
            cause = error.source();
        }
        parts.dedup();
        (!parts.is_empty()).then(|| parts.join(": "))
    }
}

const NOBODY_READS: &str = "broken-pipe";

/// How errors are printed.
#[derive(Debug, Clone, Copy)]
pub struct Report {
    pub json: bool,
}

pub const SCHEMA: &str = "windlass.error/1";

/// A problem as RFC 9457 has it.
#[derive(Serialize, JsonSchema)]
pub struct Problem<'a> {
    #[serde(rename = "type")]
    kind: String,
    schema: &'static str,
    code: &'a str,
    title: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
    exit_code: u8,
    next: &'a [String],
}

impl Report {
    pub fn show(self, error: &CliError) -> ExitCode {
        if error.code != NOBODY_READS {
            let text = if self.json { problem(error) } else { plain(error) };
            // If stderr is closed as well, the exit code is all that is left.
            drop(std::io::stderr().write_all(text.as_bytes()));
        }
        error.exit.into()
    }
}

fn problem(error: &CliError) -> String {
    let problem = Problem {
        kind: format!("urn:windlass:err:{}", error.code),
        schema: SCHEMA,
        code: error.code,
        title: &error.title,
        detail: error.detail(),
        exit_code: error.exit.code(),
        next: &error.next,
    };
    let text = serde_json::to_string(&problem).expect("a problem is plain data");
    format!("{text}\n")
}

fn plain(error: &CliError) -> String {
    let clean = |text: &str| windlass_core::text::clean(text).trim_end().replace('\n', "\n        ");
    let mut text = format!("error[{}]: {}\n", error.code, clean(&error.title));
    if let Some(why) = error.detail() {
        writeln!(text, "  why   {}", clean(&why)).expect("writing to a String cannot fail");
    }
    for next in &error.next {
        writeln!(text, "  next  {}", clean(next)).expect("writing to a String cannot fail");
    }
    text
}
