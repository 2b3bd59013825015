//! One issue's way to main: the task, its states, what can happen to it and what is done about it.

mod due;
mod effect;
mod event;
mod reason;
mod step;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

pub use due::{due, wake_at};
pub use effect::{BuildLane, Effect, Ending, Lane, Start};
pub use event::{Crash, Deadline, Event, Rejection, Trouble, Urgency};
pub use reason::{AbandonReason, ClosedHow, Feedback, Refusal};
pub use step::{Claim, Stale, Step, branch_of, claim, step};

use crate::id::{ChangeNumber, IssueNumber, SessionId, Sha, TaskId};
use crate::phase::Phase;
use crate::time::{Millis, Span};
use crate::verdict::Finding;

/// Windlass's record of one issue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    pub id: TaskId,
    pub issue: IssueNumber,
    pub title: String,
    pub branch: String,
    pub state: State,
    /// When the state was entered.
    pub since: Millis,
    /// The dev session that works, or will be resumed.
    pub session: SessionId,
    /// Dev sessions so far, the current one included.
    pub sessions: u32,
    /// Review sessions so far.
    pub reviews: u32,
    /// Main as it was when the workspace was made.
    pub base: Option<Sha>,
    pub change: Option<ChangeNumber>,
    /// The last head that was pushed.
    pub pushed: Option<Sha>,
    /// How often a person asked for another try.
    pub retries: u32,
    pub tally: Tally,
    pub findings: Vec<Finding>,
    /// What people said while the session had no slot; it hears that when it goes on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub said: Vec<String>,
    /// Effects ordered so far; the next one's number is part of its key.
    pub effects: u64,
    /// When active time was last counted.
    pub counted_at: Millis,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bead_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_id: Option<String>,
}

/// What has been used up. Carried over iterations and restarts; only a person's retry starts it anew.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    pub active: Span,
    pub cost_micro_usd: u64,
    #[serde(default)]
    pub tokens: u64,
    pub critic_rounds: u32,
    pub ci_fixes: u32,
    /// Builds of the current head that could not run.
    pub ci_infra: u32,
    /// Reminders since the agent last did what was asked.
    pub nudges: u32,
    /// Reviews of the current head that gave no verdict.
    pub no_verdicts: u32,
    pub conflicts: u32,
    /// Turns in a row that the provider let fail.
    #[serde(default)]
    pub outages: u32,
    /// Conversations in a row that could not be resumed.
    #[serde(default)]
    pub forgotten: u32,
    /// When the agent was restarted after a crash.
    pub restarts: Vec<Millis>,
}

/// Where a task stands. A state carries what is true only in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum State {
    Dispatched,
    Running {
        heard: Option<Phase>,
    },
    AwaitingCi {
        head: Sha,
        tree: Sha,
    },
    AwaitingCritic {
        head: Sha,
        tree: Sha,
        critic: Critic,
    },
    /// Feedback is ready; the session goes on as soon as a slot is free.
    AwaitingSlot {
        feedback: Feedback,
    },
    Revising {
        feedback: Feedback,
        heard: Option<Phase>,
    },
    AwaitingHuman {
        question: String,
        notified_at: Millis,
    },
    Limited {
        until: Millis,
        what: String,
    },
    HandingOff {
        urgency: Urgency,
        /// What the session was working on, if not the issue itself.
        #[serde(default)]
        feedback: Option<Feedback>,
    },
    Queued {
        head: Sha,
        tree: Sha,
    },
    Merged {
        commit: Sha,
    },
    Closed {
        how: ClosedHow,
    },
    Abandoned {
        reason: AbandonReason,
    },
}

/// Who reads a head.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum Critic {
    /// Asked as soon as nothing holds everybody up.
    Wanted,
    Reading {
        session: SessionId,
    },
    /// The provider of the last one fails: another is wanted at this time.
    Down {
        until: Millis,
        what: String,
    },
}

impl State {
    /// The name that people see.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Dispatched => "DISPATCHED",
            Self::Running { .. } => "RUNNING",
            Self::AwaitingCi { .. } => "AWAITING_CI",
            Self::AwaitingCritic { .. } => "AWAITING_CRITIC",
            Self::AwaitingSlot { .. } => "AWAITING_SLOT",
            Self::Revising { .. } => "REVISING",
            Self::AwaitingHuman { .. } => "AWAITING_HUMAN",
            Self::Limited { .. } => "LIMITED",
            Self::HandingOff { .. } => "HANDING_OFF",
            Self::Queued { .. } => "QUEUED",
            Self::Merged { .. } => "MERGED",
            Self::Closed { .. } => "CLOSED",
            Self::Abandoned { .. } => "ABANDONED",
        }
    }

    /// Whether the session was told that its last head will not do. Otherwise the same head may be tested and read again:
    /// nothing spoke against it but what a person has mended meanwhile.
    pub fn wants_new_head(&self) -> bool {
        matches!(
            self,
            Self::Revising { feedback, .. } | Self::HandingOff { feedback: Some(feedback), .. }
                if feedback.turns_down()
        )
    }

    /// Counts against `parallel`, burns active time, and can go stale.
    pub fn holds_slot(&self) -> bool {
        match self {
            Self::Dispatched | Self::Running { .. } | Self::Revising { .. } | Self::HandingOff { .. } => true,
            Self::AwaitingCi { .. }
            | Self::AwaitingCritic { .. }
            | Self::AwaitingSlot { .. }
            | Self::AwaitingHuman { .. }
            | Self::Limited { .. }
            | Self::Queued { .. }
            | Self::Merged { .. }
            | Self::Closed { .. }
            | Self::Abandoned { .. } => false,
        }
    }

    /// The critic's session that reads the work now.
    pub fn critic(&self) -> Option<&SessionId> {
        match self {
            Self::AwaitingCritic { critic: Critic::Reading { session }, .. } => Some(session),
            Self::AwaitingCritic { critic: Critic::Wanted | Critic::Down { .. }, .. }
            | Self::Dispatched
            | Self::Running { .. }
            | Self::AwaitingCi { .. }
            | Self::AwaitingSlot { .. }
            | Self::Revising { .. }
            | Self::AwaitingHuman { .. }
            | Self::Limited { .. }
            | Self::HandingOff { .. }
            | Self::Queued { .. }
            | Self::Merged { .. }
            | Self::Closed { .. }
            | Self::Abandoned { .. } => None,
        }
    }

    pub fn wants_critic(&self) -> bool {
        matches!(self, Self::AwaitingCritic { critic: Critic::Wanted, .. })
    }

    pub fn is_terminal(&self) -> bool {
        matches!(self, Self::Merged { .. } | Self::Closed { .. } | Self::Abandoned { .. })
    }
}
