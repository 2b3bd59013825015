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

#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    agent_session: String,
}

impl Memory {
    pub fn new(home: &Path, conversation: &str) -> Self {
        Self { path: home.join(FOLDER).join(format!("conversation-{conversation}.json")) }
    }

    pub fn recall(&self) -> Result<Option<String>, FileError> {
        let Some(bytes) = files::read_head(&self.path, 1 << 16)? else { return Ok(None) };
        // Written whole or not at all: what is not understood was never a name.
        Ok(serde_json::from_slice(&bytes).ok().map(|kept: Kept| kept.agent_session))
    }

    pub fn keep(&self, agent_session: &str) -> io::Result<()> {
        std::fs::create_dir_all(self.path.parent().expect("it lies in a folder"))?;
        let kept = Kept { agent_session: agent_session.to_owned() };
        files::write_json(&self.path, &kept).map_err(io::Error::other)
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
}
