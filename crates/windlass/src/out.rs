//! Where results and talk go: results to stdout, for people or for programs; talk to stderr.

use std::io::{self, BufWriter, Stdout, Write};

use serde::Serialize;

use crate::error::CliError;
use crate::exit::Exit;
use crate::jq::Filter;

#[derive(Debug)]
pub struct Out {
    form: Form,
    quiet: bool,
    pub style: Style,
    stdout: BufWriter<Stdout>,
}

/// For whom results are.
#[derive(Debug)]
pub enum Form {
    Words,
    Json,
    /// What a jq program makes of the JSON.
    Filtered(Filter),
}

impl Out {
    pub fn new(form: Form, quiet: bool, style: Style) -> Self {
        Self { form, quiet, style, stdout: BufWriter::new(io::stdout()) }
    }

    pub fn is_json(&self) -> bool {
        match self.form {
            Form::Json | Form::Filtered(_) => true,
            Form::Words => false,
        }
    }

    /// The result of a command: the view for programs, or the same in words.
    pub fn show<T: Serialize>(
        &mut self,
        view: &T,
        words: impl FnOnce(Style) -> String,
    ) -> Result<(), CliError> {
        if self.is_json() {
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
        self.json_line(&line)
    }

    /// A record that is JSON already.
    pub fn json_line(&mut self, json: &str) -> Result<(), CliError> {
        let Self { form, stdout, .. } = self;
        match form {
            Form::Filtered(filter) => {
                filter.each(json, |line| writeln!(stdout, "{line}").map_err(cannot_write))
            }
            Form::Json | Form::Words => self.line(json),
        }
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

    /// For output that is no view: a program for views has nothing to work on.
    pub fn must_be_whole(&self) -> Result<(), CliError> {
        match self.form {
            Form::Filtered(_) => Err(CliError::new("usage", Exit::Usage, "--jq has nothing to work on here")
                .next("leave --jq out, or send the output through jq")),
            Form::Json | Form::Words => Ok(()),
        }
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

/// How results look to people.
#[derive(Debug, Clone, Copy)]
pub struct Style {
    colored: bool,
    tables: Tables,
}

/// How columns are kept apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tables {
    /// In line, as wide as they are.
    Wide,
    /// In line, and no wider than this.
    Within(usize),
    /// By tabs, for tools that read lines.
    Tabs,
}

impl Style {
    pub fn new(colored: bool) -> Self {
        Self { colored, tables: Tables::Wide }
    }

    pub fn plain() -> Self {
        Self { colored: false, tables: Tables::Tabs }
    }

    /// No line of a table is wider than this.
    #[must_use]
    pub fn fitting(self, columns: Option<usize>) -> Self {
        Self { tables: columns.map_or(self.tables, Tables::Within), ..self }
    }

    /// Cells are not cut off; for a table that is folded afterwards.
    #[must_use]
    pub fn uncut(self) -> Self {
        let tables = match self.tables {
            Tables::Within(_) => Tables::Wide,
            Tables::Wide | Tables::Tabs => self.tables,
        };
        Self { tables, ..self }
    }

    pub fn tables(self) -> Tables {
        self.tables
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
