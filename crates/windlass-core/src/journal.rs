//! The event log that people and programs read: what happened, once, in order.

use serde::{Deserialize, Serialize};

use crate::build::BuildOutcome;
use crate::command::Command;
use crate::id::{BuildId, EffectKey, IssueNumber, Recipe, SessionId, Sha, TaskId};
use crate::queue::History;
use crate::session::{Role, WorkPhase};
use crate::task::{BuildLane, Event};
use crate::time::{Millis, Span};

/// One line of the log, before it has a number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    pub at: Millis,
    pub task: Option<TaskId>,
    pub issue: Option<IssueNumber>,
    pub fact: Fact,
}

/// What the log can say: an event of a task, or a fact about the factory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Fact {
    Factory(FactoryFact),
    Task(Event),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum FactoryFact {
    DaemonStarted {
        epoch: u64,
        pid: u32,
        version: String,
    },
    DaemonStopped {
        epoch: u64,
    },
    /// A copy was put in the place of a damaged database.
    DatabaseRestored {
        copy: String,
        aside: String,
    },
    TaskClaimed {
        title: String,
        branch: String,
        session: SessionId,
    },
    TaskMoved {
        from: String,
        to: String,
        reason: String,
        session: SessionId,
    },
    AgentRegistered {
        session: SessionId,
        role: Role,
        predecessor: Option<SessionId>,
    },
    AgentTerminated {
        session: SessionId,
    },
    HookUpdated {
        session: SessionId,
        work_phase: WorkPhase,
    },
    MergeReady {
        head: Sha,
    },
    HandoffRequested {
        session: SessionId,
    },
    OrchestratorStuck {
        session: SessionId,
    },
    /// A hook of the agent's program fired.
    AgentHook {
        session: SessionId,
        hook: String,
        detail: String,
    },
    /// A person types in the session's terminal; nothing is said to it meanwhile.
    KeyboardTaken {
        session: SessionId,
        by: String,
    },
    KeyboardReturned {
        session: SessionId,
        by: String,
    },
    BuildQueued {
        build: BuildId,
        commit: Sha,
        tree: Sha,
        recipe: Recipe,
        lane: BuildLane,
    },
    BuildStarted {
        build: BuildId,
        slot: u32,
    },
    BuildEnded {
        build: BuildId,
        commit: Sha,
        tree: Sha,
        recipe: Recipe,
        outcome: BuildOutcome,
    },
    /// Main was moved by us, to a commit whose tree passed under `recipe` in `build`.
    Landed {
        commit: Sha,
        tree: Sha,
        recipe: Recipe,
        build: BuildId,
        from: Sha,
        head: Sha,
        /// What the change looks like on main.
        #[serde(default)]
        history: History,
    },
    /// The change could not land in the wanted form: its commits do not give the tested tree one by one.
    LandedOtherwise {
        head: Sha,
        wanted: History,
        history: History,
    },
    /// Main was moved by somebody else.
    MainMovedOutside {
        from: Sha,
        to: Sha,
    },
    /// What the tests say of a main that somebody else made.
    OutsideMainTested {
        commit: Sha,
        result: String,
    },
    /// By a person, or by the queue itself.
    QueuePaused {
        reason: String,
        #[serde(default)]
        by: Option<String>,
    },
    QueueResumed,
    /// An entry has waited for too long.
    QueueAlarm {
        waited: Span,
        held: String,
    },
    Decided {
        decision: String,
    },
    CommandTaken {
        id: i64,
        command: Command,
        answer: String,
    },
    Paused,
    Resumed,
    /// A changed configuration was read: what holds from now on, and what only after a restart.
    ConfigTaken {
        taken: Vec<String>,
        waiting: Vec<String>,
    },
    /// A changed configuration is not valid; the last good one holds.
    ConfigRefused {
        why: String,
    },
    EffectDone {
        key: EffectKey,
        effect: String,
        attempt: u32,
        adopted: bool,
    },
    EffectRetried {
        key: EffectKey,
        effect: String,
        attempt: u32,
        error: String,
    },
    EffectGivenUp {
        key: EffectKey,
        effect: String,
        error: String,
    },
    WorkRescued {
        reference: String,
        commit: Sha,
    },
}

impl Fact {
    /// The stable name, equal to `kind` in stored JSON.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Task(event) => event.name(),
            Self::Factory(fact) => fact.kind(),
        }
    }
}

impl FactoryFact {
    fn kind(&self) -> &'static str {
        match self {
            Self::DaemonStarted { .. } => "daemon_started",
            Self::DaemonStopped { .. } => "daemon_stopped",
            Self::DatabaseRestored { .. } => "database_restored",
            Self::TaskClaimed { .. } => "task_claimed",
            Self::TaskMoved { .. } => "task_moved",
            Self::AgentRegistered { .. } => "agent_registered",
            Self::AgentTerminated { .. } => "agent_terminated",
            Self::HookUpdated { .. } => "hook_updated",
            Self::MergeReady { .. } => "merge_ready",
            Self::HandoffRequested { .. } => "handoff_requested",
            Self::OrchestratorStuck { .. } => "orchestrator_stuck",
            Self::AgentHook { .. } => "agent_hook",
            Self::KeyboardTaken { .. } => "keyboard_taken",
            Self::KeyboardReturned { .. } => "keyboard_returned",
            Self::BuildQueued { .. } => "build_queued",
            Self::BuildStarted { .. } => "build_started",
            Self::BuildEnded { .. } => "build_ended",
            Self::Landed { .. } => "landed",
            Self::LandedOtherwise { .. } => "landed_otherwise",
            Self::MainMovedOutside { .. } => "main_moved_outside",
            Self::OutsideMainTested { .. } => "outside_main_tested",
            Self::QueuePaused { .. } => "queue_paused",
            Self::QueueResumed => "queue_resumed",
            Self::QueueAlarm { .. } => "queue_alarm",
            Self::Decided { .. } => "decided",
            Self::CommandTaken { .. } => "command_taken",
            Self::Paused => "paused",
            Self::Resumed => "resumed",
            Self::ConfigTaken { .. } => "config_taken",
            Self::ConfigRefused { .. } => "config_refused",
            Self::EffectDone { .. } => "effect_done",
            Self::EffectRetried { .. } => "effect_retried",
            Self::EffectGivenUp { .. } => "effect_given_up",
            Self::WorkRescued { .. } => "work_rescued",
        }
    }
}
