//! What a person asks of the running factory. Commands are stored first and become events.

use serde::{Deserialize, Serialize};

use crate::id::IssueNumber;
use crate::task::State;

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
    Pause {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// Takes work again, and lets the queue go on too.
    Resume,
    /// Nothing lands and nothing is tested for the queue; its entries stay.
    QueuePause {
        reason: String,
    },
    QueueResume,
    /// This one lands before its turn.
    QueueFront {
        issue: IssueNumber,
    },
    /// This one leaves the queue; its work is kept.
    QueueDrop {
        issue: IssueNumber,
    },
    /// A person types in the terminal of the issue's agent.
    TakeKeyboard {
        issue: IssueNumber,
        typist: Typist,
    },
    /// And no longer does.
    ReturnKeyboard {
        issue: IssueNumber,
        typist: Typist,
    },
}

impl Command {
    /// The issue that it is about.
    pub fn issue(&self) -> Option<IssueNumber> {
        match self {
            Self::Tell { issue, .. }
            | Self::Retry { issue }
            | Self::Abandon { issue }
            | Self::QueueFront { issue }
            | Self::QueueDrop { issue }
            | Self::TakeKeyboard { issue, .. }
            | Self::ReturnKeyboard { issue, .. } => Some(*issue),
            Self::Pause { .. } | Self::Resume | Self::QueuePause { .. } | Self::QueueResume => None,
        }
    }
}

/// The process through which a person types: its number alone is not enough, numbers come round again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Typist {
    pub pid: i32,
    /// In clock ticks since boot.
    pub start_time: u64,
    /// Of which boot of the machine that is.
    pub boot: String,
}

/// Why an issue cannot be tried again, from where its newest task stands; none if it can.
pub fn cannot_retry(newest: Option<&State>) -> Option<String> {
    match newest {
        Some(State::Abandoned { .. }) => None,
        Some(state) => Some(format!("only an abandoned task can be retried, it is {}", state.name())),
        None => Some("it has no task to retry".into()),
    }
}

/// What became of a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum Answer {
    Done { what: String },
    Refused { why: String },
}
