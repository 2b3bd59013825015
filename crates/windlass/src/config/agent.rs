//! `[agent.*]`: which program does the work of which role, and how it is started.

use std::collections::BTreeMap;

use serde::Deserialize;
use windlass_adapters::agent::{AcpOptions, ClaudeOptions, CodexOptions, Permission, Screen};
use windlass_core::time::Span;
use windlass_engine::{AgentKind, AgentSettings};

use super::explain::Fault;
use super::{Place, Time};
use super::{reference, sense};
use crate::{program, tools};

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Agents {
    pub dev: Option<Agent>,
    /// None means the same as `dev`.
    pub critic: Option<Agent>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Agent {
    pub kind: Kind,
    pub command: Option<Argv>,
    pub binary: Option<String>,
    pub model: Option<String>,
    pub base_url: Option<String>,
    pub permission_mode: Option<String>,
    pub max_turns: Option<u32>,
    pub keep_warm: Option<Time>,
    pub terminal: Option<Terminal>,
    #[serde(default)]
    pub env: BTreeMap<String, String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    Command,
    Demo,
    ClaudeCode,
    Codex,
    Acp,
}

impl Kind {
    pub fn word(self) -> &'static str {
        match self {
            Self::Command => "command",
            Self::Demo => "demo",
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
            Self::Acp => "acp",
        }
    }

    /// The keys that mean something for it, besides those of all agents.
    fn keys(self) -> &'static [&'static str] {
        match self {
            Self::Command => &["command"],
            Self::Demo => &[],
            Self::ClaudeCode => &["binary", "model", "permission_mode", "max_turns", "keep_warm", "terminal"],
            Self::Codex => &["binary", "model", "base_url"],
            Self::Acp => &["command", "permission_mode", "keep_warm"],
        }
    }
}

/// In which terminal it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Terminal {
    None,
    Tmux,
}

/// A program with its arguments, or a line for the shell.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged, expecting = "expected a text for the shell, or a list with a program and its arguments")]
pub enum Argv {
    Shell(String),
    Program(Vec<String>),
}

/// The variables by which Claude Code gets its key, in the order in which it asks for them.
pub const CREDENTIALS: [&str; 3] = ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"];

/// Where people keep the key that Codex is given.
pub const CODEX_CREDENTIALS: [&str; 2] = ["OPENAI_API_KEY", CodexOptions::KEY];

/// What makes no sense although it parses.
pub fn check(agents: &Agents) -> Result<(), Fault> {
    for (key, agent) in [("agent.dev", &agents.dev), ("agent.critic", &agents.critic)] {
        if let Some(agent) = agent {
            kind(key, agent)?;
            texts(key, agent)?;
            reference::check(key, &agent.env)?;
        }
    }
    Ok(())
}

fn texts(key: &str, agent: &Agent) -> Result<(), Fault> {
    for (name, text) in [
        ("binary", &agent.binary),
        ("model", &agent.model),
        ("base_url", &agent.base_url),
        ("permission_mode", &agent.permission_mode),
    ] {
        if let Some(text) = text.as_ref().filter(|text| text.trim().is_empty() || text.contains('\0')) {
            return Err(sense::wrong(&format!("{key}.{name}"), text, "set to something, or left out"));
        }
    }
    let is_address = |url: &&String| url.starts_with("http://") || url.starts_with("https://");
    if let Some(url) = agent.base_url.as_ref().filter(|url| !is_address(url)) {
        return Err(sense::wrong(&format!("{key}.base_url"), url, "an address that begins with `https://`"));
    }
    if let Some(turns) = agent.max_turns {
        sense::number(&format!("{key}.max_turns"), turns.into(), 1..=1_000_000)?;
    }
    match agent.keep_warm {
        // Nothing means that a process is let go at once.
        Some(time) if time.0 > Span::ZERO => sense::length(&format!("{key}.keep_warm"), time.0),
        Some(_) | None => Ok(()),
    }
}

/// The agents of the two roles, dev first.
pub fn settings(agents: &Agents, place: Place<'_>) -> Result<(AgentSettings, AgentSettings), Fault> {
    let missing = || Fault::new("`agent.dev` is not set: which program does the work?");
    let dev = agents.dev.as_ref().ok_or_else(missing)?;
    let critic = agents.critic.as_ref().unwrap_or(dev);
    Ok((found("agent.dev", dev, place)?, found("agent.critic", critic, place)?))
}

/// Under its usual name Claude Code is taken from the PATH, or where we have installed it. One that is nowhere keeps its name,
/// and whoever starts it says that it is missing.
fn found(key: &str, agent: &Agent, place: Place<'_>) -> Result<AgentSettings, Fault> {
    let mut kind = kind(key, agent)?;
    if let AgentKind::ClaudeCode(options) = &mut kind
        && options.binary == ClaudeOptions::default().binary
        && program::find(place.search_path, &options.binary).is_none()
        && let Some(own) = place.tools.and_then(tools::own_claude)
    {
        options.binary = own;
    }
    Ok(AgentSettings { kind, env: reference::follow(key, &agent.env)? })
}

fn kind(key: &str, agent: &Agent) -> Result<AgentKind, Fault> {
    if let Some(name) = strange(agent) {
        let kind = agent.kind.word();
        return Err(Fault::new(format!("`{key}.{name}` has no meaning for kind `{kind}`")));
    }
    match agent.kind {
        Kind::Command => Ok(AgentKind::Command { argv: argv(key, agent)? }),
        Kind::Demo => Ok(AgentKind::Demo),
        Kind::ClaudeCode if agent.terminal == Some(Terminal::Tmux) && agent.max_turns.is_some() => {
            Err(Fault::new(format!("`{key}.max_turns` has no meaning with `terminal = \"tmux\"`")))
        }
        Kind::ClaudeCode => Ok(AgentKind::ClaudeCode(claude(agent))),
        Kind::Codex => Ok(AgentKind::Codex(codex(agent))),
        Kind::Acp => Ok(AgentKind::Acp(acp(key, agent)?)),
    }
}

/// A key that is set and belongs to another kind of agent.
fn strange(agent: &Agent) -> Option<&'static str> {
    let set = [
        ("command", agent.command.is_some()),
        ("binary", agent.binary.is_some()),
        ("model", agent.model.is_some()),
        ("base_url", agent.base_url.is_some()),
        ("permission_mode", agent.permission_mode.is_some()),
        ("max_turns", agent.max_turns.is_some()),
        ("keep_warm", agent.keep_warm.is_some()),
        ("terminal", agent.terminal.is_some()),
    ];
    let known = agent.kind.keys();
    set.into_iter().find(|(name, set)| *set && !known.contains(name)).map(|(name, _)| name)
}

fn argv(key: &str, agent: &Agent) -> Result<Vec<String>, Fault> {
    match &agent.command {
        Some(Argv::Shell(line)) if !line.trim().is_empty() => {
            Ok(vec!["sh".into(), "-c".into(), line.clone()])
        }
        Some(Argv::Program(argv)) if argv.first().is_some_and(|program| !program.is_empty()) => {
            Ok(argv.clone())
        }
        Some(_) | None => Err(Fault::new(format!("`{key}.command` is not set"))),
    }
}

fn claude(agent: &Agent) -> ClaudeOptions {
    let usual = ClaudeOptions::default();
    ClaudeOptions {
        binary: agent.binary.clone().unwrap_or(usual.binary),
        model: agent.model.clone(),
        permission_mode: agent.permission_mode.clone().unwrap_or(usual.permission_mode),
        max_turns: agent.max_turns,
        keep_warm_ms: agent.keep_warm.map_or(usual.keep_warm_ms, |time| time.0.0),
        screen: match agent.terminal {
            None | Some(Terminal::None) => Screen::None,
            Some(Terminal::Tmux) => Screen::Tmux,
        },
    }
}

fn codex(agent: &Agent) -> CodexOptions {
    CodexOptions {
        binary: agent.binary.clone().unwrap_or(CodexOptions::default().binary),
        model: agent.model.clone(),
        base_url: agent.base_url.clone(),
    }
}

/// The two modes of Claude Code that make sense where nobody is asked, by the same names.
fn acp(key: &str, agent: &Agent) -> Result<AcpOptions, Fault> {
    let usual = AcpOptions::new(argv(key, agent)?);
    let permission = match agent.permission_mode.as_deref() {
        None => usual.permission,
        Some("bypassPermissions") => Permission::Allow,
        Some("dontAsk") => Permission::Reject,
        Some(_) => {
            let says = "is neither `bypassPermissions` nor `dontAsk`, which is all that kind `acp` knows";
            return Err(Fault::new(format!("`{key}.permission_mode` {says}")));
        }
    };
    let keep_warm_ms = agent.keep_warm.map_or(usual.keep_warm_ms, |time| time.0.0);
    Ok(AcpOptions { permission, keep_warm_ms, ..usual })
}
