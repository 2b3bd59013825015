//! `windlass queue`: what waits to land, what is tested for it, and a person's hand on it.

mod words;

use std::collections::BTreeMap;

use windlass_core::command::Command;
use windlass_core::id::{IssueNumber, TaskId};
use windlass_core::queue::Pause;
use windlass_core::task::{State, Task};
use windlass_core::time::Millis;
use windlass_store::Store;

use super::ask::ask;
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::project::Project;
use crate::text::fold;
use crate::train::{self, Train};
use crate::view::{Queue, QueueBuild, Stamp, TaskLine};

/// Show the merge queue, what it tests and what it waits for, or take a hand in it
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  windlass queue                          the train, the reasons, the last day
  windlass queue --json                   the same for programs (windlass.queue/1)
  windlass queue pause \"release day\"      nothing lands and nothing is tested for it
  windlass queue resume
  windlass queue front 12                 #12 lands before its turn
  windlass queue drop 12                  #12 leaves the queue and waits for your word

Exit codes: 3 there is no such issue, or nobody works on it; 7 refused, because it is not in the
queue or the queue is not paused; 8 the factory has not answered yet.")]
pub struct Args {
    #[command(subcommand)]
    order: Option<Order>,
}

#[derive(Debug, clap::Subcommand)]
enum Order {
    /// Land nothing and test nothing for the queue; its entries stay
    #[command(
        after_long_help = "Examples:\n  windlass queue pause\n  windlass queue pause \"release day\"\n\nIt stays paused over restarts, until somebody says `windlass queue resume`."
    )]
    Pause {
        /// Why, for whoever looks next
        #[arg(default_value = "no reason given")]
        reason: String,
    },
    /// Let the queue go on
    #[command(
        after_long_help = "Examples:\n  windlass queue resume\n\nMain is taken as it is then: whoever resumes the queue has seen why it stopped."
    )]
    Resume,
    /// Land this one before its turn
    #[command(
        after_long_help = "Examples:\n  windlass queue front 12\n\nWhile others wait, at most one landing in three goes before its turn."
    )]
    Front {
        /// The issue's number
        issue: u64,
    },
    /// Take this one out of the queue; its work is kept
    #[command(
        after_long_help = "Examples:\n  windlass queue drop 12\n  windlass tell 12 \"go on\"       sends it on\n  windlass abandon 12            ends it"
    )]
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
    let view = look(&project, &store, windlass_engine::now())?;
    context.out.show(&view, |style| fold(style, &words::words(style, &view)))?;
    Ok(Exit::Ok)
}

pub fn look(project: &Project, store: &dyn Store, now: Millis) -> Result<Queue, CliError> {
    let policy = project.config.policy();
    let tasks = store.live_tasks()?.into_iter().map(|task| (task.value.id.clone(), task.value));
    let tasks: BTreeMap<TaskId, Task> = tasks.collect();
    let train = Train::look(project, store, tasks.values(), now)?;
    let entries = train.entries(project, &tasks);
    let mut behind: Vec<&Task> = tasks.values().filter(|task| is_on_its_way(task)).collect();
    behind.sort_by_key(|task| task.since);
    let builds = store.open_builds()?;
    let builds = builds.iter().map(|build| QueueBuild { task: build.task.to_string(), build: build.into() });
    Ok(Queue {
        schema: crate::view::QUEUE_SCHEMA,
        at: Stamp(now),
        branch: project.config.branch.clone(),
        main: train.main.clone(),
        paused: train.pause.as_ref().map(Pause::sentence),
        pause: train.pause.as_ref().map(train::pause_view),
        oldest_since: entries.iter().map(|entry| entry.line.since).min_by_key(|since| since.0),
        entries,
        tests: train.all_tests(),
        builds: builds.collect(),
        behind: behind.into_iter().map(|task| TaskLine::of(&policy, task)).collect(),
        day: train::day(store, now)?,
        alarm_after_ms: policy.queue.alarm.0,
        alarms: train::alarms(&train::memory(store)?, &tasks),
        slots: train.slots(),
        flaky: train.flaky(),
        policy: policy.queue.policy.word(),
        history: policy.queue.history.word(),
    })
}

fn is_on_its_way(task: &Task) -> bool {
    match task.state {
        State::AwaitingCi { .. } | State::AwaitingCritic { .. } => true,
        State::Queued { .. }
        | State::Dispatched
        | State::Running { .. }
        | State::AwaitingSlot { .. }
        | State::Revising { .. }
        | State::AwaitingHuman { .. }
        | State::Limited { .. }
        | State::HandingOff { .. }
        | State::Merged { .. }
        | State::Closed { .. }
        | State::Abandoned { .. } => false,
    }
}
