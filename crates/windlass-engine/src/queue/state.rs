//! What the queue holds between two plans: its memory, which is stored, and what can be found again.

use std::collections::BTreeMap;

use windlass_core::id::Sha;
use windlass_core::queue::{
    Change, Entry, Link, MEMORY_KEY, Memory, Now, PAUSED_KEY, Pause, Run, RunState, Stand, View,
};
use windlass_core::time::Millis;
use windlass_store::{Store, StoreError};

use super::KNOWN_MAIN;
use super::link::Chained;

/// What is known of main and of the entries on it. All but `memory` can be found again.
#[derive(Debug, Default)]
pub struct Queue {
    pub known_main: Option<Sha>,
    pub paused: Option<Pause>,
    pub(crate) memory: Memory,
    /// As this daemon last wrote it down.
    written: Option<Memory>,
    /// What tests are built on, with its tree: main as git last said, or the candidate that main was made of. A
    /// landing may give main a commit of its own with that candidate's tree; what stands on the candidate stays valid.
    pub(super) main: Option<(Sha, Sha)>,
    /// How entries stand to this main, where something speaks against them.
    pub(super) stands: BTreeMap<Change, Stand>,
    /// Git was asked and its answer was not taken in yet.
    pub(crate) linking: bool,
    /// How often in a row git could not answer, and when it is asked again.
    pub(super) failures: u32,
    pub(super) ask_after: Option<Millis>,
    /// Git's answer.
    pub linked: Option<Result<Chained, String>>,
    mirrored: Option<serde_json::Value>,
}

impl Queue {
    /// As the store remembers it.
    pub fn stored(store: &dyn Store) -> Result<Self, StoreError> {
        let known_main = store.control(KNOWN_MAIN)?.and_then(|text| Sha::parse(&text).ok());
        let paused = store.control(PAUSED_KEY)?.map(|text| Pause::stored(&text));
        let memory = Memory::stored(store.control(MEMORY_KEY)?.as_deref());
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

    pub(super) fn is_testing(&self) -> bool {
        self.memory.runs.iter().any(|run| run.state == RunState::Open)
    }

    /// Whether a test of this tree runs that has main as it is now below it.
    pub(crate) fn holds_main(&self, tree: &Sha) -> bool {
        let Some((main, _)) = &self.main else { return false };
        let tests = |run: &Run| run.links.last().is_some_and(|link| link.tree == *tree);
        self.memory.runs.iter().any(|run| tests(run) && run.above(main).is_some())
    }

    /// The memory as text, if it is not what was last written.
    pub(super) fn news(&mut self) -> Option<String> {
        if self.written.as_ref() == Some(&self.memory) {
            return None;
        }
        self.written = Some(self.memory.clone());
        Some(serde_json::to_string(&self.memory).expect("plain data"))
    }

    /// The plan's view. It takes part of the memory along; `take_back` returns it.
    pub(super) fn view(&mut self, now: Now, entries: Vec<Entry>) -> View {
        self.memory.view(now, entries, &self.stands)
    }

    /// These are on main now, the last as its candidate's tree.
    pub(super) fn landed(&mut self, waiting: Vec<Entry>, links: &[Link]) {
        self.memory.landed(waiting, links);
        self.main = links.last().map(|link| (link.candidate.clone(), link.tree.clone()));
        self.stands.clear();
    }
}
