//! `windlass queue`: what waits to land, what is tested for it, and a person's hand on it.

use std::fmt::Write as _;

use windlass_adapters::git::{BareRepo, Git};
use windlass_core::command::Command;
use windlass_core::id::IssueNumber;
use windlass_core::queue::{PAUSED_KEY, Pause};
use windlass_core::task::State;
use windlass_core::text::one_line;
use windlass_core::time::Millis;
use windlass_store::Store;

use super::ask::ask;
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::out::Style;
use crate::project::Project;
use crate::text::{age, table};
use crate::view::{Queue, QueueBuild, TaskLine};

/// Show the merge queue and the builds that wait or run, or take a hand in it
#[derive(Debug, clap::Args)]
#[command(
    after_long_help = "Examples:\n  windlass queue\n  windlass queue --json\n  windlass queue pause \"release day\"\n  windlass queue front 12"
)]
pub struct Args {
    #[command(subcommand)]
    order: Option<Order>,
}

#[derive(Debug, clap::Subcommand)]
enum Order {
    /// Land nothing and test nothing for the queue; its entries stay
    Pause {
        /// Why, for whoever looks next
        #[arg(default_value = "no reason given")]
        reason: String,
    },
    /// Let the queue go on
    Resume,
    /// Land this one before its turn
    Front {
        /// The issue's number
        issue: u64,
    },
    /// Take this one out of the queue; its work is kept
    Drop {
        /// The issue's number
        issue: u64,
    },
}

pub fn run(context: &mut Context, args: &Args) -> Result<Exit, CliError> {
    match &args.order {
        None => show(context),
        Some(Order::Pause { reason }) => ask(context, &Command::QueuePause { reason: reason.clone() }),
        Some(Order::Resume) => ask(context, &Command::QueueResume),
        Some(Order::Front { issue }) => ask(context, &Command::QueueFront { issue: IssueNumber(*issue) }),
        Some(Order::Drop { issue }) => ask(context, &Command::QueueDrop { issue: IssueNumber(*issue) }),
    }
}

fn show(context: &mut Context) -> Result<Exit, CliError> {
    let project = Project::find(context)?;
    let store = project.reader()?;
    let view = look(&project, &store)?;
    let now = windlass_engine::now();
    context.out.show(&view, |style| words(style, now, &view))?;
    Ok(Exit::Ok)
}

fn look(project: &Project, store: &dyn Store) -> Result<Queue, CliError> {
    let policy = project.config.policy();
    let repo = BareRepo::open(&Git::new(project.search_path()), &project.layout.repository())?;
    let (mut entries, mut behind) = (Vec::new(), Vec::new());
    for task in store.live_tasks()? {
        let line = TaskLine::of(&policy, &task.value);
        match task.value.state {
            State::Queued { .. } => entries.push(line),
            State::AwaitingCi { .. } | State::AwaitingCritic { .. } => behind.push(line),
            State::Dispatched
            | State::Running { .. }
            | State::AwaitingSlot { .. }
            | State::Revising { .. }
            | State::AwaitingHuman { .. }
            | State::Limited { .. }
            | State::HandingOff { .. }
            | State::Merged { .. }
            | State::Closed { .. }
            | State::Abandoned { .. } => {}
        }
    }
    entries.sort_by_key(|line| line.since.0);
    let builds = store.open_builds()?;
    let builds = builds.iter().map(|build| QueueBuild { task: build.task.to_string(), build: build.into() });
    Ok(Queue {
        schema: crate::view::QUEUE_SCHEMA,
        branch: project.config.branch.clone(),
        main: repo.main_tip(&project.config.branch)?.to_string(),
        paused: store.control(PAUSED_KEY)?.map(|text| Pause::stored(&text).sentence()),
        entries,
        builds: builds.collect(),
        behind,
    })
}

fn words(style: Style, now: Millis, view: &Queue) -> String {
    let main = view.main.get(..10).unwrap_or(&view.main);
    let mut out = format!("{} {main}\n", style.bold(&view.branch));
    if let Some(reason) = &view.paused {
        let stopped = style.red("STOPPED");
        writeln!(out, "{stopped}: {}          -> windlass queue resume", one_line(reason, 300))
            .expect("a String takes all");
    }
    let row = |line: &TaskLine| {
        vec![
            format!("#{}", line.issue),
            one_line(&line.title, 50),
            line.state.clone(),
            age(now, line.since.0),
            one_line(&line.says, 80),
        ]
    };
    for (heading, lines) in [("QUEUE", &view.entries), ("NOT APPROVED YET", &view.behind)] {
        writeln!(out, "{} {}", style.bold(heading), lines.len()).expect("a String takes all");
        out.push_str(&table("  ", &lines.iter().map(row).collect::<Vec<_>>()));
    }
    let build = |build: &QueueBuild| {
        let since = build.build.started_at.unwrap_or(build.build.queued_at);
        vec![
            build.build.id.clone(),
            build.task.clone(),
            build.build.lane.clone(),
            build.build.status.clone(),
            age(now, since.0),
        ]
    };
    writeln!(out, "{} {}", style.bold("BUILDS"), view.builds.len()).expect("a String takes all");
    out.push_str(&table("  ", &view.builds.iter().map(build).collect::<Vec<_>>()));
    out
}
