//! What can be changed, and what belongs together: one `Write` is one transaction, all or nothing.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use windlass_core::build::{Build, TreeVerdict};
use windlass_core::command::Answer;
use windlass_core::id::{EffectKey, IssueNumber, SessionId, TaskId};
use windlass_core::journal::Entry;
use windlass_core::session::{Hook, Identity};
use windlass_core::task::{Effect, Task};
use windlass_core::time::Millis;

#[derive(Debug, Clone, Default)]
pub struct Write {
    /// Shared: whoever has to try again, or wants to look at it later, need not copy it.
    pub ops: Arc<Vec<Op>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Committed {
    /// The number of the newest event in the log, as of this write.
    pub last_seq: i64,
}

#[derive(Debug, Clone)]
pub enum Op {
    /// Gets version 1. A second live task of the issue is `AlreadyClaimed`.
    InsertTask {
        task: Task,
        wake_at: Option<Millis>,
    },
    /// Raises the version by one. Another version than `expected` in the store is `Lost`.
    SaveTask {
        task: Task,
        expected: u64,
        wake_at: Option<Millis>,
        at: Millis,
    },
    Log(Entry),
    /// The same key again is `Duplicate`.
    Intend {
        key: EffectKey,
        owner: Option<TaskId>,
        effect: Effect,
        not_before: Millis,
        at: Millis,
    },
    /// An effect that is no longer waiting (cancelled, say) is `NotPending`; so for the next two.
    EffectDone {
        key: EffectKey,
        result: serde_json::Value,
        at: Millis,
    },
    /// Counts the attempt; the effect waits on.
    EffectRetry {
        key: EffectKey,
        not_before: Millis,
        error: String,
    },
    EffectFailed {
        key: EffectKey,
        error: String,
        at: Millis,
    },
    /// Cancels what waits for the owner and ends with it.
    CancelEffects {
        owner: TaskId,
        at: Millis,
    },
    SaveIdentity(Identity),
    SaveHook(Hook),
    SaveBuild(Build),
    SaveVerdict(TreeVerdict),
    AddUsage(UsageRow),
    /// A command that has its answer already is `NotWaiting`.
    AnswerCommand {
        id: i64,
        answer: Answer,
        at: Millis,
    },
    Decide {
        issue: IssueNumber,
        text: String,
        at: Millis,
    },
    /// `None` takes the key away.
    SetControl {
        key: String,
        value: Option<String>,
    },
}

/// What one turn of a session used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsageRow {
    pub session: SessionId,
    pub task: TaskId,
    pub issue: IssueNumber,
    pub at: Millis,
    pub input: u64,
    pub cache_write: u64,
    pub cache_read: u64,
    pub output: u64,
    pub model: String,
    pub cost_micro_usd: u64,
}

impl UsageRow {
    /// All of them, those from a cache too.
    pub fn tokens(&self) -> u64 {
        [self.input, self.cache_write, self.cache_read, self.output].into_iter().fold(0, u64::saturating_add)
    }
}

impl From<Vec<Op>> for Write {
    fn from(ops: Vec<Op>) -> Self {
        Self { ops: Arc::new(ops) }
    }
}
