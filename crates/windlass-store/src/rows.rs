//! What is read back, and how to ask for it.

use windlass_core::command::{Answer, Command};
use windlass_core::id::{EffectKey, IssueNumber, TaskId};
use windlass_core::journal::Entry;
use windlass_core::task::{Effect, Lane};
use windlass_core::time::Millis;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Versioned<T> {
    pub value: T,
    /// To be handed back as `expected` when the value is saved.
    pub version: u64,
    /// Grows with every new row, whatever its id; where a page ends, the next begins `before` it.
    pub order: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Which {
    #[default]
    All,
    Live,
    Ended,
}

/// Asks for tasks, newest first. The default asks for nothing: say how many with `limit`.
#[derive(Debug, Clone, Default)]
pub struct TaskQuery {
    pub which: Which,
    /// Names of states; empty means any.
    pub states: Vec<String>,
    pub before: Option<i64>,
    pub limit: usize,
}

/// An effect that was ordered and is neither done nor given up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingEffect {
    pub seq: i64,
    pub key: EffectKey,
    pub owner: Option<TaskId>,
    pub lane: Lane,
    pub effect: Effect,
    /// Tries that failed so far.
    pub attempt: u32,
    pub not_before: Millis,
    /// What the last try failed with.
    pub error: Option<String>,
    /// The daemon's epoch when the effect was ordered.
    pub epoch: u64,
    pub created_at: Millis,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EffectRecord {
    pub order: PendingEffect,
    pub status: EffectStatus,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EffectStatus {
    Intent,
    Done { result: serde_json::Value, at: Millis },
    Failed { error: String, at: Millis },
    Cancelled { at: Millis },
}

/// Asks for events, oldest first. The default asks for all.
#[derive(Debug, Clone, Default)]
pub struct EventQuery {
    /// Only events after this number.
    pub since: i64,
    /// Only events up to and with this number.
    pub until: Option<i64>,
    pub issue: Option<IssueNumber>,
    pub task: Option<TaskId>,
    /// Empty means any.
    pub kinds: Vec<String>,
    pub limit: Option<usize>,
    pub newest_first: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoggedEvent {
    pub seq: i64,
    pub entry: Entry,
}

/// An event as it is stored, for one who hands it on and does not look into it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawEvent {
    pub seq: i64,
    pub at: Millis,
    pub task: Option<String>,
    pub issue: Option<i64>,
    pub kind: String,
    /// The fact as JSON, its kind included.
    pub data: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PostedCommand {
    pub id: i64,
    pub at: Millis,
    pub by: String,
    pub command: Command,
    pub answer: Option<Answer>,
    pub answered_at: Option<Millis>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    pub issue: IssueNumber,
    pub at: Millis,
    pub text: String,
}

/// Asks for usage, oldest first. The default asks for all.
#[derive(Debug, Clone, Default)]
pub struct UsageQuery {
    pub issue: Option<IssueNumber>,
    pub since: Option<Millis>,
}
