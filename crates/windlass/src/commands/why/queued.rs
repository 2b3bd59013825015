//! What an entry of the merge queue waits for, and what would land it.

use std::collections::BTreeMap;

use windlass_core::id::TaskId;
use windlass_core::task::{State, Task};
use windlass_core::text::one_line;
use windlass_core::time::Millis;
use windlass_store::Store;

use crate::error::CliError;
use crate::project::Project;
use crate::text::{age, from_now};
use crate::train::Train;
use crate::view::{QueueEntry, QueueTest};

/// The task's entry; none if it does not wait to land.
pub fn entry(
    project: &Project,
    store: &dyn Store,
    task: Option<&Task>,
) -> Result<Option<QueueEntry>, CliError> {
    let Some(task) = task.filter(|task| matches!(task.state, State::Queued { .. })) else { return Ok(None) };
    let tasks = store.live_tasks()?.into_iter().map(|task| (task.value.id.clone(), task.value));
    let tasks: BTreeMap<TaskId, Task> = tasks.collect();
    let train = Train::look(project, store, tasks.values(), windlass_engine::now())?;
    Ok(train.entries(project, &tasks).into_iter().find(|entry| entry.line.task == task.id.as_str()))
}

/// What people read about it, each with its key.
pub fn lines(now: Millis, entry: &QueueEntry) -> Vec<(&'static str, String)> {
    let place = format!("place {}, waits {}", entry.place, age(now, entry.line.since.0));
    let mut lines = vec![("queue", format!("{place}: {}", one_line(&entry.held, 300)))];
    for test in &entry.tests {
        let since = test.started_at.map_or_else(String::new, |at| format!(" for {}", age(now, at.0)));
        let build = test.build.as_ref().map_or_else(String::new, |build| format!(" ({build})"));
        let lands = if test.lands { "a pass lands it" } else { "says only whether it is good" };
        lines.push(("test", format!("{} {}{since}{build}; {lands}", together(test), test.status)));
    }
    if entry.overtaken > 0 {
        lines.push(("overtaken", format!("{} times; it is tested next after a few", entry.overtaken)));
    }
    if entry.expedited {
        lines.push(("first", "a person has put it first".into()));
    }
    if let Some(at) = entry.expected_at {
        let when = if at.0 > now { from_now(now, at.0) } else { "soon".into() };
        lines.push(("lands", format!("{when}, as things stand")));
    }
    lines
}

/// What would land it.
pub fn next(entry: &QueueEntry) -> Vec<String> {
    let n = entry.line.issue;
    let mut next: Vec<String> = entry
        .held_by
        .iter()
        .map(|other| format!("it goes on when #{other} has landed or left: windlass why {other}"))
        .collect();
    match entry.status {
        "paused" => next.push("the queue is paused: windlass queue resume".into()),
        "landing" => next.push("wait: main is being moved to it".into()),
        "testing" => {
            let lands = entry.tests.iter().filter(|test| test.lands);
            next.extend(lands.map(|test| format!("it lands when the test of {} passes", together(test))));
        }
        _ => next.push("wait for its turn: windlass queue".into()),
    }
    if entry.place > 1 && !entry.expedited && entry.status != "landing" {
        next.push(format!("put it first: windlass queue front {n}"));
    }
    next.push(format!("take it out: windlass queue drop {n}"));
    next
}

fn together(test: &QueueTest) -> String {
    let issues: Vec<String> = test.issues.iter().map(|issue| format!("#{issue}")).collect();
    issues.join(" ")
}
