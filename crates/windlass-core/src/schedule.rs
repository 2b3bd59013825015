//! Chooses which waiting task gets the next free slot and which issue is taken next.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::bugs::{self, Bug};
use crate::deps::{self, Dependencies};
use crate::forge::Issue;
use crate::id::{IssueNumber, TaskId};
use crate::money::usd;
use crate::policy::Policy;
use crate::task::{State, Task};
use crate::text::one_line;
use crate::time::{Millis, Span};

/// What the scheduler looks at. Everything is handed in; it asks nobody.
#[derive(Debug)]
pub struct Situation<'a> {
    pub now: Millis,
    pub issues: &'a BTreeMap<IssueNumber, Candidate>,
    /// Tasks that have not ended.
    pub live: &'a [&'a Task],
    /// Issues whose newest task has ended; only a retry starts them again, and only if it was abandoned.
    pub ended: &'a BTreeSet<IssueNumber>,
    pub hold: Option<Hold>,
    /// Take no other issue than this one.
    pub only: Option<IssueNumber>,
}

/// What the scheduler needs of an issue, read once when the issue is seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    pub number: IssueNumber,
    pub open: bool,
    pub labels: Vec<String>,
    pub created_at: Millis,
    pub on: Dependencies,
}

impl From<&Issue> for Candidate {
    fn from(issue: &Issue) -> Self {
        Self {
            number: issue.number,
            open: issue.open,
            labels: issue.labels.clone(),
            created_at: issue.created_at,
            on: deps::parse(&issue.body),
        }
    }
}

impl Candidate {
    fn has_label(&self, name: &str) -> bool {
        self.labels.iter().any(|label| label == name)
    }
}

/// A person's wish that nothing new is started.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Pause {
    pub reason: Option<String>,
}

impl Pause {
    /// A text that is not ours is a pause all the same, of which nobody knows why.
    pub fn stored(text: &str) -> Self {
        serde_json::from_str(text).unwrap_or_default()
    }

    pub fn text(&self) -> String {
        serde_json::to_string(self).expect("plain data")
    }
}

/// Why nothing may be started at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hold {
    Paused(Pause),
    LowMemory {
        free_mb: u64,
        wanted_mb: u64,
    },
    LowDisk {
        free_mb: u64,
        wanted_mb: u64,
    },
    /// The disk has bytes, but hardly any room for one more file.
    LowInodes {
        free: u64,
        wanted: u64,
    },
    /// What may be spent in a day is spent.
    DaySpent {
        micro_usd: u64,
        cap_micro_usd: u64,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// Sessions that go on, then issues that are taken.
    pub grant: Vec<TaskId>,
    pub take: Vec<IssueNumber>,
    /// Finished work that gets a critic; critics need no slot.
    pub read: Vec<TaskId>,
    /// Why each other open issue is not taken.
    pub skipped: BTreeMap<IssueNumber, Skip>,
    /// Somebody is held up by what ends without a word to us: room is made, a day is over.
    pub look_again: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Skip {
    NotInBacklog,
    Blocked,
    Underspecified,
    AbandonAsked,
    Ended,
    WaitsFor(Vec<IssueNumber>),
    /// Waits for issues that have been open for longer than is healthy.
    WaitsLong {
        on: Vec<IssueNumber>,
        days: i64,
    },
    MissingDependency(Vec<IssueNumber>),
    Circle(Vec<IssueNumber>),
    TooManyDependencies(usize),
    NoSlot {
        parallel: u32,
    },
    TooManyOpenChanges {
        limit: u32,
    },
    Held(Hold),
}

/// Who goes next: sessions with feedback before new issues, `priority` before the rest, then the oldest.
pub fn decide(policy: &Policy, situation: &Situation<'_>) -> Decision {
    let forgotten =
        |task: &Task| bugs::is(Bug::ForgottenSlot) && matches!(task.state, State::AwaitingHuman { .. });
    let busy = situation.live.iter().filter(|task| task.state.holds_slot() || forgotten(task)).count();
    let mut free = (policy.parallel as usize).saturating_sub(busy);
    let mut decision = Decision {
        grant: Vec::new(),
        take: Vec::new(),
        read: Vec::new(),
        skipped: BTreeMap::new(),
        look_again: false,
    };
    let waiting = waiting_for_slot(situation.live);
    let unread = situation.live.iter().filter(|task| task.state.wants_critic()).map(|task| task.id.clone());
    if situation.hold.is_some() {
        decision.look_again = !waiting.is_empty() || unread.count() > 0;
    } else {
        decision.read = unread.collect();
        for task in waiting {
            if free == 0 {
                break;
            }
            decision.grant.push(task.id.clone());
            free -= 1;
        }
    }
    let mut open =
        situation.live.iter().filter(|task| !task.state.holds_slot()).count() - decision.grant.len();
    let circles = circles(situation.issues);
    for issue in by_rank(policy, situation) {
        match skip(policy, situation, issue, &circles)
            .or_else(|| no_room(policy, free, open, situation.hold.as_ref()))
        {
            Some(reason) => {
                decision.look_again |= matches!(reason, Skip::Held(_));
                decision.skipped.insert(issue.number, reason);
            }
            None => {
                decision.take.push(issue.number);
                free -= 1;
                open += 1;
            }
        }
    }
    decision
}

/// Oldest feedback first: a task must not starve behind busier ones.
fn waiting_for_slot<'a>(live: &[&'a Task]) -> Vec<&'a Task> {
    let mut waiting: Vec<&Task> =
        live.iter().copied().filter(|task| matches!(task.state, State::AwaitingSlot { .. })).collect();
    waiting.sort_by_key(|task| (task.since, task.issue));
    if bugs::is(Bug::NewestFirst) {
        waiting.reverse();
    }
    waiting
}

/// Open issues without a live task: orphaned in-progress first, then priority, then the rest, each by age.
fn by_rank<'a>(policy: &Policy, situation: &Situation<'a>) -> Vec<&'a Candidate> {
    let live: BTreeSet<IssueNumber> = situation.live.iter().map(|task| task.issue).collect();
    let mut issues: Vec<&Candidate> =
        situation.issues.values().filter(|issue| issue.open && !live.contains(&issue.number)).collect();
    issues.retain(|issue| situation.only.is_none_or(|only| only == issue.number));
    if bugs::is(Bug::DoubleDispatch) {
        issues = situation.issues.values().filter(|issue| issue.open).collect();
    }
    issues.sort_by_key(|issue| {
        let orphaned = !issue.has_label(&policy.labels.in_progress);
        let ordinary = !issue.has_label(&policy.labels.priority);
        (orphaned, ordinary, issue.created_at, issue.number)
    });
    issues
}

fn skip(
    policy: &Policy,
    situation: &Situation<'_>,
    issue: &Candidate,
    circles: &BTreeMap<IssueNumber, Vec<IssueNumber>>,
) -> Option<Skip> {
    let labels = &policy.labels;
    if issue.has_label(&labels.abandon) {
        return Some(Skip::AbandonAsked);
    }
    // Before the labels: they were put on by us when the task ended.
    if situation.ended.contains(&issue.number) {
        return Some(Skip::Ended);
    }
    if issue.has_label(&labels.underspecified) {
        return Some(Skip::Underspecified);
    }
    if issue.has_label(&labels.blocked) {
        return Some(Skip::Blocked);
    }
    if ![&labels.backlog, &labels.priority, &labels.in_progress].iter().any(|label| issue.has_label(label)) {
        return Some(Skip::NotInBacklog);
    }
    if issue.has_label(&labels.ignore_deps) {
        return None;
    }
    waits(policy, situation, issue, circles)
}

fn waits(
    policy: &Policy,
    situation: &Situation<'_>,
    issue: &Candidate,
    circles: &BTreeMap<IssueNumber, Vec<IssueNumber>>,
) -> Option<Skip> {
    let wanted = match &issue.on {
        Dependencies::On(wanted) => wanted,
        Dependencies::TooMany(n) => return Some(Skip::TooManyDependencies(*n)),
    };
    if let Some(circle) = circles.get(&issue.number) {
        return Some(Skip::Circle(circle.clone()));
    }
    let issues = situation.issues;
    let missing: Vec<IssueNumber> = wanted.iter().copied().filter(|n| !issues.contains_key(n)).collect();
    if !missing.is_empty() {
        return Some(Skip::MissingDependency(missing));
    }
    let open: Vec<&Candidate> =
        wanted.iter().filter_map(|n| issues.get(n)).filter(|other| other.open).collect();
    let oldest = open.iter().map(|other| other.created_at).min()?;
    let age = situation.now.since(oldest);
    let on = open.iter().map(|other| other.number).collect();
    if age > policy.limits.stale_dependency {
        return Some(Skip::WaitsLong { on, days: age.0 / Span::days(1).0 });
    }
    Some(Skip::WaitsFor(on))
}

fn no_room(policy: &Policy, free: usize, open: usize, hold: Option<&Hold>) -> Option<Skip> {
    if let Some(hold) = hold {
        return Some(Skip::Held(hold.clone()));
    }
    if free == 0 {
        return Some(Skip::NoSlot { parallel: policy.parallel });
    }
    let limit = policy.max_open_changes;
    (open >= limit as usize).then_some(Skip::TooManyOpenChanges { limit })
}

/// Each issue that stands in a circle, with that circle.
fn circles(issues: &BTreeMap<IssueNumber, Candidate>) -> BTreeMap<IssueNumber, Vec<IssueNumber>> {
    let mut edges = BTreeMap::new();
    for issue in issues.values().filter(|issue| issue.open) {
        if let Dependencies::On(on) = &issue.on
            && !on.is_empty()
        {
            edges.insert(issue.number, on.clone());
        }
    }
    let mut found = BTreeMap::new();
    for circle in deps::circles(&edges) {
        for member in &circle {
            found.insert(*member, circle.clone());
        }
    }
    found
}

impl Skip {
    /// What a person reads in `why`, and what would change it.
    pub fn sentence(&self) -> String {
        match self {
            Self::NotInBacklog => "has none of the labels that mark work".into(),
            Self::Blocked => "is labelled blocked".into(),
            Self::Underspecified => "is labelled underspecified".into(),
            Self::AbandonAsked => "is labelled to be left alone".into(),
            Self::Ended => "its task has ended; only an abandoned one can be tried again".into(),
            Self::WaitsFor(on) => format!("waits for {}", numbers(on)),
            Self::WaitsLong { on, days } => format!("waits for {}, open for {days} days", numbers(on)),
            Self::MissingDependency(on) => format!("depends on {}, which does not exist", numbers(on)),
            Self::Circle(circle) => format!("waits for itself: {}", numbers(circle)),
            Self::TooManyDependencies(n) => {
                format!("names {n} dependencies, more than the {} that are read", deps::MAX_DEPENDENCIES)
            }
            Self::NoSlot { parallel } => format!("all {parallel} slots are in use"),
            Self::TooManyOpenChanges { limit } => format!("{limit} changes are open already"),
            Self::Held(hold) => hold.sentence(),
        }
    }
}

impl Hold {
    /// What holds everybody up: a person, the machine, or what the day has cost by now.
    pub fn first(policy: &Policy, pause: Option<Pause>, room: Option<Self>, micro_usd: u64) -> Option<Self> {
        if let Some(pause) = pause.filter(|_| !bugs::is(Bug::PauseIgnored)) {
            return Some(Self::Paused(pause));
        }
        let cap_micro_usd = policy.caps.day_micro_usd;
        room.or((micro_usd >= cap_micro_usd).then_some(Self::DaySpent { micro_usd, cap_micro_usd }))
    }

    pub fn sentence(&self) -> String {
        match self {
            Self::Paused(Pause { reason: None }) => "the factory is paused".into(),
            Self::Paused(Pause { reason: Some(reason) }) => {
                format!("the factory is paused: {}", one_line(reason, 300))
            }
            Self::LowMemory { free_mb, wanted_mb } => {
                format!("only {free_mb} MB of memory are free, {wanted_mb} MB are wanted")
            }
            Self::LowDisk { free_mb, wanted_mb } => {
                format!("only {free_mb} MB of disk are free, {wanted_mb} MB are wanted")
            }
            Self::LowInodes { free, wanted } => {
                format!("only {free} more files fit on the disk (free inodes), {wanted} are wanted")
            }
            Self::DaySpent { micro_usd, cap_micro_usd } => format!(
                "today has cost ${:.2} of ${:.2}; work goes on after midnight UTC",
                usd(*micro_usd),
                usd(*cap_micro_usd)
            ),
        }
    }
}

fn numbers(issues: &[IssueNumber]) -> String {
    let all: Vec<String> = issues.iter().take(10).map(ToString::to_string).collect();
    let more = if issues.len() > 10 { format!(" and {} more", issues.len() - 10) } else { String::new() };
    format!("{}{more}", all.join(", "))
}

#[cfg(test)]
mod tests;
