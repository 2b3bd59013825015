//! What a person asks of the running factory. Commands are stored first and become events.

use serde::{Deserialize, Serialize};

use crate::id::IssueNumber;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "snake_case")]
pub enum Command {
    Tell {
        issue: IssueNumber,
        text: String,
    },
    Retry {
        issue: IssueNumber,
    },
    Abandon {
        issue: IssueNumber,
    },
    /// Nothing new is started and no session is resumed; what runs goes on.
    Pause,
    Resume,
}

/// What became of a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum Answer {
    Done { what: String },
    Refused { why: String },
}
