//! `windlass issues`: lists issues with the state of their tasks.

use windlass_adapters::forge::{Forge, IssueFilter, IssueQuery, every};
use windlass_core::text::one_line;
use windlass_store::Store;

use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::out::Style;
use crate::project::{self, Project};
use crate::text;
use crate::view::{IssueLine, Issues};

/// List issues and where each stands
#[derive(Debug, clap::Args)]
#[command(
    after_long_help = "Examples:\n  windlass issues\n  windlass issues --label priority\n  windlass issues --all --json"
)]
pub struct Args {
    /// Closed issues too
    #[arg(long)]
    all: bool,
    /// Only issues with this label; may be given several times
    #[arg(long = "label", value_name = "LABEL")]
    labels: Vec<String>,
}

pub fn run(context: &mut Context, args: &Args) -> Result<Exit, CliError> {
    let project = Project::find(context)?;
    let filter = if args.all { IssueFilter::All } else { IssueFilter::Open };
    let query = IssueQuery { filter, labels: args.labels.clone(), updated_since: None };
    let issues = list(&project, &project.reader()?, &query)?;
    let view = Issues { schema: crate::view::ISSUES_SCHEMA, issues };
    context.out.show(&view, |style| text::table(style, "", &rows(style, &view.issues)))?;
    if view.issues.is_empty() {
        context.out.talk("no issues; windlass new \"…\" writes one");
    }
    Ok(Exit::Ok)
}

pub fn list(project: &Project, store: &dyn Store, query: &IssueQuery) -> Result<Vec<IssueLine>, CliError> {
    let forge = project.forge()?;
    let mut issues = Vec::new();
    for issue in every(|from| forge.issues(query, from))? {
        let task = project::task_of(store, issue.number)?;
        issues.push(IssueLine::of(&issue, task.as_ref().map(|task| task.state.name())));
    }
    Ok(issues)
}

pub fn rows(style: Style, issues: &[IssueLine]) -> Vec<Vec<String>> {
    let row = |issue: &IssueLine| {
        let state = match (&issue.state, issue.open) {
            (Some(state), _) => state.clone(),
            (None, true) => "-".into(),
            (None, false) => "closed".into(),
        };
        vec![
            style.bold(&format!("#{}", issue.number)),
            state,
            one_line(&issue.title, 60),
            style.faint(&one_line(&issue.labels.join(" "), 60)),
        ]
    };
    issues.iter().map(row).collect()
}
