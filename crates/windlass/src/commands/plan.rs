//! `windlass plan`: what the factory would take, skip and write, without doing any of it.

use std::fmt::Write as _;

use windlass_core::id::IssueNumber;
use windlass_core::money::usd;
use windlass_core::task::branch_of;
use windlass_core::time::{Millis, Span};
use windlass_store::Store;

use crate::backlog::Backlog;
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::out::Style;
use crate::project::{Project, Tolerance};
use crate::text::{counted, fold, table};
use crate::view::{PLAN_SCHEMA, Plan, PlanCost, PlanLine, Stamp};

/// What an issue usually costs is read off those that ended this lately.
const LATELY: Span = Span::days(30);

/// Show what would be taken, skipped and written; nothing is changed, nothing is asked of a model
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:\n  windlass plan\n  windlass plan --json")]
pub struct Args {}

pub fn run(context: &mut Context, _args: &Args) -> Result<Exit, CliError> {
    let project = Project::find_with(context, Tolerance::None)?;
    let view = look(&project, windlass_engine::now())?;
    context.out.show(&view, |style| fold(style, &words(style, &view)))?;
    Ok(Exit::Ok)
}

fn look(project: &Project, now: Millis) -> Result<Plan, CliError> {
    let store = project.reader()?;
    let Backlog { issues, live, decision } = Backlog::look(project, &store, now, None)?;
    let line = |number: IssueNumber, says: String| PlanLine {
        issue: number.0,
        title: issues
            .iter()
            .find(|issue| issue.number == number)
            .map_or_else(String::new, |i| i.title.clone()),
        says,
    };
    let prefix = &project.config.dispatch.branch_prefix;
    let mut take = Vec::new();
    for &issue in &decision.take {
        let nth = store.count_tasks_of(issue)? + 1;
        take.push(line(issue, branch_of(prefix, issue, nth)));
    }
    let goes_on = live.iter().filter(|task| decision.grant.contains(&task.id));
    Ok(Plan {
        schema: PLAN_SCHEMA,
        at: Stamp(now),
        goes_on: goes_on.map(|task| line(task.issue, task.branch.clone())).collect(),
        skip: decision.skipped.iter().map(|(number, skip)| line(*number, skip.sentence())).collect(),
        writes: writes(project, take.len()),
        cost: cost(project, &store, now)?,
        take,
    })
}

fn writes(project: &Project, taken: usize) -> Vec<String> {
    if taken == 0 {
        return Vec::new();
    }
    let labels = &project.config.labels;
    vec![
        format!("{} in `{}`", counted(taken, "branch", "branches"), project.layout.repository().display()),
        format!(
            "labels such as `{}`, comments, and a change for each in the embedded forge",
            labels.in_progress
        ),
        format!("clones below `{}`", project.layout.workspaces().display()),
        format!(
            "`{}` only to commits that were tested and reviewed; nothing in your checkout",
            project.config.branch
        ),
    ]
}

fn cost(project: &Project, store: &dyn Store, now: Millis) -> Result<PlanCost, CliError> {
    let ended = store.ended_since(Millis(now.0 - LATELY.0))?;
    let mut costs: Vec<u64> = ended.iter().map(|task| task.value.tally.cost_micro_usd).collect();
    costs.sort_unstable();
    Ok(PlanCost {
        ended: costs.len(),
        usual_micro_usd: costs.get(costs.len() / 2).copied(),
        cap_per_issue_micro_usd: project.config.policy().caps.cost_micro_usd,
        estimated: true,
    })
}

fn words(style: Style, view: &Plan) -> String {
    let mut out = String::new();
    for (heading, lines) in [("go on", &view.goes_on), ("take", &view.take), ("skip", &view.skip)] {
        let rows: Vec<Vec<String>> = lines
            .iter()
            .map(|line| {
                let title = windlass_core::text::one_line(&line.title, 50);
                vec![style.bold(heading), format!("#{}", line.issue), title, line.says.clone()]
            })
            .collect();
        out.push_str(&table(style.uncut(), "", &rows));
    }
    if view.take.is_empty() && view.goes_on.is_empty() {
        writeln!(out, "nothing would be started").expect("a String takes all");
    }
    for write in &view.writes {
        writeln!(out, "{} {write}", style.bold("write")).expect("a String takes all");
    }
    let cap = usd(view.cost.cap_per_issue_micro_usd);
    let usual = match view.cost.usual_micro_usd {
        Some(usual) => {
            format!("${:.2} is usual, over {}", usd(usual), counted(view.cost.ended, "issue", "issues"))
        }
        None => "nothing has ended yet, so nothing is known".into(),
    };
    writeln!(out, "{} {usual}; an issue is abandoned at ${cap:.2}", style.bold("cost"))
        .expect("a String takes all");
    out
}
