//! The agent's own name for a conversation, for agents that choose it themselves: kept in the session's private home.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::files::{self, FileError};

const FOLDER: &str = ".windlass";

/// Which of the agent's conversations is ours. It lies where the agent's own memory lies, and goes where that goes.
#[derive(Debug, Clone)]
pub struct Memory {
    path: PathBuf,
}

/// The tokens of a conversation since it began, for agents that count no other way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spent {
    /// The cached ones are among them.
    pub input: u64,
    pub cached: u64,
    pub output: u64,
}

#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    agent_session: String,
    #[serde(default)]
    spent: Spent,
}

impl Memory {
    pub fn new(home: &Path, conversation: &str) -> Self {
        Self { path: home.join(FOLDER).join(format!("conversation-{conversation}.json")) }
    }

    pub fn recall(&self) -> Result<Option<String>, FileError> {
        Ok(self.kept()?.map(|kept| kept.agent_session))
    }

    /// A name that is known already keeps its count.
    pub fn keep(&self, agent_session: &str) -> io::Result<()> {
        if self.recall().map_err(io::Error::other)?.as_deref() == Some(agent_session) {
            return Ok(());
        }
        self.write(&Kept { agent_session: agent_session.to_owned(), spent: Spent::default() })
    }

    /// Takes the new total and answers what came to it since the last one. A total that is lower was counted from a new start.
    pub fn spend(&self, total: Spent) -> io::Result<Spent> {
        let Some(kept) = self.kept().map_err(io::Error::other)? else { return Ok(total) };
        self.write(&Kept { spent: total, ..kept })?;
        Ok(total.since(kept.spent).unwrap_or(total))
    }

    fn kept(&self) -> Result<Option<Kept>, FileError> {
        let Some(bytes) = files::read_head(&self.path, 1 << 16)? else { return Ok(None) };
        // Written whole or not at all: what is not understood was never a name.
        Ok(serde_json::from_slice(&bytes).ok())
    }

    fn write(&self, kept: &Kept) -> io::Result<()> {
        std::fs::create_dir_all(self.path.parent().expect("it lies in a folder"))?;
        files::write_json(&self.path, kept).map_err(io::Error::other)
    }
}

impl Spent {
    fn since(self, before: Self) -> Option<Self> {
        Some(Self {
            input: self.input.checked_sub(before.input)?,
            cached: self.cached.checked_sub(before.cached)?,
            output: self.output.checked_sub(before.output)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_found_again_under_the_conversation_it_belongs_to() {
        let home = tempfile::tempdir().unwrap();
        let memory = Memory::new(home.path(), "c-1");
        assert_eq!(memory.recall().unwrap(), None);
        memory.keep("thread-9").unwrap();
        assert_eq!(Memory::new(home.path(), "c-1").recall().unwrap().as_deref(), Some("thread-9"));
        assert_eq!(Memory::new(home.path(), "c-2").recall().unwrap(), None);
    }

    #[test]
    fn each_turn_has_its_own_share_of_the_total() {
        let home = tempfile::tempdir().unwrap();
        let memory = Memory::new(home.path(), "c-1");
        let total = |input, cached, output| Spent { input, cached, output };
        memory.keep("thread-9").unwrap();
        assert_eq!(memory.spend(total(200, 120, 40)).unwrap(), total(200, 120, 40));
        memory.keep("thread-9").unwrap();
        assert_eq!(memory.spend(total(500, 300, 50)).unwrap(), total(300, 180, 10));
        assert_eq!(memory.spend(total(100, 0, 10)).unwrap(), total(100, 0, 10), "it began to count anew");
        assert_eq!(memory.recall().unwrap().as_deref(), Some("thread-9"));
    }
}
