//! `windlass label`: puts labels on an issue and takes them off.

use windlass_adapters::forge::Forge;
use windlass_core::id::IssueNumber;

use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::project::Project;
use crate::view::Reply;

/// Put labels on an issue (+name) and take them off (-name)
#[derive(Debug, clap::Args)]
#[command(
    after_long_help = "Examples:\n  windlass label 12 +priority\n  windlass label 12 +backlog -blocked"
)]
pub struct Args {
    /// The issue's number
    issue: u64,
    /// +name puts a label on, -name takes it off
    #[arg(required = true, num_args = 1.., allow_hyphen_values = true, value_name = "+LABEL|-LABEL")]
    labels: Vec<String>,
}

pub fn run(context: &mut Context, args: &Args) -> Result<Exit, CliError> {
    let (mut add, mut remove) = (Vec::new(), Vec::new());
    for label in &args.labels {
        match (label.strip_prefix('+'), label.strip_prefix('-')) {
            (Some(name), _) if !name.is_empty() => add.push(name),
            (_, Some(name)) if !name.is_empty() => remove.push(name),
            (_, _) => return Err(neither(label)),
        }
    }
    let project = Project::find(context)?;
    let forge = project.forge()?;
    let (issue, now) = (IssueNumber(args.issue), windlass_engine::now());
    forge.issue(issue)?;
    let what = format!("put [{}] on {issue} and take [{}] off", add.join(", "), remove.join(", "));
    if let Some(exit) = context.would(what, Some(args.issue))? {
        return Ok(exit);
    }
    if !add.is_empty() {
        forge.add_labels(issue, &add, now)?;
    }
    for name in remove {
        forge.remove_label(issue, name, now)?;
    }
    project.knock()?;
    let labels = forge.issue(issue)?.labels.join(", ");
    let view = Reply::new(format!("labels: {labels}"), Some(args.issue));
    context.out.show(&view, |_| format!("{issue}: {labels}\n"))?;
    Ok(Exit::Ok)
}

fn neither(label: &str) -> CliError {
    let name = label.trim_start_matches(['+', '-']);
    let name = if name.is_empty() { "name" } else { name };
    CliError::new("usage", Exit::Usage, format!("`{label}` is neither `+name` nor `-name`"))
        .next(format!("windlass label N +{name}"))
}
