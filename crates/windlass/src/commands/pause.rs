//! `windlass pause`: asks the factory.

use windlass_core::command::Command;

use super::ask;
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;

/// Start nothing new; what runs goes on
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:\n  windlass pause")]
pub struct Args {}

pub fn run(context: &mut Context, _args: &Args) -> Result<Exit, CliError> {
    ask::ask(context, &Command::Pause)
}
