//! Sessions: started under a shim, spoken to through their inbox, stopped with everything they forked.

#[cfg(test)]
mod tests;

use std::path::Path;
use std::time::Duration;

use windlass_adapters::agent::{Conversation, Limits, PROTOCOL, SessionContext};
use windlass_adapters::files;
use windlass_adapters::git::Slot;
use windlass_adapters::shim::{Message, client};
use windlass_core::brief::{self, ReviewMaterial, WorkSoFar};
use windlass_core::crash;
use windlass_core::id::{SessionId, Sha};
use windlass_core::session::Role;
use windlass_core::task::{Event, Start, Task};

use super::conversation::{self, Taken};
use super::review_slots::ReviewSlots;
use super::{Fault, Report, Started, workspace};
use crate::inherit::{self, Left};
use crate::record::Order;
use crate::world::World;

/// A shim gives its program two seconds to end; one that has not ended by then does not hear.
const PATIENCE: Duration = Duration::from_secs(30);

pub fn start_dev(
    world: &World,
    order: &Order,
    task: &Task,
    session: &SessionId,
    start: &Start,
) -> Result<Report, Fault> {
    let taken = conversation::take(world, session, start)?;
    let workspace = world.layout.workspace(&task.id);
    let mut report = if started(world, order, session)? {
        let rescued = match start {
            Start::Continue { .. } => workspace::untold(world, task)?,
            Start::Fresh | Start::Recover { .. } | Start::Retry { .. } => None,
        };
        Report { rescued, ..runs(world, Role::Dev, session, &workspace, &taken, Before::Began) }
    } else {
        let issue = world.forge.issue(task.issue)?;
        let so_far = work_so_far(world, task, start, &taken)?;
        let opening = Opening {
            role: Role::Dev,
            session,
            workspace: &workspace,
            text: &brief::dev(task, &issue, start, &so_far),
            protocol: brief::protocol(task),
            passed_on: passed_on(world, start, &taken)?,
            taken,
        };
        let rescued = match start {
            Start::Continue { .. } => workspace::keep(world, task)?,
            Start::Fresh | Start::Recover { .. } | Start::Retry { .. } => None,
        };
        Report { rescued, ..begin(world, order, &opening)? }
    };
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
    let slot = Slot::new(&world.layout.review_slot(slots.take(session)), Vec::new())?;
    let taken = conversation::new(world, session);
    // A critic that is at work already must not have its files replaced, nor wait for a forge that is down.
    if started(world, order, session)? {
        return Ok(runs(world, Role::Review, session, &slot.work(), &taken, Before::Began));
    }
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
    let opening = Opening {
        role: Role::Review,
        session,
        workspace: &slot.check_out(&world.repo, head)?,
        text: &text,
        protocol: text.clone(),
        passed_on: Vec::new(),
        taken,
    };
    begin(world, order, &opening)
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

fn predecessor(start: &Start) -> Option<&SessionId> {
    match start {
        Start::Fresh => None,
        Start::Recover { predecessor }
        | Start::Continue { predecessor }
        | Start::Retry { predecessor, .. } => Some(predecessor),
    }
}

/// What people said to those who went before and nobody remembers.
fn passed_on(world: &World, start: &Start, taken: &Taken) -> Result<Vec<Message>, Fault> {
    let mut line = Vec::new();
    let mut next = predecessor(start).cloned();
    while let Some(session) = next {
        let folder = world.layout.session(&session);
        line.push(Left { inbox: client::inbox(&folder)?, facts: client::read_facts(&folder, 0)?.0 });
        next = world.store.identity(&session)?.and_then(|identity| identity.predecessor_id);
    }
    Ok(inherit::inherited(taken.memory(), &line))
}

fn work_so_far(world: &World, task: &Task, start: &Start, taken: &Taken) -> Result<WorkSoFar, Fault> {
    let Some(predecessor) = predecessor(start) else { return Ok(WorkSoFar::default()) };
    let hook = world.store.hook(predecessor)?;
    let fetched = world.repo.fetch_work(&world.layout.workspace(&task.id), &task.branch);
    let diff = match (fetched, &task.base) {
        (Ok(work), Some(base)) => shown(&world.repo.diff(base, &work.head, brief::MAX_DIFF_BYTES)?),
        // Without a readable clone the successor finds out for itself.
        (Ok(_) | Err(_), _) => String::new(),
    };
    Ok(WorkSoFar { hook, diff, memory: taken.memory() })
}

/// How a session begins.
struct Opening<'a> {
    role: Role,
    session: &'a SessionId,
    workspace: &'a Path,
    text: &'a str,
    /// What holds for the whole session, said again when its conversation was shortened.
    protocol: String,
    passed_on: Vec<Message>,
    taken: Taken,
}

/// Puts the brief into the inbox and starts the process.
fn begin(world: &World, order: &Order, opening: &Opening<'_>) -> Result<Report, Fault> {
    let Opening { role, session, workspace, text, protocol, passed_on, taken } = opening;
    let folder = world.layout.session(session);
    let context = context(world, *role, session, workspace, &taken.conversation)?;
    client::prepare(&folder, &world.driver(*role).launch(&context))?;
    files::write_atomic(&folder.join("brief.md"), text.as_bytes())?;
    files::write_atomic(&folder.join(PROTOCOL), protocol.as_bytes())?;
    crash::step("prepared");
    client::say(&folder, order.key.as_str(), text)?;
    for message in passed_on {
        client::say(&folder, &message.id, &message.text)?;
    }
    crash::step("briefed");
    client::spawn(&world.settings.exe, &folder, &world.agent(*role).env)?;
    Ok(runs(world, *role, session, workspace, taken, Before::Nothing))
}

/// What an earlier try of the order had done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Before {
    Nothing,
    Began,
}

fn runs(
    world: &World,
    role: Role,
    session: &SessionId,
    workspace: &Path,
    taken: &Taken,
    before: Before,
) -> Report {
    let worktree = workspace.to_string_lossy().into_owned();
    let driver = world.driver(role);
    let conversation = driver.resumes().then(|| taken.known());
    let terminal = driver.terminal(&world.layout.session(session));
    let terminal = terminal.map(|socket| socket.to_string_lossy().into_owned());
    let started = Some(Started { session: session.clone(), worktree, conversation, terminal });
    Report { adopted: before == Before::Began, started, ..Report::default() }
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
    conversation: &Conversation,
) -> Result<SessionContext, Fault> {
    let folder = world.layout.session(session);
    let home = world.layout.home(session);
    let temp = home.join("tmp");
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
        conversation: conversation.clone(),
        search_path: world.settings.search_path.clone(),
        limits: Limits { group: world.settings.limits, ..Limits::default() },
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
    let role = world.store.identity(session)?.map_or(Role::Dev, |identity| identity.role);
    client::respawn(&world.settings.exe, &folder, &world.agent(role).env)?;
    let started =
        Started { session: session.clone(), worktree: String::new(), conversation: None, terminal: None };
    Ok(Report { started: Some(started), ..Report::default() })
}

/// Ends the session's processes and waits until they are gone.
pub fn stop(
    world: &World,
    slots: &ReviewSlots,
    task: Option<&Task>,
    session: &SessionId,
) -> Result<Report, Fault> {
    let folder = world.layout.session(session);
    if folder.exists() {
        client::end(&folder, PATIENCE)?;
        crash::step("gone");
    }
    conversation::forget(world, task, session)?;
    slots.release(session);
    Ok(Report { stopped: Some(session.clone()), ..Report::default() })
}
