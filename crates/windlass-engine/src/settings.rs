//! What a project asks of its factory, read and checked before the daemon starts.

use std::collections::BTreeMap;
use std::path::PathBuf;

use sha2::{Digest, Sha256};
use windlass_adapters::agent::{AcpOptions, ClaudeOptions, CodexOptions};
use windlass_adapters::process::GroupLimits;
use windlass_core::id::{IssueNumber, Recipe};
use windlass_core::policy::Policy;
use windlass_core::time::Span;

#[derive(Debug, Clone)]
pub struct Settings {
    pub project: String,
    pub branch: String,
    pub branch_prefix: String,
    /// This program, which also is shim and demo agent.
    pub exe: PathBuf,
    /// Where programs are looked for; agents and builds get the same.
    pub search_path: String,
    pub policy: Policy,
    pub dev: AgentSettings,
    pub critic: AgentSettings,
    pub ci: CiSettings,
    pub guards: Guards,
    /// For all processes of one agent, or of one build, together.
    pub limits: GroupLimits,
    /// How often the forge is read when nothing wakes us.
    pub poll: Span,
    /// No other issue is taken than this one; whatever is under way goes on.
    pub only: Option<IssueNumber>,
}

#[derive(Debug, Clone)]
pub struct AgentSettings {
    pub kind: AgentKind,
    /// Names of variables with the values that the agent gets besides the declared ones.
    pub env: BTreeMap<String, String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentKind {
    /// Any program: the message on stdin, the workspace as its folder.
    Command {
        argv: Vec<String>,
    },
    /// The scripted agent inside this program.
    Demo,
    ClaudeCode(ClaudeOptions),
    Codex(CodexOptions),
    /// Any agent that speaks the Agent Client Protocol.
    Acp(AcpOptions),
}

#[derive(Debug, Clone)]
pub struct CiSettings {
    pub command: String,
    pub slots: u32,
    /// Folders of the checkout that survive from one build to the next.
    pub keep: Vec<String>,
    pub env: BTreeMap<String, String>,
}

/// Below these nothing new is started.
#[derive(Debug, Clone, Copy)]
pub struct Guards {
    pub min_free_memory_mb: u64,
    pub min_free_disk_mb: u64,
}

/// A configuration that was read while the factory runs.
#[derive(Debug, Clone)]
pub struct Reloaded {
    pub settings: Settings,
    /// Keys that hold from now on.
    pub taken: Vec<String>,
    /// Keys that differ and wait for the next start.
    pub waiting: Vec<String>,
}

impl Settings {
    /// Takes over what may change while work is under way. What decides a build, where main is, and who works stays:
    /// a verdict is about one recipe, and a session about one program.
    pub fn take_over(&mut self, new: &Self) {
        let ci = self.policy.limits.ci;
        self.policy = new.policy.clone();
        self.policy.limits.ci = ci;
        self.ci.slots = new.ci.slots;
        self.guards = new.guards;
        self.limits = new.limits;
        self.poll = new.poll;
    }

    /// What decides a build besides its tree.
    pub fn recipe(&self) -> Recipe {
        let mut hash = Sha256::new();
        let limit = self.policy.limits.ci.0.to_string();
        for part in [self.ci.command.as_str(), limit.as_str()]
            .into_iter()
            .chain(self.ci.env.iter().flat_map(|(key, value)| [key.as_str(), value.as_str()]))
        {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part.as_bytes());
        }
        let digest = hash.finalize();
        Recipe(digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect())
    }
}
