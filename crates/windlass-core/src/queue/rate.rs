//! How often a change is bad at the gate, and what follows from it: the bound, needed slots, expected waiting.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::view::Policy;

/// Outcomes that are remembered. Older ones say little about today's agents.
const WINDOW: usize = 200;
/// The prior: one bad change in twenty.
const PRIOR_BAD: f64 = 1.0;
const PRIOR_ALL: f64 = 20.0;
/// Share of the information bound that can be counted on.
const REACHED: f64 = 0.5;

/// The last outcomes at the gate, `true` for bad.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Rate {
    last: VecDeque<bool>,
}

impl Rate {
    pub fn landed(&mut self) {
        self.push(false);
    }

    pub fn ejected(&mut self) {
        self.push(true);
    }

    fn push(&mut self, bad: bool) {
        if self.last.len() == WINDOW {
            self.last.pop_front();
        }
        self.last.push_back(bad);
    }

    /// The mean of the Beta distribution after what was seen.
    pub fn bad(&self) -> f64 {
        let bad = self.last.iter().filter(|bad| **bad).count();
        (count(bad) + PRIOR_BAD) / (count(self.last.len()) + PRIOR_ALL)
    }
}

impl Rate {
    pub fn ejected_in_a_row(&self) -> usize {
        self.last.iter().rev().take_while(|bad| **bad).count()
    }
}

/// Bits that it takes to learn whether one change is bad.
pub fn entropy(bad: f64) -> f64 {
    let bits = |p: f64| if p <= 0.0 { 0.0 } else { -p * p.log2() };
    bits(bad) + bits(1.0 - bad)
}

/// Changes that can land per test time at most: a test answers one bit, and a change's fate costs `entropy` bits.
pub fn bound(bad: f64, slots: usize) -> f64 {
    (1.0 - bad) * count(slots) / entropy(bad)
}

/// Slots that keep up with so many changes per test time.
pub fn needed_slots(arrivals_per_test: f64, bad: f64) -> usize {
    let needed = (arrivals_per_test / (REACHED * bound(bad, 1))).ceil().max(1.0);
    (1..4_096).find(|slots| count(*slots) >= needed).unwrap_or(4_096)
}

/// Changes that land per test time when many wait, as far as one can say.
pub fn landed_per_test(policy: Policy, bad: f64, slots: usize) -> f64 {
    match policy {
        // Each alone, the red ones once more.
        Policy::Serial => (1.0 - bad) / (1.0 + bad),
        // Those of a round of prefixes that come before the first bad one.
        Policy::Chain => (1..=slots.max(1)).map(|nth| (1.0 - bad).powf(count(nth))).sum(),
        Policy::Batch => REACHED * bound(bad, 1),
        Policy::Ladder => REACHED * bound(bad, slots.max(1)),
    }
}

pub(super) fn count(n: usize) -> f64 {
    f64::from(u32::try_from(n).unwrap_or(u32::MAX))
}
