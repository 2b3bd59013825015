//! Bridges: a process between the shim and an agent that speaks another language than stream-json.
//!
//! The shim sees one more program that takes messages and answers in stream-json; how the agent itself is spoken to is known
//! here alone. A bridge holds no fact: what must outlive it lies in the session's private home.

pub mod acp;
pub mod codex;
mod failure;
mod memory;
mod program;
mod talk;
pub mod terminal;

pub use memory::Memory;
pub use talk::{Talk, Tool, Turn};
pub use terminal::Terminal;

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// What `windlass bridge` is told to be, in its only argument.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bridge {
    Codex(codex::Codex),
    Acp(acp::Acp),
    Terminal(Terminal),
}

impl Bridge {
    /// The command line that runs this bridge.
    pub fn argv(&self, windlass: &Path) -> Vec<String> {
        let told = serde_json::to_string(self).expect("a bridge is plain data");
        vec![windlass.to_string_lossy().into_owned(), "bridge".to_owned(), told]
    }

    /// Speaks for the agent until nobody has anything more to say.
    pub fn run(&self) -> io::Result<()> {
        match self {
            Self::Codex(codex) => codex.run(),
            Self::Acp(acp) => acp.run(),
            Self::Terminal(terminal) => terminal.run(),
        }
    }
}
