//! The merge queue's real plan in virtual time: seeds in, figures and broken rules out.

mod apply;
mod day;
pub(crate) mod dice;
mod rules;

pub use day::{Day, live};
pub use rules::{Broken, Rule};

use windlass_core::queue::Policy;

/// A test's length in virtual time.
pub const TEST_TIME: u64 = 1_000;

/// What one simulated day is like.
#[derive(Debug, Clone, PartialEq)]
pub struct Weather {
    pub policy: Policy,
    pub slots: usize,
    /// How likely a change is bad, alone and with any others.
    pub bad: f64,
    /// How likely a test of good changes is red.
    pub flake: f64,
    pub arrivals: Arrivals,
    /// How long the day is, in test times.
    pub length: u64,
    pub storms: Storms,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Arrivals {
    /// So many are always waiting.
    Saturated { outstanding: usize },
    /// So many come per test time, at random; tests take up to a fifth more or less.
    Open { per_test: f64 },
}

/// What may go wrong besides bad changes, each with its chance per test or test time.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Storms {
    /// A test cannot run.
    pub broken: f64,
    /// Somebody pushes to main.
    pub pushed: f64,
    /// A change gets a new head while it waits.
    pub withdrawn: f64,
    /// A person puts a change first.
    pub fronted: f64,
}

impl Arrivals {
    pub fn word(self) -> &'static str {
        match self {
            Self::Saturated { .. } => "saturated",
            Self::Open { .. } => "open",
        }
    }
}
