//! `windlass agents`: who is at work, with the evidence for it and its age.

use std::path::Path;
use std::time::UNIX_EPOCH;

use windlass_adapters::shim::{TRANSCRIPT, client};
use windlass_core::policy::Policy;
use windlass_core::session::{Identity, Light, Process, Role, light};
use windlass_core::task::{State, Task};
use windlass_core::time::Millis;
use windlass_store::{Store, Which};

use crate::context::Context;
use crate::daemon::{self, Daemon};
use crate::error::CliError;
use crate::exit::Exit;
use crate::out::Style;
use crate::project::Project;
use crate::text::{age, table};
use crate::view::{AgentLine, Agents, Stamp, TaskLine};

/// The columns of `row`; the first is the light.
pub const HEADING: [&str; 8] =
    ["", "NAME", "ROLE", "ISSUE", "STATE", "LAST SIGN OF LIFE", "EVIDENCE", "STRIKES"];

/// In the order of the legend.
const LIGHTS: [Light; 8] = [
    Light::Alive,
    Light::Suspect,
    Light::Dead,
    Light::Paused,
    Light::NeedsYou,
    Light::Unknown,
    Light::Stopped,
    Light::Ended,
];

/// List sessions with a light, its evidence and its age
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:\n  windlass agents\n  windlass agents --all --json")]
pub struct Args {
    /// Ended sessions too
    #[arg(long)]
    all: bool,
}

pub fn run(context: &mut Context, args: &Args) -> Result<Exit, CliError> {
    let project = Project::find(context)?;
    let store = project.reader()?;
    let now = windlass_engine::now();
    let which = if args.all { Which::All } else { Which::Live };
    let view = Agents::new(Stamp(now), list(&project, &store, which, now)?);
    context.out.show(&view, |style| words(style, now, &view.agents))?;
    if view.agents.is_empty() {
        context.out.talk("nobody is at work");
    } else if view.agents.iter().any(|agent| agent.light == Light::Stopped) {
        context.out.talk("the factory is down: windlass up goes on with those that were stopped");
    }
    Ok(Exit::Ok)
}

pub fn list(
    project: &Project,
    store: &dyn Store,
    which: Which,
    now: Millis,
) -> Result<Vec<AgentLine>, CliError> {
    let policy = project.config.policy();
    let daemon = daemon::look(project.layout.state())?;
    let mut agents = Vec::new();
    for identity in store.identities(which)? {
        let task = store.task(&identity.task)?.map(|task| task.value);
        let folder = project.layout.session(&identity.name);
        let state = task.as_ref().map(|task| &task.state);
        agents.push(look(&policy, daemon, now, &identity, state, &folder));
    }
    Ok(agents)
}

/// A task as it stands, with the light of the session that works on it.
pub fn task_line(
    project: &Project,
    store: &dyn Store,
    daemon: Daemon,
    task: &Task,
    now: Millis,
) -> Result<TaskLine, CliError> {
    let policy = project.config.policy();
    let line = TaskLine::of(&policy, task);
    let session = task.state.critic().unwrap_or(&task.session);
    let Some(identity) = store.identity(session)? else { return Ok(line) };
    let folder = project.layout.session(session);
    Ok(line.with_light(look(&policy, daemon, now, &identity, Some(&task.state), &folder).light))
}

fn look(
    policy: &Policy,
    daemon: Daemon,
    now: Millis,
    identity: &Identity,
    state: Option<&State>,
    folder: &Path,
) -> AgentLine {
    let lock_held = client::alive(folder).ok();
    let process = match lock_held {
        Some(true) => Process::Alive,
        Some(false) => Process::Gone,
        None => Process::NotLooked,
    };
    let output = modified(&folder.join(TRANSCRIPT));
    let sign = output.map_or(identity.last_seen, |at| at.max(identity.last_seen));
    let seen = match state {
        Some(state) => at_work(state, identity),
        // A session without a task is nobody's: only its process can tell.
        None => State::Running { heard: None },
    };
    let seen = light(&policy.limits, &seen, identity.status, process, now.since(sign));
    AgentLine {
        name: identity.name.to_string(),
        role: identity.role,
        issue: identity.issue.0,
        task: identity.task.to_string(),
        state: state.map_or("UNKNOWN", State::name).to_owned(),
        status: identity.status,
        light: if daemon == Daemon::Down { seen.without_factory(identity.status) } else { seen },
        lock_held,
        pid: identity.pid,
        last_output_at: output.map(Stamp),
        last_seen_at: Stamp(identity.last_seen),
        created_at: Stamp(identity.created_at),
        strikes: identity.strikes,
        max_strikes: policy.limits.stale_strikes,
        predecessor_id: identity.predecessor_id.as_ref().map(ToString::to_string),
        session_id: identity.session_id.clone(),
        tmux_session: identity.tmux_session.clone(),
        node_id: identity.node_id.clone(),
        bead_id: identity.bead_id.clone(),
        worktree_path: identity.worktree_path.clone(),
        hook_path: identity.hook_path.clone(),
    }
}

/// While the critic reads, the task holds no slot but the critic works.
fn at_work(state: &State, identity: &Identity) -> State {
    let reads = identity.role == Role::Review && state.critic() == Some(&identity.name);
    if reads { State::Running { heard: None } } else { state.clone() }
}

fn modified(path: &Path) -> Option<Millis> {
    let since = path.metadata().ok()?.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    i64::try_from(since.as_millis()).ok().map(Millis)
}

fn words(style: Style, now: Millis, agents: &[AgentLine]) -> String {
    if agents.is_empty() {
        return String::new();
    }
    let mut rows = vec![HEADING.iter().map(|&word| style.faint(word)).collect()];
    rows.extend(agents.iter().map(|agent| row(style, now, agent)));
    let legend = LIGHTS.map(|light| named(Style::new(false), light)).join("  ");
    format!("{}{}\n", table(style, "", &rows), style.faint(&legend))
}

pub fn row(style: Style, now: Millis, agent: &AgentLine) -> Vec<String> {
    let output =
        agent.last_output_at.map_or_else(|| "no output".into(), |at| format!("output {}", age(now, at.0)));
    let lock = match agent.lock_held {
        Some(true) => "lock held",
        Some(false) => "lock free",
        None => "lock unknown",
    };
    let pid = agent.pid.map_or_else(|| "no pid".into(), |pid| format!("pid {pid}"));
    vec![
        sign(style, agent.light),
        agent.name.clone(),
        agent.role.word().to_owned(),
        format!("#{}", agent.issue),
        agent.state.clone(),
        format!("{output}, seen {}", age(now, agent.last_seen_at.0)),
        format!("{lock} · {pid}"),
        format!("{}/{}", agent.strikes, agent.max_strikes),
    ]
}

/// A light with what it means.
pub fn named(style: Style, light: Light) -> String {
    let word = match light {
        Light::Alive => "alive",
        Light::Suspect => "suspect",
        Light::Dead => "dead",
        Light::Paused => "paused by design",
        Light::NeedsYou => "needs you",
        Light::Unknown => "unknown",
        Light::Ended => "ended",
        Light::Stopped => "stopped with the factory",
    };
    format!("{} {word}", sign(style, light))
}

pub fn sign(style: Style, light: Light) -> String {
    match light {
        Light::Alive => style.green("●"),
        Light::Suspect => style.yellow("◐"),
        Light::Dead => style.red("✗"),
        Light::Paused => "○".into(),
        Light::NeedsYou => style.red("◆"),
        Light::Unknown => style.yellow("?"),
        Light::Ended => style.faint("·"),
        Light::Stopped => style.faint("■"),
    }
}
