//! The factory at a glance, as programs see it.

use schemars::JsonSchema;
use serde::Serialize;

use super::{InboxItem, PauseView, QueueAlarm, Stamp, TaskLine};

pub const SCHEMA: &str = "windlass.status/1";

#[derive(Debug, Serialize, JsonSchema)]
pub struct Status {
    pub schema: &'static str,
    pub at: Stamp,
    pub project: String,
    pub branch: String,
    pub state_dir: String,
    pub daemon: DaemonView,
    /// A person has paused it.
    pub paused: bool,
    pub paused_since: Option<Stamp>,
    /// Why, if the person said so.
    pub paused_reason: Option<String>,
    /// Tasks that ask a person.
    pub needs_you: Vec<TaskLine>,
    /// All that waits for a person, as `windlass inbox` lists it.
    pub inbox: Vec<InboxItem>,
    pub working: Working,
    /// Tasks that hold no slot: they wait for CI, the critic, a slot or the provider.
    pub waiting: Vec<TaskLine>,
    /// Approved changes, the first to land first.
    pub queue: Vec<TaskLine>,
    /// Why nothing lands at the moment, and who wanted it so.
    pub queue_paused: Option<PauseView>,
    /// Approved changes that have waited for too long.
    pub alarms: Vec<QueueAlarm>,
    /// Open issues that nobody has taken yet.
    pub backlog: BacklogView,
    pub today: Today,
    /// Commands that the daemon has not seen yet.
    pub commands_waiting: usize,
    pub config: ConfigState,
    pub host: Host,
}

/// What the machine has left, and below what nothing new is started; none where the system does not say.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Host {
    pub free_memory_mb: Option<u64>,
    pub min_free_memory_mb: u64,
    pub free_disk_mb: Option<u64>,
    pub min_free_disk_mb: u64,
}

/// How the configuration on the disk stands to the one in force.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ConfigState {
    /// Why the newest one is not in force; the last good one is.
    pub refused: Option<String>,
    /// Keys that hold only after a restart.
    pub waiting: Vec<String>,
    /// How the file here stands to the one that counts.
    pub note: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct DaemonView {
    /// up, down or unknown.
    pub state: &'static str,
    pub pid: Option<u32>,
    pub started_at: Option<Stamp>,
    pub last_event_at: Option<Stamp>,
    /// Of the program that runs, if it is up.
    pub version: Option<String>,
    /// Who took it down, if a person did.
    pub stopped_by: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Working {
    pub slots: u32,
    pub tasks: Vec<TaskLine>,
}

#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct BacklogView {
    /// Could be taken: at once, or as soon as there is a slot.
    pub ready: usize,
    /// Of them, those that are taken next, the first first.
    pub starting: Vec<u64>,
    /// Wait until other issues are closed.
    pub wait_for_others: usize,
    /// A label or a dependency holds them back that only a person can put right.
    pub held_back: usize,
}

/// What ended since midnight UTC.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct Today {
    pub merged: usize,
    pub closed: usize,
    pub abandoned: usize,
    pub cost_micro_usd: u64,
    /// Of it, what no task asked for.
    pub idle_micro_usd: u64,
    /// What the day may cost.
    pub cap_micro_usd: u64,
    /// Of all that the agents read, what came from the provider's cache.
    pub cache_hit_percent: Option<u64>,
    /// The cost is what the agents' programs say.
    pub estimated: bool,
}
