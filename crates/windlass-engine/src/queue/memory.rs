//! What the queue remembers between two plans.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use windlass_core::id::{Sha, TaskId};
use windlass_core::queue::rate::Rate;
use windlass_core::queue::{Change, Entry, Link, Policy, Run, Stand, View};
use windlass_store::{Store, StoreError};

use super::link::Chained;
use super::{KNOWN_MAIN, QUEUE_MEMORY, QUEUE_PAUSED};

/// What is known of main and of the entries on it. All but `memory` can be found again.
#[derive(Debug, Default)]
pub struct Queue {
    pub known_main: Option<Sha>,
    pub paused: Option<String>,
    pub(super) memory: Memory,
    /// As it was last written down.
    pub(super) written: String,
    /// What tests are built on, with its tree: main as git last said, or the candidate that main was made of. A
    /// landing gives main a commit of its own with that candidate's tree; what stands on the candidate stays valid.
    pub(super) main: Option<(Sha, Sha)>,
    /// How entries stand to this main, where something speaks against them.
    pub(super) stands: BTreeMap<Change, Stand>,
    /// Git was asked and its answer was not taken in yet.
    pub(super) linking: bool,
    /// Git's answer.
    pub linked: Option<Result<Chained, String>>,
    mirrored: Option<serde_json::Value>,
}

/// What past tests and landings say about those who wait.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Memory {
    pub runs: Vec<Run>,
    pub landed: BTreeSet<Change>,
    pub flaky: BTreeSet<String>,
    pub rate: Rate,
    /// How often each was overtaken.
    pub passed: BTreeMap<TaskId, u32>,
}

impl Queue {
    /// As the store remembers it. A memory that cannot be read is no loss but time.
    pub fn stored(store: &dyn Store) -> Result<Self, StoreError> {
        let known_main = store.control(KNOWN_MAIN)?.and_then(|text| Sha::parse(&text).ok());
        let memory = store.control(QUEUE_MEMORY)?.and_then(|text| serde_json::from_str(&text).ok());
        let (paused, memory) = (store.control(QUEUE_PAUSED)?, memory.unwrap_or_default());
        Ok(Self { known_main, paused, memory, ..Self::default() })
    }

    /// The queue as it is to be written out for others, if that has changed.
    pub fn changed(&mut self, queue: serde_json::Value) -> Option<serde_json::Value> {
        let changed = self.mirrored.as_ref() != Some(&queue);
        self.mirrored = Some(queue.clone());
        changed.then_some(queue)
    }

    /// Main is elsewhere than we thought, or nobody looked for a while.
    pub(super) fn forget_main(&mut self) {
        self.main = None;
        self.stands.clear();
    }

    /// The memory as text, if it is not what was last written.
    pub(super) fn news(&mut self) -> Option<String> {
        let text = serde_json::to_string(&self.memory).expect("plain data");
        if text == self.written {
            return None;
        }
        self.written.clone_from(&text);
        Some(text)
    }

    /// The plan's view. It takes the memory along; `take_back` returns it.
    pub(super) fn view(&mut self, main: Sha, main_green: bool, entries: Vec<Entry>, slots: u32) -> View {
        let memory = std::mem::take(&mut self.memory);
        let (passed, stands) = (&memory.passed, &self.stands);
        let known = |mut entry: Entry| {
            entry.passed = passed.get(&entry.change.task).copied().unwrap_or(0);
            entry.stand = stands.get(&entry.change).cloned().unwrap_or(Stand::Free);
            entry
        };
        View {
            policy: Policy::default(),
            main,
            main_green,
            entries: entries.into_iter().map(known).collect(),
            runs: memory.runs,
            landed: memory.landed,
            flaky: memory.flaky,
            rate: memory.rate,
            slots: usize::try_from(slots).unwrap_or(usize::MAX),
            paused: self.paused.clone(),
            landing: false,
        }
    }

    pub(super) fn take_back(&mut self, view: View) {
        let passed = view.entries.into_iter().filter(|entry| entry.passed > 0);
        self.memory = Memory {
            runs: view.runs,
            landed: view.landed,
            flaky: view.flaky,
            rate: view.rate,
            passed: passed.map(|entry| (entry.change.task, entry.passed)).collect(),
        };
    }

    /// These are on main now. Whoever is older than the youngest of them was overtaken.
    pub(super) fn landed(&mut self, waiting: &[Entry], links: &[Link]) {
        let landed: BTreeSet<&Change> = links.iter().map(|link| &link.change).collect();
        let youngest = waiting.iter().rposition(|entry| landed.contains(&entry.change)).unwrap_or(0);
        for entry in waiting.iter().take(youngest).filter(|entry| !landed.contains(&entry.change)) {
            *self.memory.passed.entry(entry.change.task.clone()).or_default() += 1;
        }
        for link in links {
            self.memory.rate.landed();
            self.memory.landed.insert(link.change.clone());
        }
        self.main = links.last().map(|link| (link.candidate.clone(), link.tree.clone()));
        self.stands.clear();
    }
}
