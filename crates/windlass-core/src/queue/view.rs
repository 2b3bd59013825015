//! What the queue knows and what it may order: the words between the plan and whoever carries it out.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::flakes::Flakes;
use super::rate::Rate;
use crate::id::{Sha, TaskId};
use crate::time::Millis;

/// One head of one task: a task that comes back with a new head is a new change.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Change {
    pub task: TaskId,
    /// The head that the critic approved.
    pub head: Sha,
}

/// A change waiting to land.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub change: Change,
    pub since: Millis,
    /// Landings that took a younger entry and left this one.
    pub passed: u32,
    pub stand: Stand,
}

/// How an entry stands to main and to the others, as far as git was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stand {
    /// Nothing speaks against it.
    Free,
    /// Main holds the head already.
    Contained,
    /// It does not merge with main.
    Conflict { files: Vec<String>, commits: Vec<String> },
    /// It does not merge on top of these, which have not landed yet.
    Held { by: BTreeSet<TaskId> },
}

/// A change on top of main and of the changes before it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    pub change: Change,
    pub candidate: Sha,
    pub tree: Sha,
    /// How the candidate was made of the change.
    #[serde(default)]
    pub history: History,
}

/// What a change looks like on main.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum History {
    /// A merge commit, with the change's own commits below it.
    #[default]
    Merge,
    /// One commit.
    Squash,
    /// Each of the change's commits again, on top of main.
    Rebase,
}

/// One test of some entries, merged in this order on `base`. Without links it is a test of main itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    pub base: Sha,
    pub links: Vec<Link>,
    pub state: RunState,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum RunState {
    /// Asked for; it waits or runs.
    Open,
    Green,
    Red {
        failing: Vec<String>,
        log: String,
    },
    /// It could not run: says nothing about anybody.
    Broke {
        why: String,
    },
}

#[derive(Debug, Clone, PartialEq)]
pub struct View {
    pub policy: Policy,
    pub main: Sha,
    pub main_is: MainIs,
    /// In the order in which they are to land: oldest first, but for one that a person put first.
    pub entries: Vec<Entry>,
    /// What was tested, oldest first, for as long as it says something about an entry.
    pub runs: Vec<Run>,
    /// Changes of those runs that have landed. Whoever is neither here nor an entry has left in another way.
    pub landed: BTreeSet<Change>,
    /// Tests that are known to fail without a reason.
    pub flaky: Flakes,
    pub rate: Rate,
    pub slots: usize,
    pub paused: Option<String>,
    /// A landing is under way; nothing else may move main.
    pub landing: bool,
}

/// What is known of main itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MainIs {
    /// Its tree is known to pass.
    Green,
    Untested,
    /// Somebody else moved it there, and nobody has tested it.
    Outside,
}

/// How entries are put into tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Policy {
    /// The oldest alone, one after the other.
    Serial,
    /// One test for everything that waits; a red one is halved.
    Batch,
    /// As many prefixes as there are slots, each one entry longer.
    Chain,
    /// Each slot tests what is worth most: entries that may land at once, and what is learnt about the others.
    #[default]
    Ladder,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Act {
    /// Merge these in order on main and test the result. `Again` tests it though its verdict is known.
    Test {
        changes: Vec<Change>,
        verdict: Verdict,
    },
    /// Stop this open run: it can land nothing and says nothing about anybody who waits.
    Cancel {
        run: Run,
    },
    /// Move main to the candidate of the last link.
    Land {
        links: Vec<Link>,
    },
    /// Back to its own session: it conflicts with main.
    Return {
        change: Change,
        files: Vec<String>,
        commits: Vec<String>,
    },
    /// Back to its own session: its tests fail on main.
    Eject {
        change: Change,
        failing: Vec<String>,
        log: String,
    },
    /// Nothing left to land.
    Settle {
        change: Change,
    },
    Pause {
        reason: String,
    },
}

/// Whether a test may be answered by what is known of its tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Known,
    Again,
}

impl Policy {
    pub const ALL: [Self; 4] = [Self::Serial, Self::Batch, Self::Chain, Self::Ladder];

    pub fn word(self) -> &'static str {
        match self {
            Self::Serial => "serial",
            Self::Batch => "batch",
            Self::Chain => "chain",
            Self::Ladder => "ladder",
        }
    }
}

impl History {
    pub fn word(self) -> &'static str {
        match self {
            Self::Merge => "merge",
            Self::Squash => "squash",
            Self::Rebase => "rebase",
        }
    }
}

impl Run {
    /// The commit that is tested.
    pub fn tip(&self) -> &Sha {
        self.links.last().map_or(&self.base, |link| &link.candidate)
    }

    /// The links that landing this run would add to main; `None` if main is not on its way.
    pub fn above(&self, main: &Sha) -> Option<&[Link]> {
        if self.base == *main {
            return Some(&self.links);
        }
        let at = self.links.iter().position(|link| link.candidate == *main)?;
        self.links.get(at + 1..)
    }
}
