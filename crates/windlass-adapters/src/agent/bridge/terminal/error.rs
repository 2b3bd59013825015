//! What can go wrong around a terminal.

use std::io;

use crate::files::FileError;
use crate::process::RunError;

#[derive(Debug, thiserror::Error)]
pub enum TerminalError {
    #[error("cannot run `tmux {what}`")]
    Run { what: String, source: RunError },
    #[error("`tmux {what}` failed: {said}")]
    Refused { what: String, said: String },
    #[error("the tmux server did not start in time")]
    NotUp,
    #[error("the tmux server is gone")]
    ServerGone,
    #[error("the agent's program is gone")]
    AgentGone,
    #[error(transparent)]
    File(#[from] FileError),
    #[error("lost the connection to the shim or to a process")]
    Io(#[from] io::Error),
}
