//! What can happen to a task. Events are past: each says what was seen, never what is hoped.

use serde::{Deserialize, Serialize};

use crate::id::{ChangeNumber, SessionId, Sha};
use crate::phase::Phase;
use crate::time::Millis;
use crate::verdict::CriticReport;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Event {
    WorkspaceReady {
        base: Sha,
    },
    SessionStarted {
        session: SessionId,
    },
    PhaseSeen {
        session: SessionId,
        phase: Phase,
    },
    PhaseUnknown {
        session: SessionId,
        excerpt: String,
    },
    TurnEnded {
        session: SessionId,
    },
    AgentCrashed {
        session: SessionId,
        how: Crash,
    },
    WorkFetched {
        session: SessionId,
        head: Sha,
        tree: Sha,
    },
    WorkRejected {
        session: SessionId,
        why: Rejection,
    },
    LimitHit {
        session: SessionId,
        until: Millis,
        what: String,
    },
    /// The provider gave an error in place of an answer.
    ProviderFailed {
        session: SessionId,
        trouble: Trouble,
        what: String,
    },
    UsageSeen {
        session: SessionId,
        cost_micro_usd: u64,
        /// All of them, those from a cache too.
        #[serde(default)]
        tokens: u64,
    },
    ContextWarning {
        session: SessionId,
        urgency: Urgency,
    },
    HandoffComplete {
        session: SessionId,
    },
    ChangeOpened {
        number: ChangeNumber,
    },
    BuildPassed {
        tree: Sha,
    },
    BuildFailed {
        tree: Sha,
        failing: Vec<String>,
        log: String,
    },
    BuildBroke {
        tree: Sha,
        why: String,
    },
    VerdictGiven {
        report: CriticReport,
    },
    NoVerdict {
        head: Sha,
        why: String,
    },
    /// The provider failed the critic of this head; known is when it works again, or it is not.
    CriticFailed {
        head: Sha,
        trouble: Trouble,
        until: Option<Millis>,
        what: String,
    },
    MergeConflict {
        head: Sha,
        files: Vec<String>,
        commits: Vec<String>,
    },
    Ejected {
        head: Sha,
        failing: Vec<String>,
        log: String,
    },
    MergeComplete {
        head: Sha,
        commit: Sha,
    },
    AlreadyOnMain {
        head: Sha,
    },
    /// A person took it out of the queue.
    Withdrawn {
        by: String,
    },
    Answered {
        by: String,
        text: String,
    },
    Told {
        by: String,
        text: String,
    },
    AbandonAsked {
        by: String,
    },
    RetryAsked {
        by: String,
    },
    IssueClosed,
    SlotGranted,
    /// Nothing holds everybody up: a critic may be asked.
    CriticGranted,
    /// From then until now nobody was there: the machine slept, or the factory was down and the agent, too. No deadline
    /// counts that time.
    Away {
        since: Millis,
    },
    Due {
        deadline: Deadline,
    },
    EffectFailed {
        effect: String,
        why: String,
    },
}

/// How a session's process was lost in the middle of its turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "how", rename_all = "snake_case")]
pub enum Crash {
    Exited {
        code: i32,
    },
    Killed {
        signal: i32,
    },
    /// The process is gone and left no trace of its end.
    Vanished,
    /// Ended by us because the factory was taken down; counts as no crash.
    Stopped,
    /// Alive, but without any sign of work for too long.
    Silent,
    /// The conversation cannot be resumed: the agent knows nothing of it.
    ConversationLost,
    /// The conversation is too long for the model; only a successor can go on.
    ContextFull,
    /// The provider's API failed in a way that nobody knows.
    Provider {
        what: String,
    },
}

/// What a provider's error asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trouble {
    /// It is down, too busy or out of reach: the same again later.
    Passing,
    /// A key, a right or a bill: only a person can mend it.
    NeedsPerson,
}

/// Why the work in a workspace could not be taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum Rejection {
    NothingCommitted,
    NothingNew { head: Sha },
    OtherBranch { branch: String },
    HistoryRewritten,
    WorkspaceGone,
    Unreadable { detail: String },
}

/// What is done about a context that fills up: watch it, have the work saved, or hand over.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Urgency {
    Low,
    Medium,
    High,
}

/// A time that has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Deadline {
    WallClock,
    Ci,
    Critic,
    Renotify,
    Answer,
    Limit,
    Handoff,
}

impl Event {
    /// The event's stable name, equal to its `kind` in stored JSON.
    pub fn name(&self) -> &'static str {
        match self {
            Self::WorkspaceReady { .. } => "workspace_ready",
            Self::SessionStarted { .. } => "session_started",
            Self::PhaseSeen { .. } => "phase_seen",
            Self::PhaseUnknown { .. } => "phase_unknown",
            Self::TurnEnded { .. } => "turn_ended",
            Self::AgentCrashed { .. } => "agent_crashed",
            Self::WorkFetched { .. } => "work_fetched",
            Self::WorkRejected { .. } => "work_rejected",
            Self::LimitHit { .. } => "limit_hit",
            Self::ProviderFailed { .. } => "provider_failed",
            Self::UsageSeen { .. } => "usage_seen",
            Self::ContextWarning { .. } => "context_warning",
            Self::HandoffComplete { .. } => "handoff_complete",
            Self::ChangeOpened { .. } => "change_opened",
            Self::BuildPassed { .. } => "build_passed",
            Self::BuildFailed { .. } => "build_failed",
            Self::BuildBroke { .. } => "build_broke",
            Self::VerdictGiven { .. } => "verdict_given",
            Self::NoVerdict { .. } => "no_verdict",
            Self::CriticFailed { .. } => "critic_failed",
            Self::MergeConflict { .. } => "merge_conflict",
            Self::Ejected { .. } => "ejected",
            Self::MergeComplete { .. } => "merge_complete",
            Self::AlreadyOnMain { .. } => "already_on_main",
            Self::Withdrawn { .. } => "withdrawn",
            Self::Answered { .. } => "answered",
            Self::Told { .. } => "told",
            Self::AbandonAsked { .. } => "abandon_asked",
            Self::RetryAsked { .. } => "retry_asked",
            Self::IssueClosed => "issue_closed",
            Self::SlotGranted => "slot_granted",
            Self::CriticGranted => "critic_granted",
            Self::Away { .. } => "away",
            Self::Due { .. } => "due",
            Self::EffectFailed { .. } => "effect_failed",
        }
    }

    /// The dev session that alone may say this, if there is one.
    pub fn session(&self) -> Option<&SessionId> {
        match self {
            Self::SessionStarted { session }
            | Self::PhaseSeen { session, .. }
            | Self::PhaseUnknown { session, .. }
            | Self::TurnEnded { session }
            | Self::AgentCrashed { session, .. }
            | Self::WorkFetched { session, .. }
            | Self::WorkRejected { session, .. }
            | Self::LimitHit { session, .. }
            | Self::ProviderFailed { session, .. }
            | Self::ContextWarning { session, .. }
            | Self::HandoffComplete { session } => Some(session),
            // Money is money, also that of a critic or of a session that was replaced.
            Self::UsageSeen { .. }
            | Self::WorkspaceReady { .. }
            | Self::ChangeOpened { .. }
            | Self::BuildPassed { .. }
            | Self::BuildFailed { .. }
            | Self::BuildBroke { .. }
            | Self::VerdictGiven { .. }
            | Self::NoVerdict { .. }
            | Self::CriticFailed { .. }
            | Self::MergeConflict { .. }
            | Self::Ejected { .. }
            | Self::MergeComplete { .. }
            | Self::AlreadyOnMain { .. }
            | Self::Withdrawn { .. }
            | Self::Answered { .. }
            | Self::Told { .. }
            | Self::AbandonAsked { .. }
            | Self::RetryAsked { .. }
            | Self::IssueClosed
            | Self::SlotGranted
            | Self::CriticGranted
            | Self::Away { .. }
            | Self::Due { .. }
            | Self::EffectFailed { .. } => None,
        }
    }
}
