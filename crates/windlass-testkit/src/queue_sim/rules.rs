//! The queue's rules, checked at every act of a simulated day.

use std::collections::BTreeSet;

use windlass_core::queue::{Act, Change, Policy, View, plan};

/// So often an entry may be overtaken: two parkings, the halving of its suspects, and its confirmation.
const MAX_OVERTAKEN: u32 = 12;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// I1: what main becomes was tested green.
    Tested,
    /// I2: nothing lands twice, and only with the head that waits.
    Once,
    /// I3, I6: main holds what it held, what counts as landed, and nothing else.
    NothingLost,
    /// I4: main moves only from where the test began, or along it.
    FromTested,
    /// I7: an entry leaves for a reason.
    Leaves,
    /// I8: overtaking is bounded.
    Overtaken,
    /// I8: at most one landing in three goes before its turn.
    Expedited,
    /// I9: without flakes only bad entries are ejected.
    Innocent,
    /// I10: what could not run ejects nobody.
    Evidence,
    /// I11: no more tests than slots.
    Slots,
    /// I12: planning ends, and planning again adds nothing.
    Settled,
    /// I13: nothing happens while paused.
    Paused,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    pub rule: Rule,
    pub at: u64,
    pub what: String,
}

/// What must hold whenever the plan has nothing more to say.
pub fn at_rest(view: &View) -> Vec<(Rule, String)> {
    let mut broken = Vec::new();
    let open = view.runs.iter().filter(|run| run.state == windlass_core::queue::RunState::Open).count();
    if open > view.slots {
        broken.push((Rule::Slots, format!("{open} tests in {} slots", view.slots)));
    }
    if view.policy == Policy::Ladder
        && let Some(entry) = view.entries.iter().find(|entry| entry.passed > MAX_OVERTAKEN)
    {
        let what = format!("{} was overtaken {} times", entry.change.task, entry.passed);
        broken.push((Rule::Overtaken, what));
    }
    broken
}

/// A queue that is stopped or that is just landing does nothing.
pub fn stands_still(view: &mut View) -> Vec<(Rule, String)> {
    let mut broken = Vec::new();
    let before = view.paused.replace("a person looks".into());
    if !plan(view).is_empty() {
        broken.push((Rule::Paused, "acts while paused".into()));
    }
    view.paused = before;
    view.landing = true;
    if !plan(view).is_empty() {
        broken.push((Rule::Settled, "acts while landing".into()));
    }
    view.landing = false;
    broken
}

/// Whoever is acted on must wait, with this very head.
pub fn waits(view: &View, act: &Act) -> Option<(Rule, String)> {
    let here: BTreeSet<&Change> = view.entries.iter().map(|entry| &entry.change).collect();
    let (changes, rule): (Vec<&Change>, Rule) = match act {
        Act::Test { changes, .. } => (changes.iter().collect(), Rule::Leaves),
        Act::Land { links } => (links.iter().map(|link| &link.change).collect(), Rule::Once),
        Act::Return { change, .. } | Act::Eject { change, .. } | Act::Settle { change } => {
            (vec![change], Rule::Leaves)
        }
        Act::Cancel { .. } | Act::Pause { .. } => return None,
    };
    let distinct: BTreeSet<&Change> = changes.iter().copied().collect();
    if distinct.len() != changes.len() {
        return Some((rule, "an entry is in it twice".into()));
    }
    let missing = changes.into_iter().find(|change| !here.contains(change))?;
    Some((rule, format!("{} does not wait", missing.task)))
}
