//! Orders to the outside world, each written down before it is carried out.

use serde::{Deserialize, Serialize};

use crate::forge::{ReviewDecision, StatusState};
use crate::id::{BuildId, ChangeNumber, SessionId, Sha};
use crate::queue::Link;
use crate::time::Millis;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "effect", rename_all = "snake_case")]
pub enum Effect {
    MakeWorkspace {
        branch: String,
    },
    StartSession {
        session: SessionId,
        start: Start,
    },
    Say {
        session: SessionId,
        text: String,
    },
    /// Starts the process of a session that has unheard messages but none to hear them.
    WakeSession {
        session: SessionId,
    },
    StopSession {
        session: SessionId,
    },
    FetchWork {
        session: SessionId,
        branch: String,
    },
    PushBranch {
        branch: String,
        head: Sha,
        expected: Option<Sha>,
    },
    OpenChange {
        branch: String,
        head: Sha,
    },
    StartBuild {
        head: Sha,
        tree: Sha,
        lane: BuildLane,
    },
    StartReview {
        session: SessionId,
        head: Sha,
    },
    Comment {
        text: String,
    },
    SetLabels {
        add: Vec<String>,
        remove: Vec<String>,
    },
    SetStatus {
        head: Sha,
        state: StatusState,
        description: String,
    },
    PostReview {
        head: Sha,
        decision: ReviewDecision,
        body: String,
    },
    CloseIssue,
    EndChange {
        ending: Ending,
    },
    RemoveWorkspace {
        branch: String,
    },
    /// Runs one build in a free CI slot.
    RunBuild {
        build: BuildId,
        slot: u32,
    },
    /// Ends a build that nobody waits for any more; its slot is free when it is gone.
    StopBuild {
        build: BuildId,
        slot: u32,
    },
    /// Keeps the commit of a build in the repository for as long as it waits or runs, and no longer.
    HoldCandidate {
        build: BuildId,
    },
    /// Moves main from `expected` to one commit with the last link's tree, which was tested.
    Land {
        links: Vec<Link>,
        expected: Sha,
        /// When it was ordered: the same landing makes the same commit, however often it is tried.
        at: Millis,
    },
}

/// Why a dev session is started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "start", rename_all = "snake_case")]
pub enum Start {
    Fresh,
    /// The predecessor's process was lost; the workspace and the hook say where to go on.
    Recover {
        predecessor: SessionId,
    },
    /// The predecessor's context was full and its work is saved.
    Continue {
        predecessor: SessionId,
    },
    /// A person asked for another try.
    Retry {
        predecessor: SessionId,
        reason: String,
    },
}

/// What becomes of a change on the forge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "ending", rename_all = "snake_case")]
pub enum Ending {
    Merged { number: ChangeNumber, commit: Sha },
    Closed { number: ChangeNumber },
}

/// Who waits for a build. The gate goes first.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum BuildLane {
    Gate,
    Branch,
}

/// Effects of one owner and lane are carried out one after the other, in the order they were given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lane {
    /// Moves the task on.
    Work,
    /// Tells people; a forge that is down holds up no work.
    Notes,
}

impl Effect {
    /// The effect's stable name, equal to its `effect` in stored JSON.
    pub fn name(&self) -> &'static str {
        match self {
            Self::MakeWorkspace { .. } => "make_workspace",
            Self::StartSession { .. } => "start_session",
            Self::Say { .. } => "say",
            Self::WakeSession { .. } => "wake_session",
            Self::StopSession { .. } => "stop_session",
            Self::FetchWork { .. } => "fetch_work",
            Self::PushBranch { .. } => "push_branch",
            Self::OpenChange { .. } => "open_change",
            Self::StartBuild { .. } => "start_build",
            Self::StartReview { .. } => "start_review",
            Self::Comment { .. } => "comment",
            Self::SetLabels { .. } => "set_labels",
            Self::SetStatus { .. } => "set_status",
            Self::PostReview { .. } => "post_review",
            Self::CloseIssue => "close_issue",
            Self::EndChange { .. } => "end_change",
            Self::RemoveWorkspace { .. } => "remove_workspace",
            Self::RunBuild { .. } => "run_build",
            Self::StopBuild { .. } => "stop_build",
            Self::HoldCandidate { .. } => "hold_candidate",
            Self::Land { .. } => "land",
        }
    }

    /// Whether the end of its task makes it void. What is said to people goes out all the same, and a session that
    /// was to be stopped is stopped: nobody else remembers its process.
    pub fn ends_with_task(&self) -> bool {
        self.lane() == Lane::Work && !matches!(self, Self::StopSession { .. })
    }

    /// Whether it waits while the disk is full: whoever is told to work could write nothing, and the failure would be
    /// theirs. What ends somebody or clears away needs no room, and may make some.
    pub fn needs_room(&self) -> bool {
        !matches!(self, Self::StopSession { .. } | Self::StopBuild { .. } | Self::RemoveWorkspace { .. })
    }

    /// Whether it is tried for as long as it takes: who could not be ended may still run, and nobody else may have the
    /// slot of a build or the workspace of a session. What follows in its line waits.
    pub fn is_never_given_up(&self) -> bool {
        matches!(self, Self::StopBuild { .. } | Self::StopSession { .. })
    }

    pub fn lane(&self) -> Lane {
        match self {
            Self::MakeWorkspace { .. }
            | Self::StartSession { .. }
            | Self::Say { .. }
            | Self::WakeSession { .. }
            | Self::StopSession { .. }
            | Self::FetchWork { .. }
            | Self::PushBranch { .. }
            | Self::OpenChange { .. }
            | Self::StartBuild { .. }
            | Self::StartReview { .. }
            | Self::RemoveWorkspace { .. }
            | Self::RunBuild { .. }
            | Self::StopBuild { .. }
            | Self::HoldCandidate { .. }
            | Self::Land { .. } => Lane::Work,
            Self::Comment { .. }
            | Self::SetLabels { .. }
            | Self::SetStatus { .. }
            | Self::PostReview { .. }
            | Self::CloseIssue
            | Self::EndChange { .. } => Lane::Notes,
        }
    }
}
