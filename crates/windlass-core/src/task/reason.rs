//! Why a task ended, and what a session is told when its work comes back.

use serde::{Deserialize, Serialize};

/// Why a task ended without success. Each can be retried by a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum AbandonReason {
    Iterations,
    Budget,
    WallClock,
    BlockedByCritic,
    Operator { by: String },
    NoHumanAnswer,
    CrashRecoveryFailed { detail: String },
    CiExhausted,
    Refused { refusal: Refusal },
    IdlePrompt,
    AgentFailed { reason: String },
}

/// Why an agent did not take an issue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    TooLarge,
    UnmetDependency,
    AlreadyDone,
}

/// How a task ended well without a merge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "how", rename_all = "snake_case")]
pub enum ClosedHow {
    /// Somebody closed the issue on the forge.
    IssueClosed,
    /// Nothing was left to land: main already holds the work.
    AlreadyOnMain,
}

/// What the session is told next. Each retry carries the reason of the last failure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "feedback", rename_all = "snake_case")]
pub enum Feedback {
    CiFailed {
        head: String,
        failing: Vec<String>,
        log: String,
    },
    ChangesRequested {
        round: u32,
        text: String,
    },
    Conflict {
        files: Vec<String>,
        commits: Vec<String>,
    },
    GateFailed {
        failing: Vec<String>,
        log: String,
    },
    Answer {
        by: String,
        text: String,
    },
    Told {
        by: String,
        text: String,
    },
    LimitOver,
    /// A person wants another try: a new session begins.
    Retry {
        reason: String,
    },
}

impl Refusal {
    /// An agent refuses with `PHASE:failed` and `Reason: refused: too_large`.
    pub fn parse(reason: &str) -> Option<Self> {
        let word = reason.trim().strip_prefix("refused:")?.trim();
        match word.split_whitespace().next()? {
            "too_large" => Some(Self::TooLarge),
            "unmet_dependency" => Some(Self::UnmetDependency),
            "already_done" => Some(Self::AlreadyDone),
            _ => None,
        }
    }

    pub fn word(self) -> &'static str {
        match self {
            Self::TooLarge => "too_large",
            Self::UnmetDependency => "unmet_dependency",
            Self::AlreadyDone => "already_done",
        }
    }
}

impl AbandonReason {
    /// The stable word of the reason, as it stands in comments, events and `--json`.
    pub fn word(&self) -> String {
        match self {
            Self::Iterations => "iterations".into(),
            Self::Budget => "budget".into(),
            Self::WallClock => "wall_clock".into(),
            Self::BlockedByCritic => "blocked_by_critic".into(),
            Self::Operator { .. } => "operator".into(),
            Self::NoHumanAnswer => "no_human_answer".into(),
            Self::CrashRecoveryFailed { .. } => "crash_recovery_failed".into(),
            Self::CiExhausted => "ci_exhausted".into(),
            Self::Refused { refusal } => format!("refused/{}", refusal.word()),
            Self::IdlePrompt => "idle_prompt".into(),
            Self::AgentFailed { .. } => "agent_failed".into(),
        }
    }

    /// The sentence behind the word.
    pub fn sentence(&self) -> String {
        match self {
            Self::Iterations => "The critic asked for changes as often as is allowed.".into(),
            Self::Budget => "The money or the tokens set for one issue are spent.".into(),
            Self::WallClock => "The active time set for one worker is spent.".into(),
            Self::BlockedByCritic => "The critic blocked the change.".into(),
            Self::Operator { by } => format!("Stopped by {by}."),
            Self::NoHumanAnswer => "Nobody answered the question in time.".into(),
            Self::CrashRecoveryFailed { detail } => {
                format!("The session could not be brought back: {detail}.")
            }
            Self::CiExhausted => "CI failed more often than the session may try to fix it.".into(),
            Self::Refused { refusal } => format!("The agent refused the issue: {}.", refusal.word()),
            Self::IdlePrompt => "The agent stopped without a signal, also after it was reminded.".into(),
            Self::AgentFailed { reason } => format!("The agent gave up: {reason}"),
        }
    }
}

impl Feedback {
    /// Whether it says that the head as it is will not do.
    pub fn turns_down(&self) -> bool {
        match self {
            Self::CiFailed { .. }
            | Self::ChangesRequested { .. }
            | Self::Conflict { .. }
            | Self::GateFailed { .. } => true,
            Self::Answer { .. } | Self::Told { .. } | Self::LimitOver | Self::Retry { .. } => false,
        }
    }

    pub fn word(&self) -> &'static str {
        match self {
            Self::CiFailed { .. } => "ci_failed",
            Self::ChangesRequested { .. } => "changes_requested",
            Self::Conflict { .. } => "conflict",
            Self::GateFailed { .. } => "gate_failed",
            Self::Answer { .. } => "answer",
            Self::Told { .. } => "told",
            Self::LimitOver => "limit_over",
            Self::Retry { .. } => "retry",
        }
    }
}
