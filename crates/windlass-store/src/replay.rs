//! Checks that the log and the tasks tell the same story.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use windlass_core::id::TaskId;
use windlass_core::journal::{Fact, FactoryFact};
use windlass_core::task::State;

use crate::error::StoreError;
use crate::rows::{EventQuery, TaskQuery};
use crate::store::Store;

const PAGE: usize = 500;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch {
    pub task: TaskId,
    /// The state in which the task is stored; `None` when the log moves a task that is not stored.
    pub stored: Option<String>,
    /// Where the log last moved it. A task that never moved is still dispatched.
    pub logged: String,
}

/// Every task whose stored state is not the one that the log last moved it to.
pub fn replay_states(store: &dyn Store) -> Result<Vec<Mismatch>, StoreError> {
    let mut logged = last_moves(store)?;
    let mut wrong = Vec::new();
    let mut before = None;
    loop {
        let page = store.tasks_page(&TaskQuery { before, limit: PAGE, ..TaskQuery::default() })?;
        let Some(last) = page.last() else { break };
        before = Some(last.order);
        for task in page.into_iter().map(|row| row.value) {
            let stored = task.state.name();
            let logged = logged.remove(&task.id).unwrap_or_else(|| State::Dispatched.name().to_owned());
            if logged != stored {
                wrong.push(Mismatch { task: task.id, stored: Some(stored.to_owned()), logged });
            }
        }
    }
    wrong.extend(logged.into_iter().map(|(task, logged)| Mismatch { task, stored: None, logged }));
    Ok(wrong)
}

fn last_moves(store: &dyn Store) -> Result<BTreeMap<TaskId, String>, StoreError> {
    let query = EventQuery { kinds: vec!["task_moved".to_owned()], ..EventQuery::default() };
    let mut moves = BTreeMap::new();
    store.for_each_event(&query, &mut |event| {
        if let (Some(task), Fact::Factory(FactoryFact::TaskMoved { to, .. })) =
            (event.entry.task, event.entry.fact)
        {
            moves.insert(task, to);
        }
        ControlFlow::Continue(())
    })?;
    Ok(moves)
}
