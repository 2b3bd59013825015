//! The merge queue, as programs see it.

use schemars::JsonSchema;
use serde::Serialize;

use super::{BuildLine, Stamp, TaskLine};

pub const SCHEMA: &str = "windlass.queue/1";

#[derive(Debug, Serialize, JsonSchema)]
pub struct Queue {
    pub schema: &'static str,
    pub at: Stamp,
    pub branch: String,
    /// The commit that the branch is at.
    pub main: String,
    /// Why nothing lands at the moment, in one sentence.
    pub paused: Option<String>,
    /// The same in parts.
    pub pause: Option<PauseView>,
    /// Approved changes, the first to land first.
    pub entries: Vec<QueueEntry>,
    /// Tests of the queue that wait or run.
    pub tests: Vec<QueueTest>,
    /// Builds that wait or run, for the queue and for changes.
    pub builds: Vec<QueueBuild>,
    /// Changes that are not approved yet.
    pub behind: Vec<TaskLine>,
    pub day: QueueDay,
    /// Since when the oldest entry waits.
    pub oldest_since: Option<Stamp>,
    /// An entry that waits longer is named.
    pub alarm_after_ms: i64,
    pub alarms: Vec<QueueAlarm>,
    pub slots: SlotsView,
    /// Tests that were seen to fail without a reason, the last seen first.
    pub flaky: Vec<FlakyTest>,
    /// ladder, serial, batch or chain.
    pub policy: &'static str,
    /// merge, squash or rebase.
    pub history: &'static str,
}

/// A change that waits to land.
#[derive(Debug, Serialize, JsonSchema)]
pub struct QueueEntry {
    #[serde(flatten)]
    pub line: TaskLine,
    /// 1 is the first to land.
    pub place: usize,
    /// The commit that the critic approved.
    pub head: String,
    /// landing, testing, held, doubted, suspected, proven, ready or paused.
    pub status: &'static str,
    /// What it waits for, in one sentence.
    pub held: String,
    /// Issues that it does not merge on top of.
    pub held_by: Vec<u64>,
    /// Landings that took a later entry and left this one.
    pub overtaken: u32,
    /// A person has put it first.
    pub expedited: bool,
    pub expected_at: Option<Stamp>,
    /// When it was said that it waits for too long.
    pub alarmed_at: Option<Stamp>,
    /// Tests under way that it is in.
    pub tests: Vec<QueueTest>,
}

/// A test of some entries together, merged in this order.
#[derive(Debug, Serialize, JsonSchema)]
pub struct QueueTest {
    /// None: main itself.
    pub issues: Vec<u64>,
    pub build: Option<String>,
    /// waiting or running.
    pub status: &'static str,
    pub started_at: Option<Stamp>,
    /// Whether a pass would land them.
    pub lands: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct QueueBuild {
    pub task: String,
    #[serde(flatten)]
    pub build: BuildLine,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct PauseView {
    pub reason: String,
    /// The person who asked for it; none if the queue stopped itself.
    pub by: Option<String>,
}

/// The last 24 hours.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct QueueDay {
    pub merged: usize,
    /// Sent back because they conflict with main.
    pub conflicts: usize,
    /// Sent back because their tests fail on main.
    pub red: usize,
    /// From approved to landed.
    pub median_wait_ms: Option<i64>,
}

/// An entry that has waited for too long.
#[derive(Debug, Serialize, JsonSchema)]
pub struct QueueAlarm {
    pub issue: u64,
    pub since: Stamp,
    pub at: Stamp,
    /// What held it then.
    pub held: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct SlotsView {
    pub configured: usize,
    /// What would keep up with the arrivals; none before there is something to count.
    pub needed: Option<usize>,
    pub usual_test_ms: Option<i64>,
    /// Changes in a thousand whose tests fail on main.
    pub bad_per_mille: u32,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct FlakyTest {
    pub test: String,
    pub count: u32,
    pub first: Stamp,
    pub last: Stamp,
    /// The tree that it last failed on.
    pub tree: String,
}
