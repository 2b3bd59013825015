//! Agent programs: how each is started and what its lines mean. Translation only.

mod acp;
pub mod bridge;
mod claude;
mod codex;
mod command;
mod context;
mod demo;
mod hooks;
mod stream_json;
mod tools;
mod trouble;

pub use acp::{Acp, AcpOptions, Permission};
pub use claude::{ClaudeCode, ClaudeOptions, Screen};
pub use codex::{Codex, CodexOptions};
pub use command::Command;
pub use context::{Conversation, Limits, SessionContext};
pub use demo::Demo;
pub use hooks::{HOOKS, HookMeaning, HookNote, PROTOCOL, fired, notes as hook_notes};
pub use trouble::{Trouble, trouble};

use std::path::{Path, PathBuf};

use windlass_core::activity::Act;

use crate::shim::Launch;

/// One kind of agent program.
pub trait Driver: Send + Sync {
    /// What to run for a session.
    fn launch(&self, context: &SessionContext) -> Launch;

    /// Whether a new process can go on with the conversation of one that is gone.
    fn resumes(&self) -> bool;

    /// The socket of the tmux server in which the session of this folder runs, if it has a terminal.
    fn terminal(&self, _folder: &Path) -> Option<PathBuf> {
        None
    }
}

/// What one line of a transcript says; nothing for a line that tells us nothing. A line that one kind of agent does not
/// write, another does.
pub fn read(line: &str) -> Vec<Seen> {
    let mut seen = command::read(line);
    seen.extend(stream_json::read(line));
    seen
}

/// Something an agent was seen to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Seen {
    Said(String),
    Tool {
        name: String,
        target: Option<String>,
        act: Act,
    },
    /// How many tokens the conversation has, as its last request showed.
    Context(u64),
    /// How many the model can hold.
    Window(u64),
    Usage(Usage),
    TurnResult {
        is_error: bool,
        text: String,
    },
    /// The provider's name for the conversation, by which it can be resumed.
    ProviderSession(String),
}

/// What a turn used up.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Usage {
    pub input: u64,
    pub cache_write: u64,
    pub cache_read: u64,
    pub output: u64,
    pub model: Option<String>,
    /// As the program says it: some count from the start of the process, not of the turn.
    pub cost_micro_usd: Option<u64>,
}
