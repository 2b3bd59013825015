//! What the queue did in the last day, from the log.

use std::ops::ControlFlow;

use windlass_core::id::TaskId;
use windlass_core::time::{Millis, Span};
use windlass_store::{EventQuery, Store};

use crate::error::CliError;
use crate::view::QueueDay;

const DAY: Span = Span::days(1);

/// Who came to main and who was sent back within a day before `now`.
pub fn day(store: &dyn Store, now: Millis) -> Result<QueueDay, CliError> {
    let from = Millis(now.0 - DAY.0);
    let mut day = QueueDay::default();
    let mut landed: Vec<(TaskId, Millis)> = Vec::new();
    let kinds = ["landed", "merge_conflict", "ejected"].map(str::to_owned).into();
    let query = EventQuery { kinds, newest_first: true, ..EventQuery::default() };
    store.for_each_event(&query, &mut |event| {
        let entry = event.entry;
        if entry.at < from {
            return ControlFlow::Break(());
        }
        match (entry.fact.kind(), entry.task) {
            ("landed", Some(task)) => landed.push((task, entry.at)),
            ("merge_conflict", _) => day.conflicts += 1,
            ("ejected", _) => day.red += 1,
            (_, _) => {}
        }
        ControlFlow::Continue(())
    })?;
    day.merged = landed.len();
    let mut waits = Vec::new();
    for (task, at) in landed {
        waits.extend(came(store, task)?.map(|since| at.since(since).0));
    }
    waits.sort_unstable();
    day.median_wait_ms = waits.get(waits.len() / 2).copied();
    Ok(day)
}

/// When a task last came into the queue.
fn came(store: &dyn Store, task: TaskId) -> Result<Option<Millis>, CliError> {
    let query = EventQuery {
        task: Some(task),
        kinds: vec!["merge_ready".into()],
        limit: Some(1),
        newest_first: true,
        ..EventQuery::default()
    };
    Ok(store.events(&query)?.first().map(|event| event.entry.at))
}
