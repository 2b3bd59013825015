//! `windlass status`: the factory at a glance, what needs a person first. Asks only what an index answers.

mod words;

use std::collections::BTreeMap;

use windlass_core::id::TaskId;
use windlass_core::task::{State, Task};
use windlass_core::time::Millis;
use windlass_store::{EventQuery, Store, UsageQuery};

use crate::context::Context;
use crate::daemon::{self, Daemon};
use crate::error::CliError;
use crate::exit::Exit;
use crate::project::Project;
use crate::train;
use crate::view::{DaemonView, Stamp, Status, TaskLine, Today, Working};

const DAY: i64 = 86_400_000;
/// Under this key the daemon keeps a person's wish to pause.
const PAUSED: &str = "paused";

/// Show what needs you, who works, what waits and what was done today
#[derive(Debug, clap::Args)]
#[command(
    after_long_help = "Examples:\n  windlass status\n  watch -n 2 windlass status\n  windlass status --json"
)]
pub struct Args {}

pub fn run(context: &mut Context, _args: &Args) -> Result<Exit, CliError> {
    let project = Project::find(context)?;
    let store = project.reader()?;
    let view = look(&project, &store, windlass_engine::now())?;
    context.out.show(&view, |style| words::words(style, &view))?;
    Ok(Exit::Ok)
}

pub fn look(project: &Project, store: &dyn Store, now: Millis) -> Result<Status, CliError> {
    let policy = project.config.policy();
    let (mut needs_you, mut working, mut waiting) = (Vec::new(), Vec::new(), Vec::new());
    let mut queued: BTreeMap<TaskId, Task> = BTreeMap::new();
    for task in store.live_tasks()? {
        let task = task.value;
        let line = TaskLine::of(&policy, &task);
        match &task.state {
            State::AwaitingHuman { .. } => needs_you.push(line),
            State::Queued { .. } => drop(queued.insert(task.id.clone(), task)),
            State::Dispatched | State::Running { .. } | State::Revising { .. } | State::HandingOff { .. } => {
                working.push(line);
            }
            State::AwaitingCi { .. }
            | State::AwaitingCritic { .. }
            | State::AwaitingSlot { .. }
            | State::Limited { .. } => waiting.push(line),
            // The list has only live tasks.
            State::Merged { .. } | State::Closed { .. } | State::Abandoned { .. } => {}
        }
    }
    let memory = train::memory(store)?;
    let ordered = train::ordered(&memory, &queued);
    let queue = ordered.iter().filter_map(|id| Some(TaskLine::of(&policy, queued.get(id)?)));
    Ok(Status {
        schema: crate::view::STATUS_SCHEMA,
        at: Stamp(now),
        project: project.name(),
        branch: project.config.branch.clone(),
        state_dir: project.layout.state().display().to_string(),
        daemon: look_at_daemon(project, store)?,
        paused: store.control(PAUSED)?.is_some(),
        needs_you,
        working: Working { slots: policy.parallel, tasks: working },
        waiting,
        queue: queue.collect(),
        queue_paused: train::pause(store)?.as_ref().map(train::pause_view),
        alarms: train::alarms(&memory, &queued),
        today: today(store, now)?,
        commands_waiting: store.waiting_commands()?.len(),
    })
}

fn look_at_daemon(project: &Project, store: &dyn Store) -> Result<DaemonView, CliError> {
    let state = project.layout.state();
    let newest = |kinds: &[&str]| -> Result<Option<Millis>, CliError> {
        let kinds = kinds.iter().map(|kind| (*kind).to_owned()).collect();
        let query = EventQuery { kinds, limit: Some(1), newest_first: true, ..EventQuery::default() };
        Ok(store.events(&query)?.first().map(|event| event.entry.at))
    };
    let (word, pid) = match daemon::look(state)? {
        Daemon::Up { pid } => ("up", pid),
        Daemon::Down => ("down", None),
        Daemon::Unknown => ("unknown", None),
    };
    let started_at = if word == "up" { newest(&["daemon_started"])? } else { None };
    let stopped_by = std::fs::read_to_string(project.layout.down_mark()).ok();
    Ok(DaemonView {
        state: word,
        pid,
        started_at: started_at.map(Stamp),
        last_event_at: newest(&[])?.map(Stamp),
        stopped_by: stopped_by.map(|text| windlass_core::text::one_line(&text, 100)),
    })
}

fn today(store: &dyn Store, now: Millis) -> Result<Today, CliError> {
    let midnight = Millis(now.0 - now.0.rem_euclid(DAY));
    let ended = store.ended_since(midnight)?;
    let count = |is: fn(&Task) -> bool| ended.iter().filter(|task| is(&task.value)).count();
    Ok(Today {
        merged: count(|task| matches!(task.state, State::Merged { .. })),
        closed: count(|task| matches!(task.state, State::Closed { .. })),
        abandoned: count(|task| matches!(task.state, State::Abandoned { .. })),
        cost_micro_usd: store.cost(&UsageQuery { issue: None, since: Some(midnight) })?,
        estimated: true,
    })
}
