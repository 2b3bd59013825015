//! Sessions: started under a shim, spoken to through their inbox, stopped with everything they forked.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use windlass_adapters::agent::{Limits, SessionContext};
use windlass_adapters::files;
use windlass_adapters::git::Slot;
use windlass_adapters::shim::client;
use windlass_core::brief::{self, ReviewMaterial, WorkSoFar};
use windlass_core::crash;
use windlass_core::id::{SessionId, Sha};
use windlass_core::session::Role;
use windlass_core::task::{Event, Start, Task};

use super::{Fault, Report, Started};
use crate::layout::Layout;
use crate::record::Order;
use crate::world::World;

/// Which review session uses which of the reusable checkouts.
#[derive(Debug, Default)]
pub struct ReviewSlots(Mutex<BTreeMap<SessionId, u32>>);

impl ReviewSlots {
    /// After a restart: the session keeps the checkout that its process was started in. Only the launch says for sure
    /// which one that is: the daemon may have been killed before it wrote down that the session runs.
    pub fn remember(&self, layout: &Layout, session: &SessionId) {
        let launch = match client::launch(&layout.session(session)) {
            Ok(launch) => launch,
            Err(error) => {
                tracing::warn!(%session, error = %super::chain(&error), "cannot read where a session was started");
                return;
            }
        };
        if let Some(slot) = launch.and_then(|launch| layout.review_slot_of(&launch.cwd)) {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(session.clone(), slot);
        }
    }

    fn take(&self, session: &SessionId) -> u32 {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(slot) = held.get(session) {
            return *slot;
        }
        let slot =
            (1..).find(|slot| !held.values().any(|taken| taken == slot)).expect("there are enough numbers");
        held.insert(session.clone(), slot);
        slot
    }

    fn release(&self, session: &SessionId) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(session);
    }
}

pub fn start_dev(
    world: &World,
    order: &Order,
    task: &Task,
    session: &SessionId,
    start: &Start,
) -> Result<Report, Fault> {
    let issue = world.forge.issue(task.issue)?;
    let so_far = work_so_far(world, task, start)?;
    let text = brief::dev(task, &issue, start, &so_far);
    let workspace = world.layout.workspace(&task.id);
    let mut report = begin(world, order, Role::Dev, session, &workspace, &text)?;
    report.event = Some(Event::SessionStarted { session: session.clone() });
    Ok(report)
}

pub fn start_review(
    world: &World,
    slots: &ReviewSlots,
    order: &Order,
    task: &Task,
    session: &SessionId,
    head: &Sha,
) -> Result<Report, Fault> {
    let issue = world.forge.issue(task.issue)?;
    let main = world.repo.main_tip(&world.settings.branch)?;
    let base = world.repo.merge_base(&main, head)?.unwrap_or(main);
    let diff = world.repo.diff(&base, head, brief::MAX_DIFF_BYTES)?;
    let material = ReviewMaterial {
        head: head.clone(),
        base,
        diff: shown(&diff),
        since_last: since_last(world, task, head)?,
    };
    let text = brief::review(task, &issue, &material);
    let slot = Slot::new(&world.layout.review_slot(slots.take(session)), Vec::new())?;
    // A critic that is at work already must not have its files replaced.
    let checkout =
        if started(world, order, session)? { slot.work() } else { slot.check_out(&world.repo, head)? };
    begin(world, order, Role::Review, session, &checkout, &text)
}

/// On a second round the critic also sees what changed since its last verdict.
fn since_last(world: &World, task: &Task, head: &Sha) -> Result<Option<String>, Fault> {
    if task.reviews < 2 {
        return Ok(None);
    }
    let last = SessionId::review(&task.id, task.reviews - 1);
    let read = world.store.identity(&last)?.and_then(|identity| identity.head);
    match read {
        Some(before) if before != *head => {
            Ok(Some(shown(&world.repo.diff(&before, head, brief::MAX_DIFF_BYTES)?)))
        }
        Some(_) | None => Ok(None),
    }
}

fn shown(diff: &windlass_adapters::git::Diff) -> String {
    if !diff.truncated {
        return diff.text.clone();
    }
    let files: Vec<&str> = diff.files.iter().map(String::as_str).collect();
    format!("{}\n[cut here; all changed files:]\n{}", diff.text, files.join("\n"))
}

fn work_so_far(world: &World, task: &Task, start: &Start) -> Result<WorkSoFar, Fault> {
    let predecessor = match start {
        Start::Fresh => return Ok(WorkSoFar::default()),
        Start::Recover { predecessor }
        | Start::Continue { predecessor }
        | Start::Retry { predecessor, .. } => predecessor,
    };
    let hook = world.store.hook(predecessor)?;
    let fetched = world.repo.fetch_work(&world.layout.workspace(&task.id), &task.branch);
    let diff = match (fetched, &task.base) {
        (Ok(work), Some(base)) => shown(&world.repo.diff(base, &work.head, brief::MAX_DIFF_BYTES)?),
        // Without a readable clone the successor finds out for itself.
        (Ok(_) | Err(_), _) => String::new(),
    };
    Ok(WorkSoFar { hook, diff })
}

/// Puts the brief into the inbox and starts the process, unless both were done before.
fn begin(
    world: &World,
    order: &Order,
    role: Role,
    session: &SessionId,
    workspace: &Path,
    text: &str,
) -> Result<Report, Fault> {
    let adopted = started(world, order, session)?;
    let folder = world.layout.session(session);
    if !adopted {
        client::prepare(&folder, &world.driver(role).launch(&context(world, role, session, workspace)?))?;
        files::write_atomic(&folder.join("brief.md"), text.as_bytes())?;
        crash::step("prepared");
        client::say(&folder, order.key.as_str(), text)?;
        crash::step("briefed");
        client::spawn(&world.settings.exe, &folder)?;
    }
    let worktree = workspace.to_string_lossy().into_owned();
    let started = Some(Started { session: session.clone(), worktree });
    Ok(Report { adopted, started, ..Report::default() })
}

/// Whether this very order has reached the agent, as the shim's own records say.
fn started(world: &World, order: &Order, session: &SessionId) -> Result<bool, Fault> {
    if !order.probe {
        return Ok(false);
    }
    let (facts, _) = client::read_facts(&world.layout.session(session), 0)?;
    Ok(!facts.is_empty())
}

fn context(
    world: &World,
    role: Role,
    session: &SessionId,
    workspace: &Path,
) -> Result<SessionContext, Fault> {
    let folder = world.layout.session(session);
    let (home, temp) = (folder.join("home"), folder.join("home").join("tmp"));
    files::private_dir(&temp)?;
    let verdict_file = match role {
        Role::Dev => None,
        Role::Review => Some(world.layout.verdict(session)),
    };
    Ok(SessionContext {
        session: session.clone(),
        role: role.word().to_owned(),
        workspace: workspace.to_owned(),
        home,
        temp,
        phase_file: world.layout.phase(session),
        verdict_file,
        provider_session: None,
        resume: false,
        search_path: world.settings.search_path.clone(),
        env: world.agent(role).env.clone(),
        limits: Limits::default(),
        folder,
    })
}

pub fn say(world: &World, order: &Order, session: &SessionId, text: &str) -> Result<Report, Fault> {
    client::say(&world.layout.session(session), order.key.as_str(), text)?;
    crash::step("said");
    wake(world, session)
}

pub fn wake(world: &World, session: &SessionId) -> Result<Report, Fault> {
    let folder = world.layout.session(session);
    client::respawn(&world.settings.exe, &folder)?;
    let worktree = String::new();
    Ok(Report { started: Some(Started { session: session.clone(), worktree }), ..Report::default() })
}

/// Ends the session's processes and waits until they are gone.
pub fn stop(world: &World, slots: &ReviewSlots, session: &SessionId) -> Result<Report, Fault> {
    let folder = world.layout.session(session);
    if folder.exists() {
        client::request_stop(&folder)?;
        client::wait_gone(&folder)?;
        crash::step("gone");
        client::kill_leftovers(&folder)?;
        files::remove_tree(&folder.join("home"))?;
    }
    slots.release(session);
    Ok(Report { stopped: Some(session.clone()), ..Report::default() })
}
