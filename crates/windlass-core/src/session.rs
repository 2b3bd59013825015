//! Who is at work: identities, hooks and how sure we are that they live.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::activity::{Activity, ContextUse};
use crate::id::{IssueNumber, SessionId, Sha, TaskId};
use crate::policy::Limits;
use crate::task::State;
use crate::time::{Millis, Span};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    Dev,
    Review,
}

impl Role {
    pub fn word(self) -> &'static str {
        match self {
            Self::Dev => "dev",
            Self::Review => "review",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum IdentityStatus {
    Active,
    Terminated,
    Crashed,
}

/// A session's entry in the registry. Written before its process starts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Identity {
    pub role: Role,
    pub name: SessionId,
    pub task: TaskId,
    pub issue: IssueNumber,
    /// The provider's name of the conversation, as far as it is known.
    pub session_id: Option<String>,
    pub pid: Option<u32>,
    pub tmux_session: Option<String>,
    pub node_id: Option<String>,
    pub bead_id: Option<String>,
    pub worktree_path: String,
    pub hook_path: String,
    pub created_at: Millis,
    pub last_seen: Millis,
    pub status: IdentityStatus,
    pub predecessor_id: Option<SessionId>,
    /// Consecutive checks without a sign of life.
    pub strikes: u32,
    /// The head that a review session reads.
    pub head: Option<Sha>,
    /// Which write of the phase file was acted on last.
    pub phase_mark: Option<String>,
    /// How far the shim's facts were read.
    pub facts_read: u64,
    /// What the conversation has cost so far, as its agent last said.
    #[serde(default)]
    pub cost_seen_micro_usd: u64,
    /// How far its transcript and the notes of its hooks were read, in bytes.
    #[serde(default)]
    pub transcript_read: u64,
    #[serde(default)]
    pub hooks_read: u64,
    #[serde(default)]
    pub activity: Activity,
    #[serde(default)]
    pub context: ContextUse,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WorkPhase {
    Investigation,
    Planning,
    Implementation,
    Testing,
    Completion,
    Merged,
}

impl WorkPhase {
    pub fn word(self) -> &'static str {
        match self {
            Self::Investigation => "investigation",
            Self::Planning => "planning",
            Self::Implementation => "implementation",
            Self::Testing => "testing",
            Self::Completion => "completion",
            Self::Merged => "merged",
        }
    }

    /// The work phase that a task's state shows; a driver that sees tool use may know better.
    pub fn of(state: &State) -> Self {
        match state {
            State::Dispatched => Self::Investigation,
            State::Running { .. }
            | State::Revising { .. }
            | State::AwaitingSlot { .. }
            | State::AwaitingHuman { .. }
            | State::Limited { .. }
            | State::HandingOff { .. } => Self::Implementation,
            State::AwaitingCi { .. } => Self::Testing,
            State::AwaitingCritic { .. } | State::Queued { .. } => Self::Completion,
            State::Merged { .. } => Self::Merged,
            State::Closed { .. } | State::Abandoned { .. } => Self::Completion,
        }
    }
}

/// The crash-proof work state of an identity.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Hook {
    pub identity_name: SessionId,
    pub current_bead: Option<String>,
    pub current_node: Option<String>,
    pub work_phase: WorkPhase,
    pub work_summary: String,
    pub last_checkpoint_at: Millis,
    pub files_modified: Vec<String>,
    pub tests_status: String,
    pub resumption_instructions: String,
}

/// What `agents` shows of a session. "Unknown" is an honest answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Light {
    Alive,
    Suspect,
    Dead,
    Paused,
    NeedsYou,
    Unknown,
    Ended,
    /// Its process ended, and no factory runs that would have to notice: the next start goes on with it.
    Stopped,
}

/// What was seen of a session's process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Process {
    Alive,
    Gone,
    NotLooked,
}

impl Light {
    /// The same while no factory runs: who is gone then has not crashed.
    #[must_use]
    pub fn without_factory(self, status: IdentityStatus) -> Self {
        match (self, status) {
            (Self::Dead, IdentityStatus::Active) => Self::Stopped,
            (light, IdentityStatus::Active | IdentityStatus::Terminated | IdentityStatus::Crashed) => light,
        }
    }
}

/// The light of an identity, from its task's state, its process and the age of its last sign of life.
pub fn light(limits: &Limits, state: &State, status: IdentityStatus, process: Process, quiet: Span) -> Light {
    match status {
        IdentityStatus::Crashed => return Light::Dead,
        IdentityStatus::Terminated => return Light::Ended,
        IdentityStatus::Active => {}
    }
    if let State::AwaitingHuman { .. } = state {
        return Light::NeedsYou;
    }
    if !state.holds_slot() {
        return Light::Paused;
    }
    match process {
        Process::NotLooked => Light::Unknown,
        Process::Gone => Light::Dead,
        Process::Alive if quiet >= limits.stale_after => Light::Suspect,
        Process::Alive => Light::Alive,
    }
}
