//! What was cleared away, as programs see it.

use schemars::JsonSchema;
use serde::Serialize;

pub const SCHEMA: &str = "windlass.gc/1";

#[derive(Debug, Serialize, JsonSchema)]
pub struct Gc {
    pub schema: &'static str,
    /// Nothing was removed: this is what would be.
    pub dry_run: bool,
    pub items: Vec<GcItem>,
    /// Old enough to go, but something in it can be saved nowhere else.
    pub kept: Vec<GcItem>,
    pub bytes: u64,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct GcItem {
    /// session, build, rescue, workspace or spare.
    pub kind: &'static str,
    pub name: String,
    /// On the disk; unknown for a name in git.
    pub bytes: Option<u64>,
    pub why: String,
}
