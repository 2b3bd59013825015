//! How often a change is bad at the gate, and what follows from it: the bound, needed slots, expected waiting.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

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

/// Test times until the entry with so many before it has landed, as far as one can say.
pub fn expected_tests(before: usize, bad: f64, slots: usize) -> f64 {
    1.0 + count(before) / (REACHED * bound(bad, slots.max(1)))
}

pub(super) fn count(n: usize) -> f64 {
    f64::from(u32::try_from(n).unwrap_or(u32::MAX))
}
