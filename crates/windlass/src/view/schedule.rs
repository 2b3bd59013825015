//! What is done by the clock, as programs see it.

use schemars::JsonSchema;
use serde::Serialize;

use super::Stamp;

pub const SCHEMA: &str = "windlass.schedule/1";

#[derive(Debug, Serialize, JsonSchema)]
pub struct Schedule {
    pub schema: &'static str,
    pub at: Stamp,
    pub timezone: String,
    pub jobs: Vec<ScheduleJob>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct ScheduleJob {
    pub name: &'static str,
    pub what: &'static str,
    /// As the configuration has it.
    pub when: String,
    /// None: it is off.
    pub next_at: Option<Stamp>,
    pub last: Option<ScheduleLast>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct ScheduleLast {
    pub at: Stamp,
    pub took_ms: i64,
    /// A person, or `clock`.
    pub by: String,
    pub failed: bool,
    pub says: String,
}
