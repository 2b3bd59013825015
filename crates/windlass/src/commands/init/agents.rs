//! Which agents are installed, and whether the environment holds a key for them. The key itself is never looked at.

use std::path::Path;

use windlass_adapters::agent::CodexOptions;

use crate::config::{AgentChoice, CODEX_CREDENTIALS, CREDENTIALS, FILE, Kind};
use crate::context::Context;
use crate::view::AgentFound;
use crate::{program, project, tools};

/// Agents of the Agent Client Protocol, as they are started. Each has its own provider, settings and login.
const ACP: [[&str; 2]; 3] = [["goose", "acp"], ["gemini", "--acp"], ["opencode", "acp"]];

/// In the order in which they are taken. They are asked for their version and for nothing else.
pub fn found(context: &Context) -> Vec<AgentFound> {
    let search_path = &context.around.search_path;
    let claude = tools::claude(search_path, project::tools_folder(context).as_deref());
    let codex = program::find(search_path, &CodexOptions::default().binary);
    let keyed = |kind: Kind, path: &Path, keys: &[&'static str]| {
        let key = there(context, keys);
        let login = if key.is_some() { "key" } else { "missing" };
        AgentFound { login, key, ..seen(context, kind, path) }
    };
    let acp = ACP.iter().filter_map(|command| {
        let path = program::find(search_path, command[0])?;
        let command = Some(command.map(str::to_owned).to_vec());
        Some(AgentFound { command, ..seen(context, Kind::Acp, &path) })
    });
    let claude = claude.map(|path| keyed(Kind::ClaudeCode, &path, &CREDENTIALS));
    let codex = codex.map(|path| keyed(Kind::Codex, &path, &CODEX_CREDENTIALS));
    claude.into_iter().chain(codex).chain(acp).collect()
}

fn seen(context: &Context, kind: Kind, path: &Path) -> AgentFound {
    AgentFound {
        kind: kind.word(),
        program: path.display().to_string(),
        command: None,
        version: program::version(&context.around.search_path, path),
        login: "unknown",
        key: None,
    }
}

/// The first of them, to be given the key that is there.
pub fn first(found: &[AgentFound]) -> Option<AgentChoice> {
    let agent = found.first()?;
    match &agent.command {
        Some(command) => Some(AgentChoice::AcpFound(command.clone())),
        None => AgentChoice::parse(agent.kind).ok(),
    }
}

/// With the variable that does hold a key, if any does.
pub fn with_key(context: &Context, agent: AgentChoice) -> AgentChoice {
    match agent {
        AgentChoice::ClaudeCode { key } => {
            AgentChoice::ClaudeCode { key: there(context, &CREDENTIALS).unwrap_or(key) }
        }
        AgentChoice::Codex { key } => {
            AgentChoice::Codex { key: there(context, &CODEX_CREDENTIALS).unwrap_or(key) }
        }
        AgentChoice::Command(_) | AgentChoice::Demo | AgentChoice::Acp(_) | AgentChoice::AcpFound(_) => agent,
    }
}

/// The choice as people know it, and what is to be done before it can work.
pub fn words(context: &Context, agent: AgentChoice) -> (String, Option<String>) {
    match agent {
        AgentChoice::Command(line) | AgentChoice::Acp(line) => (line, None),
        AgentChoice::AcpFound(command) => {
            let line = command.join(" ");
            let next = format!(
                "name what `{line}` needs in `env` of [agent.dev] of {FILE}: it gets no other variables"
            );
            (line, Some(next))
        }
        AgentChoice::Demo => ("demo".into(), None),
        AgentChoice::ClaudeCode { key } => keyed(context, Kind::ClaudeCode, key, &CREDENTIALS),
        AgentChoice::Codex { key } => keyed(context, Kind::Codex, key, &CODEX_CREDENTIALS),
    }
}

fn keyed(context: &Context, kind: Kind, key: &str, all: &[&'static str]) -> (String, Option<String>) {
    let kind = kind.word();
    if there(context, all).is_some() {
        return (format!("{kind}, key from {key}"), None);
    }
    let others: Vec<&str> = all.iter().copied().filter(|name| *name != key).collect();
    let next = format!(
        "export {key}=…    no key found for {kind}; or name {}, or a file, in [agent.dev] of {FILE}",
        others.join(" or ")
    );
    (format!("{kind}, no key found"), Some(next))
}

fn there(context: &Context, names: &[&'static str]) -> Option<&'static str> {
    names.iter().copied().find(|name| context.around.credentials.contains(name))
}
