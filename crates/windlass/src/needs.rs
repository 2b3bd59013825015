//! Decides what waits for a person: `inbox` lists it, `status` and `top` count it.

use std::collections::BTreeMap;

use windlass_adapters::forge::{Forge, ForgeError};
use windlass_core::id::{IssueNumber, SessionId, TaskId};
use windlass_core::policy::Policy;
use windlass_core::task::{Effect, State, Task};
use windlass_core::time::{Millis, Span};
use windlass_engine::{CONFIG_TROUBLE, ConfigTrouble};
use windlass_store::Store;

use crate::daemon::{self, Daemon};
use crate::error::CliError;
use crate::house::{Job, Ledger};
use crate::intake::Mains;
use crate::leftovers;
use crate::project::Project;
use crate::text::counted;
use crate::train;
use crate::view::{InboxItem, Stamp, TaskLine};

/// Abandoned work is shown for so long; it stays in `windlass issues`.
const LATELY: Span = Span::days(7);
/// A session that is to be stopped is gone in seconds. After so long, or so many tries, a person hears of it.
const STOPPING: Span = Span::mins(1);
const STUBBORN: u32 = 3;

/// The nearest deadline first; what has none comes last, the oldest first.
pub fn look(project: &Project, store: &dyn Store, now: Millis) -> Result<Vec<InboxItem>, CliError> {
    let mut items = of_tasks(project, store, now)?;
    items.extend(unstopped(project, store, now)?);
    items.extend(of_factory(project, store)?);
    items.sort_by_key(|item| {
        (item.deadline.is_none(), item.deadline.map(|at| at.0), item.since.map(|at| at.0))
    });
    Ok(items)
}

fn of_tasks(project: &Project, store: &dyn Store, now: Millis) -> Result<Vec<InboxItem>, CliError> {
    let policy = &project.config.policy();
    let mut items = Vec::new();
    let mut queued: BTreeMap<TaskId, Task> = BTreeMap::new();
    for task in store.live_tasks()? {
        let task = task.value;
        match &task.state {
            State::AwaitingHuman { question, .. } => items.push(question_of(policy, &task, question)),
            State::Queued { .. } => drop(queued.insert(task.id.clone(), task)),
            State::Dispatched
            | State::Running { .. }
            | State::Revising { .. }
            | State::HandingOff { .. }
            | State::AwaitingCi { .. }
            | State::AwaitingCritic { .. }
            | State::AwaitingSlot { .. }
            | State::Limited { .. }
            | State::Merged { .. }
            | State::Closed { .. }
            | State::Abandoned { .. } => {}
        }
    }
    let forge = project.forge()?;
    for task in store.ended_since(Millis(now.0 - LATELY.0))? {
        let task = task.value;
        let newest = store.newest_task_of(task.issue)?.is_some_and(|newest| newest.value.id == task.id);
        if newest && matches!(task.state, State::Abandoned { .. }) && is_open(&forge, task.issue)? {
            items.push(abandoned(policy, &task));
        }
    }
    for alarm in train::alarms(&train::memory(store)?, &queued) {
        items.push(InboxItem {
            kind: "alarm",
            issue: Some(alarm.issue),
            title: "waits too long in the queue".into(),
            text: alarm.held,
            since: Some(alarm.since),
            deadline: None,
            otherwise: None,
            next: format!("windlass why {}", alarm.issue),
        });
    }
    Ok(items)
}

/// Sessions that were to be stopped and are not, with the processes that are left. The factory tries on, and what comes
/// after them waits; when the processes are gone, so is this.
pub fn unstopped(project: &Project, store: &dyn Store, now: Millis) -> Result<Vec<InboxItem>, CliError> {
    let mut items = Vec::new();
    for order in store.pending_effects()? {
        let Effect::StopSession { session } = &order.effect else { continue };
        if order.attempt < STUBBORN && now.since(order.created_at) < STOPPING {
            continue;
        }
        let (left, next) = left_of(project, session);
        let error = order.error.unwrap_or_else(|| "it does not end".into());
        items.push(InboxItem {
            kind: "unstopped",
            issue: order.owner.and_then(|task| task.issue()).map(|issue| issue.0),
            title: format!("{session} cannot be stopped"),
            text: format!("{error}; {left}"),
            since: Some(Stamp(order.created_at)),
            deadline: None,
            otherwise: None,
            next,
        });
    }
    Ok(items)
}

/// The processes of a session in words, and what to do about them. Whoever cannot look still says that it runs.
fn left_of(project: &Project, session: &SessionId) -> (String, String) {
    match leftovers::of(project.layout.state(), &project.layout.session(session)) {
        Ok(left) if left.is_empty() => {
            ("none of its processes is left".into(), "windlass events --kind effect_retried".into())
        }
        Ok(left) => {
            let pids: Vec<String> = left.iter().map(|left| left.pid.to_string()).collect();
            let each = left.iter().map(|left| format!("{} {}", left.pid, left.command));
            let each: Vec<String> = each.collect();
            (format!("left: {}", each.join(", ")), format!("kill -KILL {}", pids.join(" ")))
        }
        Err(error) => (format!("its processes cannot be looked for: {error}"), "windlass doctor".into()),
    }
}

/// A closed issue needs nobody, however its task ended.
fn is_open(forge: &dyn Forge, issue: IssueNumber) -> Result<bool, CliError> {
    match forge.issue(issue) {
        Ok(issue) => Ok(issue.open),
        Err(ForgeError::NotFound(_)) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

fn question_of(policy: &Policy, task: &Task, question: &str) -> InboxItem {
    let line = TaskLine::of(policy, task);
    let answer = task.since + policy.limits.answer;
    InboxItem {
        kind: "question",
        issue: Some(task.issue.0),
        title: line.title,
        text: question.to_owned(),
        since: Some(line.since),
        deadline: Some(Stamp(answer)),
        otherwise: Some("it is abandoned and its work kept".into()),
        next: format!("windlass tell {} \"…\"", task.issue.0),
    }
}

fn abandoned(policy: &Policy, task: &Task) -> InboxItem {
    let line = TaskLine::of(policy, task);
    InboxItem {
        kind: "abandoned",
        issue: Some(line.issue),
        title: line.title,
        text: line.says,
        since: Some(line.since),
        deadline: None,
        otherwise: None,
        next: format!("windlass retry {}    or windlass close {}", line.issue, line.issue),
    }
}

fn of_factory(project: &Project, store: &dyn Store) -> Result<Vec<InboxItem>, CliError> {
    let item = |kind, title: &str, text: String, next: &str| InboxItem {
        kind,
        issue: None,
        title: title.to_owned(),
        text,
        since: None,
        deadline: None,
        otherwise: None,
        next: next.to_owned(),
    };
    let mut items = Vec::new();
    if let Some(pause) = train::pause(store)? {
        items.push(item("queue", "the queue is paused", pause.reason, "windlass queue resume"));
    }
    let trouble = store.control(CONFIG_TROUBLE)?.and_then(|text| serde_json::from_str(&text).ok());
    if let Some(ConfigTrouble { refused: Some(why), .. }) = trouble {
        items.push(item("config", "an edit is not in force", why, "windlass config check"));
    }
    if let Some(apart) = Mains::of(project).apart()?.filter(|apart| apart.waits) {
        items.push(item("main", "your main and the factory's have parted", apart.says, &apart.pull));
    }
    for job in Job::ALL {
        let known = Ledger::of(&project.layout, job).read()?;
        if let Some(last) = known.and_then(|known| known.last).filter(|last| last.failed) {
            let next = format!("windlass schedule run {}", job.name());
            items.push(item("schedule", &format!("`{}` failed", job.name()), last.says, &next));
        }
    }
    let waiting = store.waiting_commands()?.len();
    if waiting > 0 && daemon::look(project.layout.state())? == Daemon::Down {
        let text = format!("{} for it", counted(waiting, "command waits", "commands wait"));
        items.push(item("commands", "the factory is down", text, "windlass up"));
    }
    Ok(items)
}
