//! What the queue remembers between two plans, and what a reader of the store can know of it.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::estimate::Clock;
use super::flakes::Flakes;
use super::front::Front;
use super::rate::Rate;
use super::view::{Change, Entry, Link, MainIs, Policy, Run, Stand, View};
use crate::id::{Recipe, Sha, TaskId};
use crate::task::{State, Task};
use crate::text::one_line;
use crate::time::{Millis, Span};

/// Under this key the store keeps the memory, as JSON.
pub const MEMORY_KEY: &str = "queue_memory";
/// Under this key the store keeps why nothing lands, if so.
pub const PAUSED_KEY: &str = "queue_paused";

/// Why nothing lands at the moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pause {
    pub reason: String,
    /// The person who asked for it; `None` if the queue stopped itself.
    pub by: Option<String>,
}

impl Pause {
    /// A text that is not ours is a reason all the same: what is paused stays paused.
    pub fn stored(text: &str) -> Self {
        serde_json::from_str(text).unwrap_or_else(|_| Self { reason: text.to_owned(), by: None })
    }

    pub fn text(&self) -> String {
        serde_json::to_string(self).expect("plain data")
    }

    pub fn sentence(&self) -> String {
        match &self.by {
            Some(by) => format!("{} paused it: {}", one_line(by, 100), one_line(&self.reason, 300)),
            None => one_line(&self.reason, 300),
        }
    }
}

/// All of it is bounded: by who waits, or by a number.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Memory {
    pub runs: Vec<Run>,
    pub landed: BTreeSet<Change>,
    pub flaky: Flakes,
    pub rate: Rate,
    /// How often each was overtaken.
    pub passed: BTreeMap<TaskId, u32>,
    pub front: Front,
    /// What tests are built on: main, or the candidate that main was made of.
    pub base: Option<Sha>,
    /// Who does not merge on top of whom.
    pub held: BTreeMap<TaskId, BTreeSet<TaskId>>,
    /// Main as somebody else left it, until its own test or a landing answers for it.
    pub outside: Option<Sha>,
    /// How many tests main's own line has.
    pub counted: Option<Counted>,
    pub alarms: BTreeMap<TaskId, Alarm>,
    pub clock: Clock,
}

/// The tests that ran in the last green build of main's own line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counted {
    pub recipe: Recipe,
    pub tests: u64,
}

/// An entry that has waited for too long, as it was said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Alarm {
    pub at: Millis,
    pub waited: Span,
    pub held: String,
}

/// What the plan needs besides the memory.
#[derive(Debug, Clone)]
pub struct Now {
    pub policy: Policy,
    pub main: Sha,
    pub main_is: MainIs,
    pub slots: u32,
    pub paused: Option<String>,
}

/// The tasks that wait in the queue, oldest first.
pub fn entries<'a>(tasks: impl Iterator<Item = &'a Task>) -> Vec<Entry> {
    let entry = |task: &Task| match &task.state {
        State::Queued { head, .. } => Some(Entry {
            change: Change { task: task.id.clone(), head: head.clone() },
            since: task.since,
            passed: 0,
            stand: Stand::Free,
        }),
        State::Dispatched
        | State::Running { .. }
        | State::AwaitingCi { .. }
        | State::AwaitingCritic { .. }
        | State::AwaitingSlot { .. }
        | State::Revising { .. }
        | State::AwaitingHuman { .. }
        | State::Limited { .. }
        | State::HandingOff { .. }
        | State::Merged { .. }
        | State::Closed { .. }
        | State::Abandoned { .. } => None,
    };
    let mut entries: Vec<Entry> = tasks.filter_map(entry).collect();
    entries.sort_by(|a, b| (a.since, &a.change.task).cmp(&(b.since, &b.change.task)));
    entries
}

impl Memory {
    /// As the store keeps it. A memory that cannot be read is no loss but time.
    pub fn stored(text: Option<&str>) -> Self {
        text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
    }

    /// The plan's view of these entries, in the order in which they are to land. It takes along what the plan may
    /// change; `take_back` returns it.
    pub fn view(&mut self, now: Now, entries: Vec<Entry>, stands: &BTreeMap<Change, Stand>) -> View {
        let known = |mut entry: Entry| {
            entry.passed = self.passed.get(&entry.change.task).copied().unwrap_or(0);
            entry.stand = stands.get(&entry.change).cloned().unwrap_or(Stand::Free);
            entry
        };
        let entries = entries.into_iter().map(known).collect();
        View {
            policy: now.policy,
            main: now.main,
            main_is: now.main_is,
            entries: self.front.order(entries),
            runs: std::mem::take(&mut self.runs),
            landed: std::mem::take(&mut self.landed),
            flaky: std::mem::take(&mut self.flaky),
            rate: std::mem::take(&mut self.rate),
            slots: usize::try_from(now.slots).unwrap_or(usize::MAX),
            paused: now.paused,
            landing: false,
        }
    }

    /// The same view for whoever only reads. `now.main` counts for as long as nothing was planned.
    pub fn look(&self, mut now: Now, entries: Vec<Entry>) -> View {
        now.main = self.base.clone().unwrap_or(now.main);
        let stand = |entry: &Entry| {
            let by = self.held.get(&entry.change.task)?.clone();
            Some((entry.change.clone(), Stand::Held { by }))
        };
        let stands = entries.iter().filter_map(stand).collect();
        self.clone().view(now, entries, &stands)
    }

    pub fn take_back(&mut self, view: View) {
        let held = view.entries.iter().filter_map(|entry| match &entry.stand {
            Stand::Held { by } => Some((entry.change.task.clone(), by.clone())),
            Stand::Free | Stand::Contained | Stand::Conflict { .. } => None,
        });
        self.held = held.collect();
        let passed = view.entries.into_iter().filter(|entry| entry.passed > 0);
        self.passed = passed.map(|entry| (entry.change.task, entry.passed)).collect();
        (self.runs, self.landed, self.flaky, self.rate) = (view.runs, view.landed, view.flaky, view.rate);
    }

    /// Forgets what was asked and said about those who have left.
    pub fn keep(&mut self, waiting: &[Entry]) {
        self.front.keep(waiting);
        self.alarms.retain(|task, _| waiting.iter().any(|entry| entry.change.task == *task));
    }

    /// These are on main now. Whoever was to land before the last of them was overtaken.
    pub fn landed(&mut self, waiting: Vec<Entry>, links: &[Link]) {
        let waiting = self.front.order(waiting);
        let landed: Vec<&Change> = links.iter().map(|link| &link.change).collect();
        let last = waiting.iter().rposition(|entry| landed.contains(&&entry.change)).unwrap_or(0);
        for entry in waiting.iter().take(last).filter(|entry| !landed.contains(&&entry.change)) {
            *self.passed.entry(entry.change.task.clone()).or_default() += 1;
        }
        self.front.landed(&waiting, &landed);
        for link in links {
            self.rate.landed();
            self.landed.insert(link.change.clone());
        }
        self.outside = None;
    }

    /// Says once for each entry that it waits too long; `held` says what holds it.
    pub fn raise_alarms(
        &mut self,
        now: Millis,
        limit: Span,
        entries: &[Entry],
        held: impl Fn(&Entry) -> String,
    ) -> Vec<(TaskId, Alarm)> {
        let mut raised = Vec::new();
        for entry in entries {
            let (task, waited) = (&entry.change.task, now.since(entry.since));
            if waited >= limit && !self.alarms.contains_key(task) {
                let alarm = Alarm { at: now, waited, held: held(entry) };
                self.alarms.insert(task.clone(), alarm.clone());
                raised.push((task.clone(), alarm));
            }
        }
        raised
    }

    /// When the next entry will have waited too long.
    pub fn next_alarm(&self, limit: Span, entries: &[Entry]) -> Option<Millis> {
        let silent = entries.iter().filter(|entry| !self.alarms.contains_key(&entry.change.task));
        silent.map(|entry| entry.since + limit).min()
    }
}
