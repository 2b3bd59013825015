//! Who goes before its turn because a person asked for it, and how often that may be.

use serde::{Deserialize, Serialize};

use super::view::{Change, Entry};
use crate::id::TaskId;

/// Landings of others that come between two expedited ones while others wait: at most one in three is expedited.
const BETWEEN: u32 = 2;

/// The expedited class. Only one entry at a time goes before its turn; the others keep their place until it has.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Front {
    /// In the order in which people asked.
    asked: Vec<TaskId>,
    /// Landings of others since the last expedited one; `None` before the first.
    since: Option<u32>,
}

impl Front {
    /// Asking twice is asking once.
    pub fn ask(&mut self, task: &TaskId) {
        if !self.asked.contains(task) {
            self.asked.push(task.clone());
        }
    }

    pub fn asked(&self) -> &[TaskId] {
        &self.asked
    }

    /// Whoever has left the queue goes first no more.
    pub fn keep(&mut self, waiting: &[Entry]) {
        self.asked.retain(|task| waiting.iter().any(|entry| entry.change.task == *task));
    }

    /// The order in which the entries are to land: the one that goes first now, then the oldest.
    pub fn order(&self, mut oldest_first: Vec<Entry>) -> Vec<Entry> {
        if let Some(at) = self.leads(&oldest_first) {
            let entry = oldest_first.remove(at);
            oldest_first.insert(0, entry);
        }
        oldest_first
    }

    /// Counts a landing. `waiting` are the entries before it.
    pub fn landed(&mut self, waiting: &[Entry], landed: &[&Change]) {
        let lead = self.leads(waiting).map(|at| waiting[at].change.task.clone());
        let others_wait = waiting.iter().any(|entry| !landed.contains(&&entry.change));
        for change in landed {
            if Some(&change.task) == lead.as_ref() && others_wait {
                self.since = Some(0);
            } else {
                self.since = self.since.map(|since| since.saturating_add(1));
            }
        }
    }

    fn leads(&self, waiting: &[Entry]) -> Option<usize> {
        if self.since.is_some_and(|since| since < BETWEEN) {
            return None;
        }
        self.asked.iter().find_map(|task| waiting.iter().position(|entry| entry.change.task == *task))
    }
}
