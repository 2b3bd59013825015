//! What an entry waits for, in the words that a person reads.

use std::collections::BTreeSet;

use super::known::Known;
use super::view::{Change, Stand, View};
use crate::id::TaskId;
use crate::text::one_line;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hold {
    Paused {
        reason: String,
    },
    /// Main is being moved.
    Landing,
    /// A test that may land it runs, together with so many others.
    Tested {
        others: usize,
    },
    /// It does not merge on top of these, which go first.
    Behind {
        by: BTreeSet<TaskId>,
    },
    /// Red alone once: it is tested again before it is blamed.
    Doubted,
    /// It was in a red test with so many others, and nobody knows yet whose doing that was.
    Suspected {
        others: usize,
    },
    /// It has passed, and waits for a test on the main of now.
    Proven,
    /// It waits for a slot.
    Slot,
}

/// What holds the entry of `change`; `None` if it does not wait.
pub fn hold(view: &View, change: &Change) -> Option<Hold> {
    let at = view.entries.iter().position(|entry| entry.change == *change)?;
    holds(view).into_iter().nth(at)
}

/// What holds each entry, in the order of the view.
pub fn holds(view: &View) -> Vec<Hold> {
    if let Some(reason) = &view.paused {
        return vec![Hold::Paused { reason: reason.clone() }; view.entries.len()];
    }
    if view.landing {
        return vec![Hold::Landing; view.entries.len()];
    }
    let known = Known::new(view);
    (0..view.entries.len()).map(|at| at_place(&known, at)).collect()
}

fn at_place(known: &Known<'_>, at: usize) -> Hold {
    let tested = known.open.iter().filter(|open| open.members.contains(&at));
    let suspected = known.least.iter().filter(|red| red.suspects.contains(&at));
    if let Some(most) = tested.map(|open| open.members.len()).max() {
        Hold::Tested { others: most.saturating_sub(1) }
    } else if let Stand::Held { by } = &known.view.entries[at].stand {
        Hold::Behind { by: by.clone() }
    } else if known.doubtful.contains(&at) {
        Hold::Doubted
    } else if let Some(least) = suspected.map(|red| red.suspects.len()).min() {
        Hold::Suspected { others: least.saturating_sub(1) }
    } else if known.proven[at] {
        Hold::Proven
    } else {
        Hold::Slot
    }
}

impl Hold {
    /// One word, for programs.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Paused { .. } => "paused",
            Self::Landing => "landing",
            Self::Tested { .. } => "testing",
            Self::Behind { .. } => "held",
            Self::Doubted => "doubted",
            Self::Suspected { .. } => "suspected",
            Self::Proven => "proven",
            Self::Slot => "ready",
        }
    }

    pub fn sentence(&self) -> String {
        match self {
            Self::Paused { reason } => format!("the queue is paused: {}", one_line(reason, 200)),
            Self::Landing => "main is being moved".into(),
            Self::Tested { others: 0 } => "it is being tested alone".into(),
            Self::Tested { others } => format!("it is being tested with {}", several(*others)),
            Self::Behind { by } => {
                let name = |task: &TaskId| task.issue().map_or_else(|| task.to_string(), |n| n.to_string());
                let names: Vec<String> = by.iter().map(name).collect();
                format!("it does not merge on top of {}, which goes first", names.join(", "))
            }
            Self::Doubted => "its test failed once and is run again".into(),
            Self::Suspected { others } => {
                format!("a test of it and {} failed; whose doing that was is looked for", several(*others))
            }
            Self::Proven => "it has passed and waits for a test on main as it is now".into(),
            Self::Slot => "it waits for a free slot".into(),
        }
    }
}

fn several(others: usize) -> String {
    if others == 1 { "one other".into() } else { format!("{others} others") }
}
