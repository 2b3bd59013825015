//! `windlass retry`: asks the factory.

use windlass_core::command::Command;
use windlass_core::id::IssueNumber;

use super::ask;
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;

/// Try an abandoned issue again, with everything it used up forgotten
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:\n  windlass retry 12")]
pub struct Args {
    /// The issue's number
    issue: u64,
}

pub fn run(context: &mut Context, args: &Args) -> Result<Exit, CliError> {
    ask::ask(context, &Command::Retry { issue: IssueNumber(args.issue) })
}
