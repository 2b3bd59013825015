//! What waits for a person, as programs see it.

use schemars::JsonSchema;
use serde::Serialize;

use super::Stamp;

pub const SCHEMA: &str = "windlass.inbox/1";

#[derive(Debug, Serialize, JsonSchema)]
pub struct Inbox {
    pub schema: &'static str,
    pub at: Stamp,
    /// The nearest deadline first; what has none comes last, the oldest first.
    pub items: Vec<InboxItem>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct InboxItem {
    /// question, abandoned, unstopped, queue, alarm, config, main, schedule or commands.
    pub kind: &'static str,
    pub issue: Option<u64>,
    pub title: String,
    /// What is asked, or what happened.
    pub text: String,
    pub since: Option<Stamp>,
    /// When something happens without an answer, and what.
    pub deadline: Option<Stamp>,
    pub otherwise: Option<String>,
    /// The way out.
    pub next: String,
}
