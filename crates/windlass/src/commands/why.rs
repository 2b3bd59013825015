//! `windlass why`: why an issue is where it is, and what would bring it on.

mod crashes;
mod next;
mod queued;

pub use next::of_task;

use std::fmt::Write as _;

use windlass_adapters::forge::{Forge, ForgeError};
use windlass_core::deps::{self, Dependencies};
use windlass_core::forge::Issue;
use windlass_core::id::IssueNumber;
use windlass_core::journal::{Fact, FactoryFact};
use windlass_core::schedule::Skip;
use windlass_core::text::one_line;
use windlass_core::time::Millis;
use windlass_store::{EventQuery, LoggedEvent, Store};

use super::agents;
use crate::backlog::{self, Backlog};
use crate::context::Context;
use crate::daemon::{self, Daemon};
use crate::error::CliError;
use crate::exit::Exit;
use crate::out::Style;
use crate::project::{self, Project};
use crate::text::{age, clock, fold, from_now};
use crate::view::{Moved, Stamp, Why};

const MOVES: usize = 8;

/// Say why an issue is where it is, and what would bring it on
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:\n  windlass why 12")]
pub struct Args {
    /// The issue's number
    issue: u64,
}

pub fn run(context: &mut Context, args: &Args) -> Result<Exit, CliError> {
    let project = Project::find(context)?;
    let view = look(&project, IssueNumber(args.issue))?;
    let now = windlass_engine::now();
    context.out.show(&view, |style| fold(style, &words(style, now, &view)))?;
    Ok(Exit::Ok)
}

pub fn look(project: &Project, number: IssueNumber) -> Result<Why, CliError> {
    look_with(project, number, daemon::look(project.layout.state())?)
}

/// As `look`, with a factory that is up, or down, or about to be started.
pub fn look_with(project: &Project, number: IssueNumber, daemon: Daemon) -> Result<Why, CliError> {
    let (forge, store) = (project.forge()?, project.reader()?);
    let issue = forge.issue(number)?;
    let task = project::task_of(&store, number)?;
    let decision = store.decision(number)?;
    let waits = !issue.has_label(&project.config.labels.ignore_deps);
    let waits_for = if waits { open_dependencies(&forge, &issue)? } else { Vec::new() };
    let queue = queued::entry(project, &store, task.as_ref())?;
    let skip = match &task {
        Some(_) => None,
        None => {
            Backlog::look(project, &store, windlass_engine::now(), None)?.decision.skipped.remove(&number)
        }
    };
    let situation = next::Situation {
        issue: &issue,
        task: task.as_ref(),
        waits_for: &waits_for,
        skip: skip.as_ref(),
        daemon,
        hold: backlog::hold(project, &store)?,
        labels: &project.config.labels,
        queue: queue.as_ref(),
    };
    let next = next::next(&situation);
    Ok(Why {
        schema: crate::view::WHY_SCHEMA,
        issue: number.0,
        title: issue.title.clone(),
        open: issue.open,
        labels: issue.labels.clone(),
        task: match &task {
            Some(task) => Some(agents::task_line(project, &store, daemon, task, windlass_engine::now())?),
            None => None,
        },
        decided_at: decision.as_ref().map(|decision| Stamp(decision.at)),
        decision: decision.map(|decision| decision.text),
        waits_for: waits_for.iter().map(|issue| issue.0).collect(),
        held: skip.as_ref().map(Skip::sentence),
        moves: moves(&store, number)?,
        crashes: crashes::of(&store, number, task.as_ref())?,
        queue,
        next,
    })
}

fn open_dependencies(forge: &dyn Forge, issue: &Issue) -> Result<Vec<IssueNumber>, CliError> {
    let Dependencies::On(wanted) = deps::parse(&issue.body) else { return Ok(Vec::new()) };
    let mut open = Vec::new();
    for number in wanted {
        match forge.issue(number) {
            Ok(other) if other.open => open.push(number),
            Ok(_) => {}
            // An issue that does not exist will never be closed.
            Err(ForgeError::NotFound(_)) => open.push(number),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(open)
}

fn moves(store: &dyn Store, issue: IssueNumber) -> Result<Vec<Moved>, CliError> {
    let query = EventQuery {
        issue: Some(issue),
        kinds: vec!["task_moved".into()],
        limit: Some(MOVES),
        newest_first: true,
        ..EventQuery::default()
    };
    Ok(store.events(&query)?.iter().filter_map(moved).collect())
}

fn moved(event: &LoggedEvent) -> Option<Moved> {
    let Fact::Factory(FactoryFact::TaskMoved { from, to, reason, session }) = &event.entry.fact else {
        return None;
    };
    Some(Moved {
        at: Stamp(event.entry.at),
        from: from.clone(),
        to: to.clone(),
        reason: reason.clone(),
        session: session.to_string(),
    })
}

pub fn words(style: Style, now: Millis, view: &Why) -> String {
    let head = format!("#{} {}", view.issue, one_line(&view.title, 100));
    let mut out = format!("{}\n", style.bold(&head));
    let mut line = |key: &str, words: &str| {
        writeln!(out, "  {key:<9} {words}").expect("writing to a String cannot fail");
    };
    match &view.task {
        Some(task) => {
            let since = age(now, task.since.0);
            line("state", &format!("{} for {since}: {}", task.state, one_line(&task.says, 200)));
            if let Some(deadline) = &task.deadline {
                line("then", &format!("{} {}", deadline.what, from_now(now, deadline.at.0)));
            }
        }
        None => line("state", if view.open { "open, no task yet" } else { "closed, no task" }),
    }
    if let (Some(decision), Some(at)) = (&view.decision, view.decided_at) {
        line("decision", &format!("{} ({} ago)", one_line(decision, 300), age(now, at.0)));
    }
    if let Some(held) = &view.held {
        line("held", held);
    }
    if !view.waits_for.is_empty() {
        let numbers: Vec<String> = view.waits_for.iter().map(|issue| format!("#{issue}")).collect();
        line("waits for", &numbers.join(" "));
    }
    for (key, text) in view.queue.iter().flat_map(|entry| queued::lines(now, entry)) {
        line(key, &text);
    }
    for crash in &view.crashes {
        line("crash", &crashes::line(crash));
    }
    for moved in &view.moves {
        line("moved", &format!("{}  {} -> {} ({})", clock(moved.at.0), moved.from, moved.to, moved.reason));
    }
    for next in &view.next {
        line("next", next);
    }
    out
}
