//! Entries that wait for too long are named, each once.

use windlass_core::journal::FactoryFact;
use windlass_core::queue::{self, Entry, MainIs, hold};
use windlass_core::time::Millis;

use crate::heart::Heart;

impl Heart {
    pub(super) fn raise_alarms(&mut self, now: Millis, entries: &[Entry]) {
        let limit = self.settings.policy.queue.alarm;
        if self.queue.memory.next_alarm(limit, entries).is_none_or(|at| at > now) {
            return;
        }
        let held: Vec<String> = entries.iter().map(|entry| self.held(entry, entries)).collect();
        let sentence = |entry: &Entry| {
            let at = entries.iter().position(|other| other.change == entry.change);
            at.map(|at| held[at].clone()).unwrap_or_default()
        };
        for (task, alarm) in self.queue.memory.raise_alarms(now, limit, entries, sentence) {
            let fact = FactoryFact::QueueAlarm { waited: alarm.waited, held: alarm.held };
            self.book.log_of(now, &task, fact);
        }
    }

    /// When the next alarm has to be raised.
    pub(crate) fn next_alarm(&self) -> Option<Millis> {
        let entries = queue::entries(self.book.tasks.values());
        self.queue.memory.next_alarm(self.settings.policy.queue.alarm, &entries)
    }

    fn held(&self, entry: &Entry, entries: &[Entry]) -> String {
        let Some((main, _)) = self.queue.main.clone().filter(|_| self.queue.paused.is_none()) else {
            return match &self.queue.paused {
                Some(pause) => queue::Hold::Paused { reason: pause.sentence() }.sentence(),
                None => "main is being looked at".to_owned(),
            };
        };
        let now = self.plan_now(main, MainIs::Green);
        let mut view = self.queue.memory.look(now, entries.to_vec());
        view.landing = self.is_landing();
        hold(&view, &entry.change).map_or_else(String::new, |hold| hold.sentence())
    }
}
