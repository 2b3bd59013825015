//! How one issue went, as programs see it.

use schemars::JsonSchema;
use serde::Serialize;

pub const SCHEMA: &str = "windlass.run/1";

#[derive(Debug, Serialize, JsonSchema)]
pub struct Run {
    pub schema: &'static str,
    pub issue: u64,
    pub task: Option<String>,
    /// The state of its task; none while nobody has taken it.
    pub state: Option<String>,
    /// The same in words.
    pub says: String,
    pub cost_micro_usd: u64,
}
