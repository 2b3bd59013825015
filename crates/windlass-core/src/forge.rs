//! What a forge knows: issues, labels, comments, changes, reviews, statuses. The same words for every forge.

use serde::{Deserialize, Serialize};

use crate::id::{ChangeNumber, IssueNumber, Sha};
use crate::time::Millis;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Issue {
    pub number: IssueNumber,
    pub title: String,
    pub body: String,
    pub open: bool,
    pub labels: Vec<String>,
    pub author: String,
    pub created_at: Millis,
    pub updated_at: Millis,
    pub closed_at: Option<Millis>,
}

impl Issue {
    pub fn has_label(&self, name: &str) -> bool {
        self.labels.iter().any(|label| label == name)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Comment {
    pub id: u64,
    pub author: String,
    pub body: String,
    pub created_at: Millis,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Change {
    pub number: ChangeNumber,
    pub issue: Option<IssueNumber>,
    pub title: String,
    pub body: String,
    pub branch: String,
    pub base: String,
    pub head: Sha,
    pub state: ChangeState,
    pub created_at: Millis,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChangeState {
    Open,
    Merged,
    Closed,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Review {
    pub id: u64,
    pub author: String,
    pub head: Sha,
    pub decision: ReviewDecision,
    pub body: String,
    pub created_at: Millis,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReviewDecision {
    Approved,
    ChangesRequested,
    Commented,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Status {
    pub context: String,
    pub state: StatusState,
    pub description: String,
    pub updated_at: Millis,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StatusState {
    Pending,
    Success,
    Failure,
    Error,
}
