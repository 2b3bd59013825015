//! The merge queue, as programs see it.

use schemars::JsonSchema;
use serde::Serialize;

use super::{BuildLine, TaskLine};

pub const SCHEMA: &str = "windlass.queue/1";

#[derive(Debug, Serialize, JsonSchema)]
pub struct Queue {
    pub schema: &'static str,
    pub branch: String,
    /// The commit that the branch is at.
    pub main: String,
    /// Why nothing lands at the moment, if the queue has stopped itself.
    pub paused: Option<String>,
    /// Approved changes, the first to land first.
    pub entries: Vec<TaskLine>,
    /// Builds that wait or run, for the queue and for changes.
    pub builds: Vec<QueueBuild>,
    /// Changes that are not approved yet.
    pub behind: Vec<TaskLine>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct QueueBuild {
    pub task: String,
    #[serde(flatten)]
    pub build: BuildLine,
}
