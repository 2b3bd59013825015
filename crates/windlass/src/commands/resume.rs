//! `windlass resume`: asks the factory.

use windlass_core::command::Command;

use super::ask;
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;

/// Take work again after a pause
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:\n  windlass resume")]
pub struct Args {}

pub fn run(context: &mut Context, _args: &Args) -> Result<Exit, CliError> {
    ask::ask(context, &Command::Resume)
}
