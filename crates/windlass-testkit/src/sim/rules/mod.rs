//! The rules that every simulated run is checked against. Each has a name; a broken one says what was seen.

mod commit;
mod landing;
mod rest;
mod work;

use std::collections::{BTreeMap, BTreeSet};

use windlass_core::build::BuildOutcome;
use windlass_core::id::{BuildId, EffectKey, IssueNumber, SessionId, Sha, TaskId};
use windlass_core::task::{Effect, Task};

use super::plan::{BuildKind, Mishap, Plan, Tick};

/// The names of the rules; I1 to I13 are those of the merge queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// I1: what we put on main was tested green.
    Tested,
    /// I2: only the head that the critic approved waits for main and lands.
    Approved,
    /// I2: nothing lands twice.
    Once,
    /// I3: what others pushed stays on main.
    OthersKept,
    /// I4: main moves only from where the test began.
    FromTested,
    /// I5: what lands touches only what its changes touch.
    Paths,
    /// I6: recorded as merged is on main, and what is on main is recorded.
    OnMain,
    /// I7: an entry leaves the queue for a reason.
    Leaves,
    /// I8: first come, first served; overtaking is bounded.
    InTurn,
    /// I9: without flakes only what fails is sent back.
    Innocent,
    /// I10: what could not run blames nobody.
    Infra,
    /// I11: no more builds than slots.
    BuildSlots,
    /// I12: thinking again about the same adds nothing, and thinking ends.
    Settles,
    /// I13: a queue that stands lands nothing.
    QueueStands,
    /// Paused: no issue is taken, no session goes on.
    Paused,
    /// No more tasks at work than slots.
    TaskSlots,
    /// No slot stays free while somebody waits for it.
    IdleSlot,
    /// What a session did is seen before long.
    Noticed,
    /// One live task per issue.
    OneTask,
    /// One live session per workspace.
    OneSession,
    /// No outward act twice under one key.
    Doubled,
    /// Every retry has a cap.
    Caps,
    /// Who has spent the money gets no slot.
    Budget,
    /// What counts as done was done.
    Recorded,
    /// A question reaches a person.
    Asked,
    /// What failed for good is told to the task that ordered it.
    Told,
    /// What a person said and nobody answered reaches the next session.
    Heard,
    /// What was used is counted, and once.
    Counted,
    /// What the heart has in mind is in the store.
    Remembered,
    /// A second daemon is refused while the first lives.
    Lease,
    /// A daemon that was replaced writes nothing.
    Fence,
    /// Nothing but a newer daemon ends a daemon.
    Lives,
    /// A workspace goes only when its work is safe.
    Saved,
    /// When nothing goes wrong any more, everything ends.
    Ends,
    /// No issue is lost.
    NoneLost,
    /// The log and the tasks tell the same story.
    Replays,
    /// A restart without work to do does nothing.
    QuietRestart,
    /// The same seed is the same run.
    Determined,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    pub rule: Rule,
    pub at: Tick,
    pub what: String,
}

/// What the checkers know: the truth of the world, and what was written down.
#[derive(Debug)]
pub struct Seen {
    /// Every task as it was last committed.
    pub tasks: BTreeMap<TaskId, Task>,
    /// The highest epoch that was ever given out.
    pub epoch: u64,
    intents: BTreeMap<EffectKey, (Option<TaskId>, Effect)>,
    /// Effects that were carried out.
    pub done: BTreeSet<EffectKey>,
    acts: BTreeMap<EffectKey, u32>,
    /// Heads that a critic really approved.
    pub approved: BTreeSet<(TaskId, Sha)>,
    heads: BTreeMap<TaskId, Vec<Sha>>,
    /// Builds that ended, and how.
    results: BTreeMap<BuildId, Option<BuildOutcome>>,
    passed: BTreeSet<BuildId>,
    green: BTreeSet<Sha>,
    landed: BTreeMap<(TaskId, Sha), Sha>,
    overtaken: BTreeMap<TaskId, u32>,
    /// How often critics sent it back.
    sent_back: BTreeMap<TaskId, u32>,
    /// Commits that others put on main and nobody took off again.
    pub external: Vec<Sha>,
    /// What main ever was.
    mains: Vec<Sha>,
    pub was_reset: bool,
    paused: bool,
    queue_stands: bool,
    flakes: bool,
    waits_since: Option<Tick>,
    served_since: Tick,
    /// How far the facts of each active session were read.
    read: BTreeMap<SessionId, u64>,
    /// How often an agent committed work for an issue.
    pub versions: BTreeMap<IssueNumber, u32>,
    pub told_of_gate: BTreeSet<IssueNumber>,
}

impl Seen {
    pub fn new(plan: &Plan, root: Sha) -> Self {
        let flakes =
            plan.mishaps.iter().any(|mishap| matches!(mishap, Mishap::Build { how: BuildKind::Flakes, .. }));
        Self {
            tasks: BTreeMap::new(),
            epoch: 0,
            intents: BTreeMap::new(),
            done: BTreeSet::new(),
            acts: BTreeMap::new(),
            approved: BTreeSet::new(),
            heads: BTreeMap::new(),
            results: BTreeMap::new(),
            passed: BTreeSet::new(),
            green: BTreeSet::new(),
            landed: BTreeMap::new(),
            overtaken: BTreeMap::new(),
            sent_back: BTreeMap::new(),
            external: Vec::new(),
            mains: vec![root],
            was_reset: false,
            paused: false,
            queue_stands: false,
            flakes,
            waits_since: None,
            served_since: 0,
            read: BTreeMap::new(),
            versions: BTreeMap::new(),
            told_of_gate: BTreeSet::new(),
        }
    }

    /// Heads that the task ever pushed.
    pub fn heads_of(&self, task: &TaskId) -> Vec<Sha> {
        self.heads.get(task).cloned().unwrap_or_default()
    }

    pub fn build_ended(&mut self, id: &BuildId, outcome: Option<BuildOutcome>) {
        self.results.insert(id.clone(), outcome);
    }

    pub fn main_moved_by_others(&mut self, commit: Sha) {
        self.external.push(commit.clone());
        self.mains.push(commit);
    }

    pub fn main_reset(&mut self, to: Sha, lost: &[Sha]) {
        self.external.retain(|commit| !lost.contains(commit));
        self.mains.push(to);
        self.was_reset = true;
    }
}
