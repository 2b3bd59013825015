//! What every command gets: the global flags, the surroundings, and where to write.

use crate::around::Around;
use crate::cli::{Color, Globals};
use crate::error::CliError;
use crate::out::{Out, Style};

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
        let out = Out::new(globals.json, globals.quiet, Style::new(colored));
        Ok(Self { globals, around, out })
    }

    /// Whether a question may be asked at all.
    pub fn may_ask(&self) -> bool {
        self.around.asks && !self.globals.no_input && !self.globals.json
    }
}
