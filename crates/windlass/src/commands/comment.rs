//! `windlass comment`: writes below an issue.

use windlass_adapters::forge::Forge;
use windlass_core::id::{EffectKey, IssueNumber};

use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::project::Project;
use crate::view::Reply;

/// Write a comment below an issue
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:\n  windlass comment 12 \"seen again on Monday\"")]
pub struct Args {
    /// The issue's number
    issue: u64,
    /// What to write
    #[arg(allow_hyphen_values = true)]
    text: String,
}

pub fn run(context: &mut Context, args: &Args) -> Result<Exit, CliError> {
    if args.text.trim().is_empty() {
        return Err(CliError::new("invalid", Exit::Usage, "there is nothing to write")
            .next(format!("windlass comment {} \"…\"", args.issue)));
    }
    let project = Project::find(context)?;
    project.forge()?.issue(IssueNumber(args.issue))?;
    if let Some(exit) = context.would(format!("comment on #{}", args.issue), Some(args.issue))? {
        return Ok(exit);
    }
    let now = windlass_engine::now();
    // A person who says the same twice means it: the key is new each time.
    let key = EffectKey::new(format!("person:{}:{}", now.0, std::process::id()));
    project.forge()?.comment(IssueNumber(args.issue), &key, &args.text, now)?;
    project.knock()?;
    let view = Reply::new("commented", Some(args.issue));
    context.out.show(&view, |_| format!("#{}: commented\n", args.issue))?;
    Ok(Exit::Ok)
}
