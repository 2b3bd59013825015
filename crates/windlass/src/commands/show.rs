//! `windlass show`: everything about one issue.

use std::fmt::Write as _;

use windlass_adapters::forge::{Forge, every};
use windlass_core::id::IssueNumber;
use windlass_core::task::Task;
use windlass_core::text::{clean, one_line};
use windlass_store::Store;

use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::out::Style;
use crate::project::{self, Project};
use crate::text;
use crate::view::{BuildLine, CommentView, IssueLine, ReviewView, Show, TaskView};

/// Show an issue with its task, change, reviews, builds and comments
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:\n  windlass show 12\n  windlass show 12 --json")]
pub struct Args {
    /// The issue's number
    issue: u64,
}

pub fn run(context: &mut Context, args: &Args) -> Result<Exit, CliError> {
    let project = Project::find(context)?;
    let view = look(&project, IssueNumber(args.issue))?;
    context.out.show(&view, |style| words(style, &view))?;
    Ok(Exit::Ok)
}

fn look(project: &Project, number: IssueNumber) -> Result<Show, CliError> {
    let (forge, store) = (project.forge()?, project.reader()?);
    let issue = forge.issue(number)?;
    let comments = every(|from| forge.comments(number, from))?;
    let task = project::task_of(&store, number)?;
    let change = match task.as_ref().and_then(|task| task.change) {
        Some(number) => Some(forge.change(number)?),
        None => None,
    };
    let reviews = match &change {
        Some(change) => forge.reviews(change.number)?,
        None => Vec::new(),
    };
    let policy = project.config.policy();
    Ok(Show {
        schema: crate::view::ISSUE_SCHEMA,
        issue: IssueLine::of(&issue, task.as_ref().map(|task| task.state.name())),
        body: issue.body,
        findings: task.as_ref().map(|task| task.findings.clone()).unwrap_or_default(),
        builds: task.as_ref().map_or(Ok(Vec::new()), |task| builds(&store, task))?,
        task: task.as_ref().map(|task| TaskView::of(&policy, task)),
        change: change.as_ref().map(Into::into),
        reviews: reviews.iter().map(Into::into).collect(),
        comments: comments.iter().map(Into::into).collect(),
    })
}

fn builds(store: &dyn Store, task: &Task) -> Result<Vec<BuildLine>, CliError> {
    Ok(store.builds_of(&task.id)?.iter().map(BuildLine::from).collect())
}

fn words(style: Style, view: &Show) -> String {
    let issue = &view.issue;
    let head = format!("#{} {}", issue.number, one_line(&issue.title, 200));
    let open = if issue.open { "open" } else { "closed" };
    let labels = one_line(&issue.labels.join(" "), 200);
    let labels = if labels.is_empty() { "no labels" } else { &labels };
    let mut out = format!("{}\n{open} · by {} · {labels}\n", style.bold(&head), one_line(&issue.author, 60));
    add(&mut out, "", &view.body);
    if let Some(task) = &view.task {
        heading(&mut out, style, "task");
        out.push_str(&text::table(style, "  ", &rows(task)));
    }
    if let Some(change) = &view.change {
        heading(&mut out, style, "change");
        let head = change.head.get(..10).unwrap_or(&change.head);
        line(&mut out, &format!("!{} {} · {} · head {head}", change.number, change.state, change.branch));
    }
    if !view.builds.is_empty() {
        heading(&mut out, style, "builds");
        out.push_str(&text::table(style, "  ", &view.builds.iter().map(build_row).collect::<Vec<_>>()));
    }
    reviews(&mut out, style, &view.reviews);
    if !view.findings.is_empty() {
        heading(&mut out, style, "findings");
        for finding in &view.findings {
            let status = format!("{:?}", finding.status).to_lowercase();
            let place = finding.file.as_deref().unwrap_or("-");
            let message = one_line(&finding.message, 160);
            line(&mut out, &format!("{} {status} {}: {message}", finding.id, one_line(place, 80)));
        }
    }
    comments(&mut out, style, &view.comments);
    out
}

fn rows(task: &TaskView) -> Vec<Vec<String>> {
    let row = |key: &str, value: String| vec![key.to_owned(), value];
    let line = &task.line;
    vec![
        row(
            "state",
            format!("{} since {}: {}", line.state, text::clock(line.since.0), one_line(&line.says, 200)),
        ),
        row("session", format!("{} (session {} of the task)", line.session, task.sessions)),
        row("branch", task.branch.clone()),
        row("used", {
            let active = windlass_core::time::Span(task.active_ms);
            let (fixes, rounds) = (task.ci_fixes, task.critic_rounds);
            format!(
                "{active} active · {fixes} CI fixes · {rounds} critic rounds · {} restarts",
                task.restarts
            )
        }),
    ]
}

fn build_row(build: &BuildLine) -> Vec<String> {
    let detail = match &build.why {
        Some(why) => one_line(why, 120),
        None => one_line(&build.failing.join(", "), 120),
    };
    vec![build.id.clone(), build.lane.clone(), build.status.clone(), text::clock(build.queued_at.0), detail]
}

fn reviews(out: &mut String, style: Style, reviews: &[ReviewView]) {
    for review in reviews {
        let head = review.head.get(..10).unwrap_or(&review.head);
        heading(
            out,
            style,
            &format!("review by {}: {} on {head}", one_line(&review.author, 60), review.decision),
        );
        add(out, "  ", &review.body);
    }
}

fn comments(out: &mut String, style: Style, comments: &[CommentView]) {
    for comment in comments {
        let at = text::clock(comment.created_at.0);
        heading(out, style, &format!("comment by {} at {at}", one_line(&comment.author, 60)));
        add(out, "  ", &comment.body);
    }
}

fn heading(out: &mut String, style: Style, words: &str) {
    write!(out, "\n{}\n", style.bold(words)).expect("writing to a String cannot fail");
}

fn line(out: &mut String, words: &str) {
    writeln!(out, "  {words}").expect("writing to a String cannot fail");
}

/// Somebody's text, without anything that could steer a terminal.
fn add(out: &mut String, indent: &str, text: &str) {
    if !text.trim().is_empty() && indent.is_empty() {
        out.push('\n');
    }
    for line in clean(text).trim_end().lines() {
        writeln!(out, "{indent}{line}").expect("writing to a String cannot fail");
    }
}
