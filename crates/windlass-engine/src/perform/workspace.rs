//! Workspaces: made, looked into, and removed only after everything in them is safe.

#[cfg(test)]
mod tests;

use windlass_adapters::git::{Begin, Expect, FetchError, Fetched, GitError, Hold, Kept, RESCUE, Swap};
use windlass_core::crash;
use windlass_core::id::{SessionId, Sha};
use windlass_core::journal::{Fact, FactoryFact};
use windlass_core::task::{Event, Rejection, Task};
use windlass_store::{EventQuery, LoggedEvent};

use super::{Fault, Report};
use crate::clock;
use crate::record::Order;
use crate::world::World;

/// The task's own clone. One that is there already is kept as it is: a retry goes on where the last try stopped. One that was
/// cleared away meanwhile is made again with all that was saved of it.
pub fn make(world: &World, task: &Task, branch: &str) -> Result<Report, Fault> {
    // Nobody clears away what is found here.
    let held = world.repo.hold_workspaces(Hold::Serving)?;
    let main = world.repo.main_tip(&world.settings.branch)?;
    let pushed = match &task.pushed {
        Some(head) => world.repo.resolve(head.as_str())?,
        None => None,
    };
    let clone = world.layout.workspace(&task.id);
    let mut kept = clone.exists();
    let saved = if kept { None } else { saved(world, task, pushed.as_ref())? };
    let last = saved.as_ref().and_then(|saved| saved.head.clone()).or(pushed);
    let make = || {
        let files = saved.as_ref().and_then(|saved| saved.files.as_ref());
        let begin = Begin { at: last.as_ref().unwrap_or(&main), files };
        world.repo.clone_with_files(&clone, branch, begin, task.session.as_str())
    };
    let rescued = match make() {
        Ok(()) => None,
        // What lies there is no clone of ours any more: it is saved and gives way.
        Err(GitError::Occupied { .. }) => {
            kept = false;
            let rescued = rescue(world, task, branch)?;
            make()?;
            rescued
        }
        Err(error) => return Err(error.into()),
    };
    drop(held);
    // Main may have moved since: work that is there already grows from where it began. Before that was written down
    // no session has run in the clone, and its branch is where it was made.
    let base = match task.base.clone().filter(|_| kept || last.is_some()) {
        Some(begun) => begun,
        None if kept && last.is_none() => world.repo.fetch_work(&clone, branch)?.head,
        None => main,
    };
    let event = Some(Event::WorkspaceReady { base });
    Ok(Report { event, rescued, ..Report::default() })
}

/// What was saved of a clone that is gone, unless more has been pushed since.
fn saved(world: &World, task: &Task, pushed: Option<&Sha>) -> Result<Option<Kept>, Fault> {
    let Some(kept) = world.repo.kept(&rescue_ref(task), &task.branch)? else { return Ok(None) };
    let is_newest = match (pushed, &kept.head) {
        (None, _) => true,
        (Some(pushed), Some(head)) => world.repo.is_ancestor(pushed, head)?,
        (Some(_), None) => false,
    };
    Ok(is_newest.then_some(kept))
}

/// Takes the branch out of the clone and judges whether it is work.
pub fn fetch(world: &World, task: &Task, session: &SessionId, branch: &str) -> Result<Report, Fault> {
    let session = session.clone();
    let event = match world.repo.fetch_work(&world.layout.workspace(&task.id), branch) {
        Ok(fetched) => match reject(world, task, &fetched)? {
            None => Event::WorkFetched { session, head: fetched.head, tree: fetched.tree },
            Some(why) => Event::WorkRejected { session, why },
        },
        Err(FetchError::Gone) => Event::WorkRejected { session, why: Rejection::WorkspaceGone },
        Err(FetchError::NoBranch { .. }) => Event::WorkRejected { session, why: Rejection::NothingCommitted },
        Err(FetchError::Broken { detail }) => {
            Event::WorkRejected { session, why: Rejection::Unreadable { detail } }
        }
        Err(error @ FetchError::Git(_)) => return Err(error.into()),
    };
    Ok(Report::event(event))
}

fn reject(world: &World, task: &Task, fetched: &Fetched) -> Result<Option<Rejection>, Fault> {
    let base = match &task.base {
        Some(base) => base.clone(),
        None => world.repo.main_tip(&world.settings.branch)?,
    };
    if fetched.head == base {
        return Ok(Some(match &fetched.elsewhere {
            Some(other) => {
                let branch = other.branch.clone().unwrap_or_else(|| "a detached HEAD".into());
                Rejection::OtherBranch { branch }
            }
            None => Rejection::NothingCommitted,
        }));
    }
    if task.pushed.as_ref() == Some(&fetched.head) && task.state.wants_new_head() {
        return Ok(Some(Rejection::NothingNew { head: fetched.head.clone() }));
    }
    let grown = world.repo.is_ancestor(&base, &fetched.head)?;
    Ok((!grown).then_some(Rejection::HistoryRewritten))
}

/// Saves what main does not have, then removes clone and branch.
pub fn remove(world: &World, order: &Order, task: &Task, branch: &str) -> Result<Report, Fault> {
    let held = world.repo.hold_workspaces(Hold::Serving)?;
    let mut rescued = rescue(world, task, branch)?;
    drop(held);
    if rescued.is_none() && order.probe {
        rescued = untold(world, task)?;
    }
    crash::step("removed");
    for name in [format!("refs/heads/{branch}"), format!("refs/windlass/work/{branch}")] {
        match world.repo.delete_ref(&name, Expect::Anything)? {
            Swap::Done => {}
            Swap::Lost { .. } => return Err(Fault::for_good(format!("`{name}` cannot be removed"))),
        }
    }
    Ok(Report { rescued, ..Report::default() })
}

/// What a try that was killed has saved and told nobody.
pub fn untold(world: &World, task: &Task) -> Result<Option<(String, Sha)>, Fault> {
    let reference = rescue_ref(task);
    let Some(saved) = world.repo.resolve(&reference)? else { return Ok(None) };
    let kinds = vec!["work_rescued".to_owned()];
    let told =
        world.store.events(&EventQuery { task: Some(task.id.clone()), kinds, ..EventQuery::default() })?;
    let names = |event: &LoggedEvent| match &event.entry.fact {
        Fact::Factory(FactoryFact::WorkRescued { commit, .. }) => *commit == saved,
        Fact::Factory(_) | Fact::Task(_) => false,
    };
    Ok((!told.iter().any(names)).then_some((reference, saved)))
}

/// Saves what main does not have, then removes the clone.
fn rescue(world: &World, task: &Task, branch: &str) -> Result<Option<(String, Sha)>, Fault> {
    let reference = rescue_ref(task);
    let clone = world.layout.workspace(&task.id);
    let saved = world.repo.remove_workspace(&clone, branch, &reference, clock::now())?;
    Ok(saved.map(|saved| (reference, saved.commit)))
}

/// Commits all that lies in the clone to a ref of ours, while the clone stays: what a session that was replaced had not
/// committed is safe before its successor touches it.
pub fn keep(world: &World, task: &Task) -> Result<Option<(String, Sha)>, Fault> {
    let reference = rescue_ref(task);
    let clone = world.layout.workspace(&task.id);
    match world.repo.save(&clone, &task.branch, &reference, clock::now()) {
        Ok(saved) => Ok(saved.map(|saved| (reference, saved.commit))),
        // A clone that is gone is made again, from what was saved before.
        Err(FetchError::Gone) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn rescue_ref(task: &Task) -> String {
    format!("{RESCUE}{}", task.id)
}
