//! What every command gets: the global flags, the surroundings, and where to write.

use std::time::Duration;

use crate::around::Around;
use crate::cli::{Color, Globals};
use crate::error::CliError;
use crate::exit::Exit;
use crate::jq::Filter;
use crate::out::{Form, Out, Style};
use crate::view::Reply;

#[derive(Debug)]
pub struct Context {
    pub globals: Globals,
    pub around: Around,
    pub out: Out,
}

impl Context {
    pub fn new(globals: Globals) -> Result<Self, CliError> {
        let around = Around::read()?;
        let colored = match globals.color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => around.color.colored(),
        };
        let style = if globals.plain { Style::plain() } else { Style::new(colored).fitting(around.columns) };
        let form = match &globals.jq {
            Some(program) => Form::Filtered(Filter::compile(program)?),
            None if globals.json => Form::Json,
            None => Form::Words,
        };
        let out = Out::new(form, globals.quiet, style);
        Ok(Self { globals, around, out })
    }

    /// Whether a question may be asked at all.
    pub fn may_ask(&self) -> bool {
        self.around.asks && !self.globals.no_input && !self.globals.for_programs()
    }
    /// With `--dry-run` says what would be done, and nothing more is to be done then.
    pub fn would(&mut self, what: impl Into<String>, issue: Option<u64>) -> Result<Option<Exit>, CliError> {
        if !self.globals.dry_run {
            return Ok(None);
        }
        let view = Reply { dry_run: true, ..Reply::new(format!("would {}", what.into()), issue) };
        self.out.show(&view, |_| format!("{}\n", view.what))?;
        Ok(Some(Exit::Ok))
    }

    /// How long to wait for something that has this much time by itself.
    pub fn patience(&self, usual: Duration) -> Duration {
        self.globals.timeout.map_or(usual, |span| Duration::from_millis(u64::try_from(span.0).unwrap_or(0)))
    }
}
