//! `[agent.*]`: which program does the work of which role, and how it is started.

use std::collections::BTreeMap;

use serde::Deserialize;
use windlass_engine::{AgentKind, AgentSettings};

use super::explain::Fault;

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
    #[serde(default)]
    pub env: BTreeMap<String, String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    Command,
    Demo,
}

/// A program with its arguments, or a line for the shell.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged, expecting = "expected a text for the shell, or a list with a program and its arguments")]
pub enum Argv {
    Shell(String),
    Program(Vec<String>),
}

/// What makes no sense although it parses.
pub fn check(agents: &Agents) -> Result<(), Fault> {
    for (key, agent) in [("agent.dev", &agents.dev), ("agent.critic", &agents.critic)] {
        if let Some(agent) = agent {
            kind(key, agent)?;
        }
    }
    Ok(())
}

/// The agents of the two roles, dev first.
pub fn settings(agents: &Agents) -> Result<(AgentSettings, AgentSettings), Fault> {
    let missing = || Fault::new("`agent.dev` is not set: which program does the work?");
    let dev = agents.dev.as_ref().ok_or_else(missing)?;
    let critic = agents.critic.as_ref().unwrap_or(dev);
    Ok((agent("agent.dev", dev)?, agent("agent.critic", critic)?))
}

fn agent(key: &str, agent: &Agent) -> Result<AgentSettings, Fault> {
    Ok(AgentSettings { kind: kind(key, agent)?, env: agent.env.clone() })
}

fn kind(key: &str, agent: &Agent) -> Result<AgentKind, Fault> {
    match (agent.kind, &agent.command) {
        (Kind::Command, Some(Argv::Shell(line))) if !line.trim().is_empty() => {
            Ok(AgentKind::Command { argv: vec!["sh".into(), "-c".into(), line.clone()] })
        }
        (Kind::Command, Some(Argv::Program(argv))) if !argv.is_empty() => {
            Ok(AgentKind::Command { argv: argv.clone() })
        }
        (Kind::Command, Some(_) | None) => Err(Fault::new(format!("`{key}.command` is not set"))),
        (Kind::Demo, None) => Ok(AgentKind::Demo),
        (Kind::Demo, Some(_)) => Err(Fault::new(format!("`{key}.command` has no meaning for kind `demo`"))),
    }
}
