//! Time in which nobody was there counts for no deadline: the machine slept, or the factory was down.

use std::collections::BTreeSet;

use windlass_core::build::{Build, BuildStatus};
use windlass_core::id::TaskId;
use windlass_core::session::Process;
use windlass_core::task::Event;
use windlass_core::time::{Millis, Span};

use crate::heart::Heart;

/// The heart looks at least once a minute; who has not looked for so long was not there.
const AWAY: Span = Span::mins(5);

impl Heart {
    /// At the start: since the last thing that a daemon wrote down. Agents that went on without one have used their time.
    pub(crate) fn was_down(&mut self, now: Millis) {
        let signs = self.book.identities.values().map(|identity| identity.last_seen);
        let tasks = self.book.tasks.values().map(|task| task.counted_at);
        let Some(since) = signs.chain(tasks).max() else { return };
        let alive: BTreeSet<TaskId> = self
            .book
            .identities
            .values()
            .filter(|identity| self.outside.process(identity) == Process::Alive)
            .map(|identity| identity.task.clone())
            .collect();
        self.was_away(now, since, |task| !alive.contains(task));
    }

    /// Since the last look the machine slept, or nothing could be written.
    pub(crate) fn was_asleep(&mut self, now: Millis) {
        if let Some(since) = self.last_look.replace(now) {
            self.was_away(now, since, |_| true);
        }
    }

    fn was_away(&mut self, now: Millis, since: Millis, rested: impl Fn(&TaskId) -> bool) {
        if now.since(since) < AWAY {
            return;
        }
        let waits = |build: &&Build| matches!(build.status, BuildStatus::Running { .. });
        for build in self.book.builds.values().filter(waits).cloned().collect::<Vec<_>>() {
            let later = |at: Millis| at + now.since(since.max(at));
            let (slot_at, started_at) = (build.slot_at.map(later), build.started_at.map(later));
            self.book.save_build(Build { slot_at, started_at, ..build });
        }
        let rested = self.book.tasks.values().filter(|task| !task.state.holds_slot() || rested(&task.id));
        let rested: Vec<TaskId> = rested.map(|task| task.id.clone()).collect();
        for task in rested {
            self.book.happened(now, &task, &Event::Away { since });
        }
    }
}
