//! `windlass inbox`: everything that waits for a person, the nearest deadline first.

use windlass_core::text::one_line;
use windlass_core::time::Millis;

use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::needs;
use crate::out::Style;
use crate::project::Project;
use crate::text::{age, fold, from_now};
use crate::view::{INBOX_SCHEMA, Inbox, InboxItem, Stamp};

/// List what waits for you: questions, abandoned work, trouble
#[derive(Debug, clap::Args)]
#[command(
    after_long_help = "Examples:\n  windlass inbox\n  windlass tell 12 \"use ISO dates\"\n  windlass inbox --json"
)]
pub struct Args {}

pub fn run(context: &mut Context, _args: &Args) -> Result<Exit, CliError> {
    let project = Project::find(context)?;
    let store = project.reader()?;
    let now = windlass_engine::now();
    let items = needs::look(&project, &store, now)?;
    let view = Inbox { schema: INBOX_SCHEMA, at: Stamp(now), items };
    let words = |style| view.items.iter().map(|item| words(style, now, item)).collect::<String>();
    context.out.show(&view, |style| fold(style, &words(style)))?;
    if view.items.is_empty() {
        context.out.talk("nothing waits for you");
    }
    Ok(Exit::Ok)
}

fn words(style: Style, now: Millis, item: &InboxItem) -> String {
    let issue = item.issue.map_or_else(String::new, |issue| format!("#{issue} "));
    let since = item.since.map_or_else(String::new, |at| format!(", {} ago", age(now, at.0)));
    let title = style.bold(&one_line(&item.title, 60));
    let mut out = format!("{issue}{title} ({}{since})\n  {}\n", item.kind, one_line(&item.text, 400));
    if let (Some(at), Some(otherwise)) = (&item.deadline, &item.otherwise) {
        out.push_str(&format!("  {}: {otherwise}\n", from_now(now, at.0)));
    }
    out.push_str(&format!("  -> {}\n", item.next));
    out
}
