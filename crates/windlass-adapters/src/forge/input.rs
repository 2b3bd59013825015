//! What callers hand to a forge.

use windlass_core::forge::ReviewDecision;
use windlass_core::id::{EffectKey, IssueNumber, Sha};
use windlass_core::time::Millis;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewIssue {
    pub title: String,
    pub body: String,
    pub labels: Vec<String>,
    /// A forge with accounts names the account of the token instead.
    pub author: String,
    /// Windlass's own issues have one; a person who asks for the same issue twice means it.
    pub key: Option<EffectKey>,
}

/// Which issues to list. The default is all of them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct IssueQuery {
    pub filter: IssueFilter,
    /// Only issues that have every one of these.
    pub labels: Vec<String>,
    /// Only issues updated at this time or later.
    pub updated_since: Option<Millis>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum IssueFilter {
    Open,
    Closed,
    #[default]
    All,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeFilter {
    Open,
    All,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewChange {
    pub branch: String,
    pub base: String,
    pub head: Sha,
    pub title: String,
    pub body: String,
    pub issue: Option<IssueNumber>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewReview {
    pub key: EffectKey,
    pub head: Sha,
    pub decision: ReviewDecision,
    pub body: String,
}
