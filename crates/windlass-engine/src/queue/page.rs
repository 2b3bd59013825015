//! The queue as other tools read it: in its own order, each entry with what it waits for.

use windlass_core::build::{Build, BuildStatus};
use windlass_core::queue::{Change, Hold, Link, MainIs, Run, RunState, holds};
use windlass_core::task::{Effect, Task};

use crate::heart::Heart;

impl Heart {
    /// Every entry with one word for how it stands.
    pub(crate) fn queue_page(&self) -> Vec<(&Task, &'static str)> {
        let entries = self.queue_entries();
        if entries.is_empty() {
            return Vec::new();
        }
        let Some(main) = self.queue.memory.base.clone().or_else(|| self.queue.known_main.clone()) else {
            // Nobody has looked at main yet, so nothing can hold anybody but a person.
            let word = if self.queue.paused.is_some() { "paused" } else { "ready" };
            let entries = self.queue.memory.front.order(entries);
            let tasks = entries.iter().filter_map(|entry| self.book.tasks.get(&entry.change.task));
            return tasks.map(|task| (task, word)).collect();
        };
        let view = self.queue.memory.look(self.plan_now(main, MainIs::Green), entries);
        let standing = view.entries.iter().zip(holds(&view));
        let word = |change: &Change, hold: &Hold| {
            if self.lands(change) {
                return Hold::Landing.word();
            }
            // It may be asked for, and no slot was free yet.
            let asked = matches!(hold, Hold::Tested { .. }) && !self.runs_for(change, &view.runs);
            if asked { Hold::Slot.word() } else { hold.word() }
        };
        let row = |change: &Change, hold: &Hold| {
            self.book.tasks.get(&change.task).map(|task| (task, word(change, hold)))
        };
        standing.filter_map(|(entry, hold)| row(&entry.change, &hold)).collect()
    }

    fn lands(&self, change: &Change) -> bool {
        let holds = |link: &Link| link.change == *change;
        self.outbox.any(|effect| matches!(effect, Effect::Land { links, .. } if links.iter().any(holds)))
    }

    /// Whether a build of some test with this change has got a slot.
    fn runs_for(&self, change: &Change, runs: &[Run]) -> bool {
        let holds =
            |run: &&Run| run.state == RunState::Open && run.links.iter().any(|link| link.change == *change);
        let runs_on = |run: &Run, build: &Build| {
            matches!(build.status, BuildStatus::Running { .. })
                && run.links.last().is_some_and(|link| link.tree == build.tree)
        };
        runs.iter().filter(holds).any(|run| self.book.builds.values().any(|build| runs_on(run, build)))
    }
}
