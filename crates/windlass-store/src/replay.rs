//! Checks that the log and the tasks tell the same story.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use windlass_core::id::TaskId;
use windlass_core::journal::{Entry, Fact, FactoryFact};
use windlass_core::policy::Policy;
use windlass_core::task::{self, Claim, State, Step, Task};

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

/// A task that is not what the log makes of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drift {
    pub task: TaskId,
    pub stored: Option<Box<Task>>,
    /// `None` when the log never claims it.
    pub replayed: Option<Box<Task>>,
    /// The number of the first event in the log that the rules refuse.
    pub refused: Option<i64>,
}

/// Lives every task again from the log alone, by the rules as they are, and says which stored ones are different.
pub fn replay_tasks(store: &dyn Store, policy: &Policy) -> Result<Vec<Drift>, StoreError> {
    let mut replayed: BTreeMap<TaskId, Task> = BTreeMap::new();
    let mut refused: BTreeMap<TaskId, i64> = BTreeMap::new();
    store.for_each_event(&EventQuery::default(), &mut |event| {
        let Entry { at, task: Some(id), fact, .. } = event.entry else { return ControlFlow::Continue(()) };
        let step = match (fact, replayed.get(&id)) {
            (Fact::Factory(FactoryFact::TaskClaimed { title, branch, .. }), _) => {
                claim(&id, title, &branch).map(|claim| task::claim(policy, claim, at))
            }
            (Fact::Task(event), Some(task)) => task::step(policy, task, at, &event).ok(),
            (Fact::Task(_), None) => None,
            (Fact::Factory(_), _) => return ControlFlow::Continue(()),
        };
        match step {
            Some(Step { mut task, effects }) => {
                task.effects += effects.len() as u64;
                replayed.insert(id, task);
            }
            None => drop(refused.entry(id).or_insert(event.seq)),
        }
        ControlFlow::Continue(())
    })?;
    compare(store, replayed, &refused)
}

/// The branch tells what was before the number in it.
fn claim(id: &TaskId, title: String, branch: &str) -> Option<Claim> {
    let issue = id.issue()?;
    let nth = id.as_str().rsplit_once('.')?.1.parse().ok()?;
    let end = if nth == 1 { issue.0.to_string() } else { format!("{}-{nth}", issue.0) };
    Some(Claim { issue, title, nth, branch_prefix: branch.strip_suffix(&end)?.to_owned() })
}

fn compare(
    store: &dyn Store,
    mut replayed: BTreeMap<TaskId, Task>,
    refused: &BTreeMap<TaskId, i64>,
) -> Result<Vec<Drift>, StoreError> {
    let mut drifts = Vec::new();
    let mut before = None;
    loop {
        let page = store.tasks_page(&TaskQuery { before, limit: PAGE, ..TaskQuery::default() })?;
        let Some(last) = page.last() else { break };
        before = Some(last.order);
        for stored in page.into_iter().map(|row| row.value) {
            let mut again = replayed.remove(&stored.id);
            // The log has a long title in short.
            if let Some(again) = &mut again {
                again.title.clone_from(&stored.title);
            }
            let refused = refused.get(&stored.id).copied();
            if again.as_ref() != Some(&stored) || refused.is_some() {
                let task = stored.id.clone();
                drifts.push(Drift {
                    task,
                    stored: Some(stored.into()),
                    replayed: again.map(Box::new),
                    refused,
                });
            }
        }
    }
    let unknown = |(task, again): (TaskId, Task)| {
        let refused = refused.get(&task).copied();
        Drift { task, stored: None, replayed: Some(Box::new(again)), refused }
    };
    drifts.extend(replayed.into_iter().map(unknown));
    Ok(drifts)
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
