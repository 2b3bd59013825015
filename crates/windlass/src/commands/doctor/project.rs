//! What the project must have: a good configuration, programs that are there, tests that pass, room to work.

use std::process::Command;
use std::time::Duration;

use windlass_adapters::agent::{ClaudeOptions, CodexOptions, Screen};
use windlass_adapters::git::{BareRepo, Git, Slot};
use windlass_adapters::process::{Full, Limits, capture};
use windlass_adapters::{ci, files};
use windlass_core::schedule::Hold;
use windlass_engine::{AgentKind, AgentSettings, room};

use super::{Repair, install};
use crate::config::CREDENTIALS;
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::intake::{Apart, Mains};
use crate::program;
use crate::project::Project;
use crate::view::Check;

pub fn checks(context: &Context, project: &Project, quick: bool, repair: Repair) -> Vec<Check> {
    let mut checks = vec![config(project)];
    checks.extend(mains(project));
    // First: the agents are then found where it went to.
    checks.extend(install::claude(context, project, repair));
    checks.extend(agents(project));
    checks.extend(tmux(project));
    checks.extend(guards(project));
    if !quick && let Some(command) = &project.config.ci.command {
        context
            .out
            .talk(&format!("running `{command}` on a clean checkout of `{}` …", project.config.branch));
        checks.push(tests(project, command));
    }
    checks
}

fn config(project: &Project) -> Check {
    let good = project.sources.load().and_then(|loaded| project.facts().settings(&loaded.layered).map(drop));
    match (good, project.loaded.file.note()) {
        (Err(error), _) if error.exit == Exit::Authentication => {
            Check::ok("config", "valid, but for a secret that is not where it should lie")
        }
        (Ok(()), None) => Check::ok("config", "valid, and the same here as on the main branch"),
        (Ok(()), Some(note)) => Check::warn("config", note, "git commit windlass.toml"),
        (Err(error), _) => Check::fail("config", error.sentence(), error.next.join("    ")),
    }
}

fn mains(project: &Project) -> Option<Check> {
    match Mains::of(project).apart() {
        Ok(None) => None,
        Ok(Some(Apart { waits: false, says, pull })) => Some(Check::ok("main", format!("{says}: {pull}"))),
        Ok(Some(Apart { waits: true, says, pull })) => Some(Check::warn("main", says, pull)),
        Err(error) => Some(Check::fail("main", error.to_string(), "git fsck in the state folder's repo.git")),
    }
}

/// Programs that can be found. Whether they are logged in only they know.
fn agents(project: &Project) -> Vec<Check> {
    let settings = match project.settings() {
        Ok(settings) => settings,
        Err(error) if error.exit == Exit::Authentication => {
            return vec![Check::fail("agent", error.sentence(), error.next.join("    "))];
        }
        // The check of the configuration has said so.
        Err(_) => return Vec::new(),
    };
    [("dev", settings.dev), ("critic", settings.critic)]
        .into_iter()
        .map(|(role, agent)| match &agent.kind {
            AgentKind::Demo => Check::ok("agent", format!("{role}: the scripted one, inside windlass")),
            AgentKind::Command { argv } => command(role, project.search_path(), argv),
            AgentKind::ClaudeCode(options) => claude(role, project.search_path(), options, &agent),
            AgentKind::Codex(options) => codex(role, project.search_path(), options, &agent),
            AgentKind::Acp(options) => command(role, project.search_path(), &options.command),
        })
        .collect()
}

/// Its version, and whether it is given a key: it has a home of its own, so nobody's login is seen from there.
fn claude(role: &str, search_path: &str, options: &ClaudeOptions, agent: &AgentSettings) -> Check {
    let example = "ANTHROPIC_API_KEY = \"env:ANTHROPIC_API_KEY\"";
    match version(role, search_path, &options.binary, install::remedy()) {
        Ok(says) => key(says, &CREDENTIALS, example, agent),
        Err(check) => check,
    }
}

fn codex(role: &str, search_path: &str, options: &CodexOptions, agent: &AgentSettings) -> Check {
    let remedy = "npm install -g @openai/codex    or set `binary` in [agent.dev]";
    let example = format!("{} = \"env:OPENAI_API_KEY\"", CodexOptions::KEY);
    match version(role, search_path, &options.binary, remedy.to_owned()) {
        Ok(says) => {
            let says = format!("{says}, tells no cost (of [budget] only the tokens hold it)");
            key(says, &[CodexOptions::KEY], &example, agent)
        }
        Err(check) => check,
    }
}

/// Where a program is and which version, as it says itself.
fn version(role: &str, search_path: &str, name: &str, remedy: String) -> Result<String, Check> {
    let Some(path) = program::find(search_path, name) else {
        let says = format!("{role}: there is no program `{name}` on the PATH");
        return Err(Check::fail("agent", says, remedy));
    };
    match program::version(search_path, &path) {
        Some(version) => Ok(format!("{role}: `{}`, {version}", path.display())),
        None => {
            let says = format!("{role}: `{}` does not say its version", path.display());
            Err(Check::fail("agent", says, "run it by hand"))
        }
    }
}

fn key(says: String, names: &[&str], example: &str, agent: &AgentSettings) -> Check {
    match names.iter().find(|name| agent.env.get(**name).is_some_and(|value| !value.is_empty())) {
        Some(key) => Check::ok("agent", format!("{says}, key from {key}")),
        None => {
            let remedy = format!("set env = {{ {example} }} in [agent.dev]");
            Check::warn("agent", format!("{says}, is given no key"), remedy)
        }
    }
}

/// Only where an agent is to have a terminal.
fn tmux(project: &Project) -> Option<Check> {
    let settings = project.settings().ok()?;
    let wanted = [settings.dev, settings.critic].iter().any(|agent| match &agent.kind {
        AgentKind::ClaudeCode(options) => options.screen == Screen::Tmux,
        AgentKind::Demo | AgentKind::Command { .. } | AgentKind::Codex(_) | AgentKind::Acp(_) => false,
    });
    if !wanted {
        return None;
    }
    let remedy = "install tmux 3.2 or newer, or set terminal = \"none\" in [agent.dev]";
    let mut asked = Command::new("tmux");
    asked.arg("-V").env_clear().env("PATH", project.search_path());
    let limits = Limits { time: Duration::from_secs(20), stdout: 1 << 12, when_full: Full::Fail };
    let said = match capture(&mut asked, None, &limits) {
        Ok(said) if said.code() == 0 => String::from_utf8_lossy(&said.stdout).trim().to_owned(),
        Ok(_) | Err(_) => {
            return Some(Check::fail("tmux", "an agent is to have a terminal, and there is no tmux", remedy));
        }
    };
    Some(if said == "tmux 3.3a" {
        Check::ok("tmux", format!("{said}; two known bugs of it are worked around, 3.5a has neither"))
    } else {
        Check::ok("tmux", said)
    })
}

fn command(role: &str, search_path: &str, argv: &[String]) -> Check {
    // A line for the shell: its first word is the program, unless the shell makes more of it.
    let first = match argv {
        [shell, flag, line] if shell == "sh" && flag == "-c" => {
            line.split_whitespace().next().unwrap_or_default()
        }
        _ => argv.first().map_or("", String::as_str),
    };
    match program::find(search_path, first) {
        Some(path) => {
            Check::ok("agent", format!("{role}: `{}`; login unknown, only it can say", path.display()))
        }
        None if first.contains(['=', '$', '(', '{', ';', '&', '|']) => {
            Check::warn("agent", format!("{role}: cannot tell which program `{first}` is"), "try it by hand")
        }
        None => Check::fail(
            "agent",
            format!("{role}: there is no program `{first}` on the PATH"),
            "install it, or set `command` in [agent.dev]",
        ),
    }
}

fn guards(project: &Project) -> Vec<Check> {
    let guards = project.config.guards();
    let judge = |name, free: Option<u64>, wanted: u64| match free {
        None => Check::warn(name, "unknown: the system does not say", "nothing is held up by it"),
        Some(free) if free >= wanted => Check::ok(name, format!("{free} MB free (guard {wanted})")),
        Some(free) => {
            let says = format!("{free} MB free, below the guard of {wanted}: nothing new is started");
            Check::fail(name, says, "free some, or lower it in [guards]")
        }
    };
    let state = project.layout.state();
    let mut disk = judge("disk", room::free_disk_mb(state), guards.min_free_disk_mb);
    if let Some(hold @ Hold::LowInodes { .. }) = room::disk(guards, state) {
        let says = format!("{}: nothing new is started", hold.sentence());
        disk = Check::fail("disk", says, "remove files on the disk that holds the state folder");
    }
    vec![judge("memory", room::free_memory_mb(), guards.min_free_memory_mb), disk]
}

/// The project's own tests, on main, as a build would run them.
fn tests(project: &Project, command: &str) -> Check {
    let remedy = "run it by hand in a fresh clone; every change is tested the same way";
    match run_ci(project, command) {
        Ok((0, _)) => Check::ok("ci", format!("`{command}` passes on `{}`", project.config.branch)),
        Ok((code, tail)) => {
            let last = windlass_core::text::one_line(&tail, 200);
            Check::fail("ci", format!("`{command}` ends with {code} on main: {last}"), remedy)
        }
        Err(error) => Check::fail("ci", error.sentence(), remedy),
    }
}

/// With the environment of a build, so that what passes here passes there.
fn run_ci(project: &Project, command: &str) -> Result<(i32, String), CliError> {
    let settings = project.settings()?;
    let folder = project.layout.state().join("doctor");
    let repo = BareRepo::open(&Git::new(project.search_path()), &project.layout.repository())?;
    let checkout =
        Slot::new(&folder, Vec::new())?.check_out(&repo, &repo.main_tip(&project.config.branch)?)?;
    let temp = folder.join("home/tmp");
    files::private_dir(&temp)?;
    let launch = ci::launch(&ci::Build {
        // What a long test says is thrown away by the shell; of its errors the beginning is kept.
        command: format!("({command}) >/dev/null"),
        checkout,
        folder: folder.clone(),
        home: folder.join("home"),
        temp,
        search_path: settings.search_path,
        wall_limit_ms: settings.policy.limits.ci.0,
        max_log_bytes: 1 << 16,
        limits: settings.limits,
    });
    let limit = Duration::from_millis(u64::try_from(settings.policy.limits.ci.0).unwrap_or(0));
    let limits = Limits { time: limit, stdout: 1 << 16, when_full: Full::Fail };
    let mut shell = Command::new(&launch.argv[0]);
    shell.args(&launch.argv[1..]).current_dir(&launch.cwd).env_clear();
    shell.envs(&settings.ci.env).envs(&launch.env);
    let done = capture(&mut shell, None, &limits).map_err(|error| {
        CliError::new("ci", Exit::Failed, format!("`{command}` does not run to its end")).because(error)
    })?;
    files::remove_tree(&folder)?;
    Ok((done.code(), String::from_utf8_lossy(&done.stderr).into_owned()))
}
