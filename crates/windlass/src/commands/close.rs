//! `windlass close`: closes an issue; the factory stops working on it.

use windlass_adapters::forge::Forge;
use windlass_core::id::IssueNumber;

use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::project::Project;
use crate::view::Reply;

/// Close an issue; work on it stops and is kept
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:\n  windlass close 12")]
pub struct Args {
    /// The issue's number
    issue: u64,
}

pub fn run(context: &mut Context, args: &Args) -> Result<Exit, CliError> {
    let project = Project::find(context)?;
    project.forge()?.issue(IssueNumber(args.issue))?;
    if let Some(exit) = context.would(format!("close #{}", args.issue), Some(args.issue))? {
        return Ok(exit);
    }
    project.forge()?.close_issue(IssueNumber(args.issue), windlass_engine::now())?;
    project.knock()?;
    let view = Reply::new("closed", Some(args.issue));
    context.out.show(&view, |_| format!("#{}: closed\n", args.issue))?;
    Ok(Exit::Ok)
}
