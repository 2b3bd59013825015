//! What was spent, as programs see it.

use schemars::JsonSchema;
use serde::Serialize;

use super::Stamp;

pub const SCHEMA: &str = "windlass.cost/1";

#[derive(Debug, Serialize, JsonSchema)]
pub struct Cost {
    pub schema: &'static str,
    /// issue, role, day, iteration or model.
    pub by: &'static str,
    pub since: Option<Stamp>,
    pub rows: Vec<CostLine>,
    pub total: CostLine,
    /// The money is what the agents' programs say.
    pub estimated: bool,
}

#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct CostLine {
    pub key: String,
    pub issue: Option<u64>,
    pub title: Option<String>,
    pub turns: u64,
    pub input: u64,
    pub cache_write: u64,
    pub cache_read: u64,
    pub output: u64,
    /// Of all that was read, what came from the provider's cache.
    pub cache_hit_percent: Option<u64>,
    pub cost_micro_usd: u64,
    /// Of a later turn: how much more or less it cost than the first turns of the same sessions, in percent.
    pub vs_first_percent: Option<i64>,
}

impl Cost {
    pub fn new(by: &'static str, since: Option<Stamp>, rows: Vec<CostLine>, total: CostLine) -> Self {
        Self { schema: SCHEMA, by, since, rows, total, estimated: true }
    }
}
