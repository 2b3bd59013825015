//! One CI run of one commit, and what is known of a tree.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::{BuildId, Recipe, Sha, TaskId};
use crate::policy::Limits;
use crate::task::BuildLane;
use crate::time::{Millis, Span};

/// Whoever should have ended a build at its limit, or told us of its end, is lost after this much more.
const GRACE: Span = Span::secs(15);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Build {
    pub id: BuildId,
    pub commit: Sha,
    pub tree: Sha,
    pub recipe: Recipe,
    pub lane: BuildLane,
    /// The task that asked first; others may wait for the same tree.
    pub task: TaskId,
    /// The how-manieth try of this tree and recipe.
    pub nth: u32,
    pub status: BuildStatus,
    pub queued_at: Millis,
    /// When it got a slot.
    #[serde(default)]
    pub slot_at: Option<Millis>,
    /// When it was first seen to run.
    pub started_at: Option<Millis>,
    pub ended_at: Option<Millis>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum BuildStatus {
    Waiting,
    Running { slot: u32 },
    Ended { outcome: BuildOutcome },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum BuildOutcome {
    Passed {
        tests: Option<u64>,
    },
    Failed {
        tests: Option<u64>,
        failing: Vec<String>,
        log: String,
    },
    /// Could not run: blames nobody, says nothing about the tree.
    Broke {
        why: String,
    },
    /// Nobody needed it any more: says nothing about the tree or the machine.
    Cancelled,
}

impl Build {
    /// When it is taken for lost, and why, if nobody says anything before.
    pub fn deadline(&self, limits: &Limits) -> Option<(Millis, &'static str)> {
        match (&self.status, self.slot_at, self.started_at) {
            (BuildStatus::Running { .. }, _, Some(started)) => {
                Some((started + limits.ci + GRACE, "it ran past its deadline"))
            }
            (BuildStatus::Running { .. }, Some(given), None) => {
                Some((given + limits.ci_start, "it never started"))
            }
            (BuildStatus::Running { .. }, None, None) => None,
            (BuildStatus::Waiting | BuildStatus::Ended { .. }, _, _) => None,
        }
    }

    /// How long it ran.
    pub fn took(&self) -> Option<Span> {
        Some(self.ended_at?.since(self.started_at?))
    }
}

impl BuildStatus {
    pub fn word(&self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Running { .. } => "running",
            Self::Ended { outcome: BuildOutcome::Passed { .. } } => "passed",
            Self::Ended { outcome: BuildOutcome::Failed { .. } } => "failed",
            Self::Ended { outcome: BuildOutcome::Broke { .. } } => "broke",
            Self::Ended { outcome: BuildOutcome::Cancelled } => "cancelled",
        }
    }
}

/// What a tree's tests say under a recipe. An unchanged tree is never tested twice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TreeVerdict {
    pub tree: Sha,
    pub recipe: Recipe,
    pub build: BuildId,
    pub at: Millis,
    #[serde(flatten)]
    pub result: TreeResult,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "result", rename_all = "snake_case")]
pub enum TreeResult {
    Pass,
    Fail { failing: Vec<String>, log: String },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn build(status: BuildStatus, slot_at: Option<i64>, started_at: Option<i64>) -> Build {
        let sha = |text: &str| Sha::parse(&text.repeat(40)).expect("a sha");
        Build {
            id: BuildId::stored("b-1"),
            commit: sha("a"),
            tree: sha("b"),
            recipe: Recipe("r".into()),
            lane: BuildLane::Gate,
            task: TaskId::stored("1.1"),
            nth: 1,
            status,
            queued_at: Millis(0),
            slot_at: slot_at.map(Millis),
            started_at: started_at.map(Millis),
            ended_at: None,
        }
    }

    #[test]
    fn a_build_is_lost_when_it_does_not_start_or_does_not_end() {
        let limits = Limits { ci: Span::mins(30), ci_start: Span::mins(2), ..Limits::default() };
        let running = BuildStatus::Running { slot: 1 };
        let given = build(running.clone(), Some(1_000), None);
        assert_eq!(given.deadline(&limits), Some((Millis(121_000), "it never started")));
        let started = build(running, Some(1_000), Some(5_000));
        let end = Millis(5_000) + Span::mins(30) + GRACE;
        assert_eq!(started.deadline(&limits), Some((end, "it ran past its deadline")));
        assert_eq!(build(BuildStatus::Waiting, None, None).deadline(&limits), None, "slots may be rare");
        let ended = BuildStatus::Ended { outcome: BuildOutcome::Cancelled };
        assert_eq!(build(ended, Some(1), Some(2)).deadline(&limits), None);
    }
}
