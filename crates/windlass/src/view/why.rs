//! Why an issue is where it is, as programs see it.

use schemars::JsonSchema;
use serde::Serialize;

use super::{QueueEntry, Stamp, TaskLine};

pub const SCHEMA: &str = "windlass.why/1";

#[derive(Debug, Serialize, JsonSchema)]
pub struct Why {
    pub schema: &'static str,
    pub issue: u64,
    pub title: String,
    pub open: bool,
    pub labels: Vec<String>,
    pub task: Option<TaskLine>,
    /// What the scheduler decided last about the issue.
    pub decision: Option<String>,
    pub decided_at: Option<Stamp>,
    /// Why nobody takes it at this moment; none if somebody has, or is about to.
    pub held: Option<String>,
    /// Issues that it waits for and that are open.
    pub waits_for: Vec<u64>,
    /// How it stands in the merge queue, if it is there.
    pub queue: Option<QueueEntry>,
    /// Newest first.
    pub moves: Vec<Moved>,
    /// Sessions that were lost in the middle of their turn, the last first.
    pub crashes: Vec<CrashView>,
    /// What would bring it on.
    pub next: Vec<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Moved {
    pub at: Stamp,
    pub from: String,
    pub to: String,
    pub reason: String,
    pub session: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct CrashView {
    pub at: Stamp,
    pub session: String,
    /// In words.
    pub how: String,
    /// The session that goes on with its work.
    pub successor: Option<String>,
}
