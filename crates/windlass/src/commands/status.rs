//! `windlass status`: the factory at a glance, what needs a person first. Cheap enough to be watched.

mod words;

pub use words::why_paused;

use std::collections::BTreeMap;

use windlass_core::id::TaskId;
use windlass_core::journal::{Fact, FactoryFact};
use windlass_core::task::{State, Task};
use windlass_core::time::Millis;
use windlass_engine::{CONFIG_TROUBLE, ConfigTrouble, room};
use windlass_store::{EventQuery, Store, UsageQuery};

use super::agents;
use crate::backlog::{self, Backlog};
use crate::config::ProjectFile;
use crate::context::Context;
use crate::daemon::{self, Daemon};
use crate::error::CliError;
use crate::exit::Exit;
use crate::needs;
use crate::project::Project;
use crate::train;
use crate::view::{ConfigState, DaemonView, Host, Stamp, Status, TaskLine, Today, Working};

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
    let daemon = daemon::look(project.layout.state())?;
    for task in store.live_tasks()? {
        let task = task.value;
        let line = agents::task_line(project, store, daemon, &task, now)?;
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
    let pause = backlog::pause(store)?;
    let memory = train::memory(store)?;
    let ordered = train::ordered(&memory, &queued);
    let queue = ordered.iter().filter_map(|id| Some(TaskLine::of(&policy, queued.get(id)?)));
    Ok(Status {
        schema: crate::view::STATUS_SCHEMA,
        at: Stamp(now),
        project: project.name(),
        branch: project.config.branch.clone(),
        state_dir: project.layout.state().display().to_string(),
        daemon: look_at_daemon(project, store, daemon)?,
        paused: pause.is_some(),
        paused_since: if pause.is_some() { newest(store, &["paused"])?.map(Stamp) } else { None },
        paused_reason: pause.and_then(|pause| pause.reason),
        needs_you,
        inbox: needs::look(project, store, now)?,
        working: Working { slots: policy.parallel, tasks: working },
        waiting,
        queue: queue.collect(),
        queue_paused: train::pause(store)?.as_ref().map(train::pause_view),
        alarms: train::alarms(&memory, &queued),
        backlog: (&Backlog::look(project, store, now, None)?).into(),
        today: today(project, store, now)?,
        commands_waiting: store.waiting_commands()?.len(),
        config: config(project, store)?,
        host: host(project),
    })
}

fn host(project: &Project) -> Host {
    let guards = &project.config.guards;
    Host {
        free_memory_mb: room::free_memory_mb(),
        min_free_memory_mb: guards.min_free_memory_mb,
        free_disk_mb: room::free_disk_mb(project.layout.state()),
        min_free_disk_mb: guards.min_free_disk_mb,
    }
}

/// When the newest daemon started, and which program it is.
fn started(store: &dyn Store) -> Result<Option<(Millis, String)>, CliError> {
    let kinds = vec!["daemon_started".to_owned()];
    let query = EventQuery { kinds, limit: Some(1), newest_first: true, ..EventQuery::default() };
    let event = store.events(&query)?.into_iter().next();
    Ok(event.and_then(|event| match event.entry.fact {
        Fact::Factory(FactoryFact::DaemonStarted { version, .. }) => Some((event.entry.at, version)),
        Fact::Factory(_) | Fact::Task(_) => None,
    }))
}

/// When something of these kinds happened last.
fn newest(store: &dyn Store, kinds: &[&str]) -> Result<Option<Millis>, CliError> {
    let kinds = kinds.iter().map(|kind| (*kind).to_owned()).collect();
    let query = EventQuery { kinds, limit: Some(1), newest_first: true, ..EventQuery::default() };
    Ok(store.events(&query)?.first().map(|event| event.entry.at))
}

fn config(project: &Project, store: &dyn Store) -> Result<ConfigState, CliError> {
    let stored = store.control(CONFIG_TROUBLE)?;
    let trouble: ConfigTrouble = stored.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
    let file = &project.loaded.file;
    // What is wrong with it is said once.
    let is_said = trouble.refused.is_some() && matches!(file, ProjectFile::NotValid { .. });
    let note = if is_said { None } else { file.note() };
    Ok(ConfigState { refused: trouble.refused, waiting: trouble.waiting, note })
}

fn look_at_daemon(project: &Project, store: &dyn Store, seen: Daemon) -> Result<DaemonView, CliError> {
    let (word, pid) = match seen {
        Daemon::Up { pid, .. } => ("up", pid),
        Daemon::Down => ("down", None),
        Daemon::Unknown => ("unknown", None),
    };
    let started = if word == "up" { started(store)? } else { None };
    let stopped_by = std::fs::read_to_string(project.layout.down_mark()).ok();
    Ok(DaemonView {
        state: word,
        pid,
        started_at: started.as_ref().map(|(at, _)| Stamp(*at)),
        version: started.map(|(_, version)| version),
        last_event_at: newest(store, &[])?.map(Stamp),
        stopped_by: stopped_by.map(|text| windlass_core::text::one_line(&text, 100)),
    })
}

fn today(project: &Project, store: &dyn Store, now: Millis) -> Result<Today, CliError> {
    let midnight = now.midnight();
    let ended = store.ended_since(midnight)?;
    let usage = store.usage(&UsageQuery { issue: None, since: Some(midnight) })?;
    let spent = super::cost::total(&usage);
    let idle = usage.iter().filter(|row| !super::cost::is_for_a_task(row)).map(|row| row.cost_micro_usd);
    let count = |is: fn(&Task) -> bool| ended.iter().filter(|task| is(&task.value)).count();
    Ok(Today {
        merged: count(|task| matches!(task.state, State::Merged { .. })),
        closed: count(|task| matches!(task.state, State::Closed { .. })),
        abandoned: count(|task| matches!(task.state, State::Abandoned { .. })),
        cost_micro_usd: spent.cost_micro_usd,
        cap_micro_usd: project.config.policy().caps.day_micro_usd,
        idle_micro_usd: idle.sum(),
        cache_hit_percent: spent.cache_hit_percent,
        estimated: true,
    })
}
