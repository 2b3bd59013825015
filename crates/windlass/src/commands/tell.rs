//! `windlass tell`: says something to the session of an issue, or answers its question.

use windlass_core::command::Command;
use windlass_core::id::IssueNumber;

use super::ask;
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;

/// Say something to the agent of an issue, or answer its question
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:\n  windlass tell 12 \"use the retry helper in src/net.rs\"")]
pub struct Args {
    /// The issue's number
    issue: u64,
    /// What to say
    #[arg(required = true, allow_hyphen_values = true)]
    text: String,
}

pub fn run(context: &mut Context, args: &Args) -> Result<Exit, CliError> {
    if args.text.trim().is_empty() {
        return Err(CliError::new("invalid", Exit::Usage, "there is nothing to say")
            .next(format!("windlass tell {} \"…\"", args.issue)));
    }
    ask::ask(context, &Command::Tell { issue: IssueNumber(args.issue), text: args.text.clone() })
}
