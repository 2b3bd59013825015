//! Where results and talk go: results to stdout, for people or for programs; talk to stderr.

use std::io::{self, BufWriter, Stdout, Write};

use serde::Serialize;

use crate::error::CliError;
use crate::exit::Exit;

#[derive(Debug)]
pub struct Out {
    json: bool,
    quiet: bool,
    pub style: Style,
    stdout: BufWriter<Stdout>,
}

impl Out {
    pub fn new(json: bool, quiet: bool, style: Style) -> Self {
        Self { json, quiet, style, stdout: BufWriter::new(io::stdout()) }
    }

    pub fn is_json(&self) -> bool {
        self.json
    }

    /// The result of a command: the view for programs, or the same in words.
    pub fn show<T: Serialize>(
        &mut self,
        view: &T,
        words: impl FnOnce(Style) -> String,
    ) -> Result<(), CliError> {
        if self.json {
            self.record(view)?;
        } else {
            let words = words(self.style);
            self.text(&words)?;
        }
        self.flush()
    }

    /// One line of JSON.
    pub fn record<T: Serialize>(&mut self, view: &T) -> Result<(), CliError> {
        let line = serde_json::to_string(view).expect("a view is plain data with text as keys");
        self.line(&line)
    }

    pub fn line(&mut self, line: &str) -> Result<(), CliError> {
        writeln!(self.stdout, "{line}").map_err(cannot_write)
    }

    pub fn text(&mut self, text: &str) -> Result<(), CliError> {
        self.stdout.write_all(text.as_bytes()).map_err(cannot_write)
    }

    pub fn flush(&mut self) -> Result<(), CliError> {
        self.stdout.flush().map_err(cannot_write)
    }

    pub fn raw(&mut self) -> &mut dyn Write {
        &mut self.stdout
    }

    /// Says how it goes. Never a result, and nothing at all when asked to be quiet.
    pub fn talk(&self, words: &str) {
        if !self.quiet {
            // Talk that nobody hears is no reason to stop.
            drop(writeln!(io::stderr(), "{words}"));
        }
    }
}

fn cannot_write(source: io::Error) -> CliError {
    if source.kind() == io::ErrorKind::BrokenPipe {
        return CliError::nobody_reads();
    }
    CliError::new("output", Exit::Failed, "cannot write the result").because(source)
}

/// Colours, or none.
#[derive(Debug, Clone, Copy)]
pub struct Style {
    colored: bool,
}

impl Style {
    pub fn new(colored: bool) -> Self {
        Self { colored }
    }

    pub fn is_colored(self) -> bool {
        self.colored
    }

    pub fn bold(self, text: &str) -> String {
        self.paint("1", text)
    }

    pub fn faint(self, text: &str) -> String {
        self.paint("2", text)
    }

    pub fn red(self, text: &str) -> String {
        self.paint("31", text)
    }

    pub fn green(self, text: &str) -> String {
        self.paint("32", text)
    }

    pub fn yellow(self, text: &str) -> String {
        self.paint("33", text)
    }

    fn paint(self, code: &str, text: &str) -> String {
        if self.colored && !text.is_empty() {
            format!("\u{1b}[{code}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }
}
