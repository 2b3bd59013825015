//! Issues with all that belongs to them, as programs see them.

use schemars::JsonSchema;
use serde::Serialize;
use windlass_core::build::{Build, BuildOutcome, BuildStatus};
use windlass_core::forge::{Change, Comment, Issue, Review};
use windlass_core::task::BuildLane;
use windlass_core::verdict::Finding;

use super::{Stamp, TaskView};

pub const LIST_SCHEMA: &str = "windlass.issues/1";
pub const SHOW_SCHEMA: &str = "windlass.issue/1";

#[derive(Debug, Serialize, JsonSchema)]
pub struct Issues {
    pub schema: &'static str,
    pub issues: Vec<IssueLine>,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct IssueLine {
    pub number: u64,
    pub title: String,
    pub open: bool,
    pub labels: Vec<String>,
    pub author: String,
    pub created_at: Stamp,
    pub updated_at: Stamp,
    pub closed_at: Option<Stamp>,
    /// The state of its newest task, if it has one.
    pub state: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Show {
    pub schema: &'static str,
    #[serde(flatten)]
    pub issue: IssueLine,
    pub body: String,
    pub task: Option<TaskView>,
    pub change: Option<ChangeView>,
    pub reviews: Vec<ReviewView>,
    pub findings: Vec<Finding>,
    /// Newest first.
    pub builds: Vec<BuildLine>,
    pub comments: Vec<CommentView>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct ChangeView {
    pub number: u64,
    pub branch: String,
    pub base: String,
    pub head: String,
    pub state: String,
    pub created_at: Stamp,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct ReviewView {
    pub id: u64,
    pub author: String,
    pub head: String,
    pub decision: String,
    pub body: String,
    pub created_at: Stamp,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct CommentView {
    pub id: u64,
    pub author: String,
    pub body: String,
    pub created_at: Stamp,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct BuildLine {
    pub id: String,
    pub commit: String,
    pub lane: String,
    /// waiting, running, passed, failed or broke.
    pub status: String,
    pub failing: Vec<String>,
    pub why: Option<String>,
    pub queued_at: Stamp,
    pub started_at: Option<Stamp>,
    pub ended_at: Option<Stamp>,
}

impl IssueLine {
    pub fn of(issue: &Issue, state: Option<&str>) -> Self {
        Self {
            number: issue.number.0,
            title: issue.title.clone(),
            open: issue.open,
            labels: issue.labels.clone(),
            author: issue.author.clone(),
            created_at: Stamp(issue.created_at),
            updated_at: Stamp(issue.updated_at),
            closed_at: issue.closed_at.map(Stamp),
            state: state.map(str::to_owned),
        }
    }
}

impl From<&Change> for ChangeView {
    fn from(change: &Change) -> Self {
        Self {
            number: change.number.0,
            branch: change.branch.clone(),
            base: change.base.clone(),
            head: change.head.to_string(),
            state: word(&change.state),
            created_at: Stamp(change.created_at),
        }
    }
}

impl From<&Review> for ReviewView {
    fn from(review: &Review) -> Self {
        Self {
            id: review.id,
            author: review.author.clone(),
            head: review.head.to_string(),
            decision: word(&review.decision),
            body: without_marker(&review.body),
            created_at: Stamp(review.created_at),
        }
    }
}

impl From<&Comment> for CommentView {
    fn from(comment: &Comment) -> Self {
        Self {
            id: comment.id,
            author: comment.author.clone(),
            body: without_marker(&comment.body),
            created_at: Stamp(comment.created_at),
        }
    }
}

impl From<&Build> for BuildLine {
    fn from(build: &Build) -> Self {
        let (failing, why) = match &build.status {
            BuildStatus::Ended { outcome: BuildOutcome::Failed { failing, .. } } => (failing.clone(), None),
            BuildStatus::Ended { outcome: BuildOutcome::Broke { why } } => (Vec::new(), Some(why.clone())),
            BuildStatus::Ended { outcome: BuildOutcome::Passed { .. } | BuildOutcome::Cancelled }
            | BuildStatus::Waiting
            | BuildStatus::Running { .. } => (Vec::new(), None),
        };
        Self {
            id: build.id.to_string(),
            commit: build.commit.to_string(),
            lane: lane(build.lane).to_owned(),
            status: build.status.word().to_owned(),
            failing,
            why,
            queued_at: Stamp(build.queued_at),
            started_at: build.started_at.map(Stamp),
            ended_at: build.ended_at.map(Stamp),
        }
    }
}

fn lane(lane: BuildLane) -> &'static str {
    match lane {
        BuildLane::Branch => "branch",
        BuildLane::Gate => "gate",
    }
}

/// The word that an enum without data has in JSON.
fn word<T: Serialize>(value: &T) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        Ok(_) | Err(_) => unreachable!("an enum without data is written as a text"),
    }
}

/// The hidden last line that ties a text to the act that wrote it is not for readers.
fn without_marker(body: &str) -> String {
    if windlass_adapters::forge::key_of(body).is_none() {
        return body.to_owned();
    }
    let body = body.trim_end();
    body[..body.rfind('\n').unwrap_or(0)].trim_end().to_owned()
}
