//! `windlass pause`: asks the factory.

use windlass_core::command::Command;

use super::ask;
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;

/// Start nothing new; what runs goes on
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  windlass pause
  windlass pause --reason \"release day\"      `status`, `why`, `plan` and `top` say so

It stays paused over restarts, until somebody says `windlass resume`.")]
pub struct Args {
    /// Why, for whoever looks next
    #[arg(long, value_name = "TEXT", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    reason: Option<String>,
}

pub fn run(context: &mut Context, args: &Args) -> Result<Exit, CliError> {
    ask::ask(context, &Command::Pause { reason: args.reason.clone() })
}
