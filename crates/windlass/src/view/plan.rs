//! What the factory would do next, as programs see it.

use schemars::JsonSchema;
use serde::Serialize;

use super::Stamp;

pub const SCHEMA: &str = "windlass.plan/1";

#[derive(Debug, Serialize, JsonSchema)]
pub struct Plan {
    pub schema: &'static str,
    pub at: Stamp,
    /// Tasks that would go on, then issues that would be taken.
    pub goes_on: Vec<PlanLine>,
    pub take: Vec<PlanLine>,
    pub skip: Vec<PlanLine>,
    /// What would be written, and where.
    pub writes: Vec<String>,
    pub cost: PlanCost,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct PlanLine {
    pub issue: u64,
    pub title: String,
    /// The branch it would get, or why it is skipped.
    pub says: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct PlanCost {
    /// Issues that ended before; the money below is what they cost.
    pub ended: usize,
    /// The middle one; none before anything has ended.
    pub usual_micro_usd: Option<u64>,
    pub cap_per_issue_micro_usd: u64,
    pub estimated: bool,
}
