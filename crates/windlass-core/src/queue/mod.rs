//! The merge queue as a pure function: what is known in, what to do next out.

mod estimate;
mod flakes;
mod front;
mod hold;
mod known;
mod ladder;
mod memory;
mod odds;
pub mod rate;
mod simple;
mod view;

pub use estimate::{Clock, Outlook, outlook};
pub use flakes::{Flake, Flakes};
pub use front::Front;
pub use hold::{Hold, hold, holds};
pub use memory::{Alarm, Counted, MEMORY_KEY, Memory, Now, PAUSED_KEY, Pause, entries};
pub use view::{Act, Change, Entry, History, Link, MainIs, Policy, Run, RunState, Stand, Verdict, View};

use std::collections::BTreeSet;

use crate::bugs::{self, Bug};

use known::Known;

use crate::id::Sha;
use crate::time::Millis;

/// Tests that could not run blame nobody; after this many in a row the queue waits for a person.
const MAX_BROKE: usize = 3;
/// So many ejections in a row, and main itself is the suspect.
const EJECTIONS_IN_A_ROW: usize = 3;
/// Main may fail once without a reason, as everybody may.
const MAIN_REDS: usize = 2;

/// What to do next. Acts that end an entry's wait come alone: what follows from them is planned when they are done.
pub fn plan(view: &View) -> Vec<Act> {
    let paused = view.paused.is_some() && !bugs::is(Bug::QueuePauseIgnored);
    if paused || view.landing {
        return Vec::new();
    }
    if let Some(reason) = trouble(view) {
        return vec![Act::Pause { reason }];
    }
    let leaving: Vec<Act> = view.entries.iter().filter_map(leave).collect();
    if !leaving.is_empty() {
        return leaving;
    }
    if let Some(links) = landable(view) {
        return vec![Act::Land { links }];
    }
    let mut known = Known::new(view);
    let blamed = blamed(&known);
    let ask = match (blamed.is_empty(), main_itself(view)) {
        (false, MainItself::Fine) => return blamed,
        (false, MainItself::Ask(verdict)) if known.open.len() < view.slots => Some(verdict),
        (false, MainItself::Ask(_) | MainItself::Asked) | (true, _) => None,
    };
    let cancelled = known.useless.iter().map(|run| Act::Cancel { run: (*run).clone() });
    let mut acts: Vec<Act> = cancelled.collect();
    acts.extend(ask.map(|verdict| test_main(&mut known, verdict)));
    acts.extend(tests(&mut known));
    acts.extend(spare_test(&mut known));
    acts
}

/// Forgets what says nothing any more, but not which tests have failed without a reason.
pub fn forget(view: &mut View, now: Millis) {
    let known = Known::new(view);
    let flakes: Vec<(Sha, Vec<String>)> =
        known.flakes.iter().map(|(run, failing)| (run.tip().clone(), failing.to_vec())).collect();
    for (tip, failing) in flakes {
        view.flaky.note(&tip, &failing, now);
    }
    let here: BTreeSet<&Change> = view.entries.iter().map(|entry| &entry.change).collect();
    let last =
        view.runs.iter().rposition(|run| !matches!(run.state, RunState::Broke { .. } | RunState::Open));
    let main = &view.main;
    let mut at = 0;
    view.runs.retain(|run| {
        at += 1;
        match run.state {
            RunState::Open => true,
            RunState::Broke { .. } => last.is_none_or(|last| at > last + 1),
            RunState::Green | RunState::Red { .. } => {
                run.links.iter().any(|link| here.contains(&link.change))
                    || (run.links.is_empty() && run.base == *main)
            }
        }
    });
    let told: BTreeSet<&Change> =
        view.runs.iter().flat_map(|run| run.links.iter().map(|link| &link.change)).collect();
    view.landed.retain(|change| told.contains(change));
}

fn trouble(view: &View) -> Option<String> {
    let mut broke = view.runs.iter().rev().filter(|run| run.state != RunState::Open).map(|run| &run.state);
    let mut in_a_row = 0;
    while let Some(RunState::Broke { why }) = broke.next() {
        in_a_row += 1;
        if in_a_row == MAX_BROKE {
            return Some(format!("tests could not run {in_a_row} times in a row: {why}"));
        }
    }
    let reds = of_main(view).filter(|run| matches!(run.state, RunState::Red { .. })).count();
    (reds >= MAIN_REDS).then(|| "main's own tests fail".to_owned())
}

fn of_main(view: &View) -> impl Iterator<Item = &Run> {
    view.runs.iter().filter(|run| run.links.is_empty() && run.base == view.main)
}

fn leave(entry: &Entry) -> Option<Act> {
    let change = entry.change.clone();
    match &entry.stand {
        Stand::Contained if bugs::is(Bug::NoContainment) => None,
        Stand::Contained => Some(Act::Settle { change }),
        Stand::Conflict { files, commits } => {
            Some(Act::Return { change, files: files.clone(), commits: commits.clone() })
        }
        Stand::Free | Stand::Held { .. } => None,
    }
}

/// The green run that takes most to main. Whatever was red below it, its own tree passed.
fn landable(view: &View) -> Option<Vec<Link>> {
    let here: BTreeSet<&Change> = view.entries.iter().map(|entry| &entry.change).collect();
    let links = |run: &&Run| run.above(&view.main).map(<[Link]>::to_vec);
    let early = |run: &Run| bugs::is(Bug::LandWithoutVerdict) && run.state == RunState::Open;
    let green = view.runs.iter().filter(|run| run.state == RunState::Green || early(run));
    let whole = green.filter(|run| {
        run.above(&view.main)
            .is_some_and(|above| !above.is_empty() && above.iter().all(|link| here.contains(&link.change)))
    });
    let best = whole.max_by_key(|run| run.above(&view.main).map_or(0, <[Link]>::len))?;
    links(&best)
}

fn blamed(known: &Known<'_>) -> Vec<Act> {
    let eject = |at: usize| {
        let red = known.blame(at)?;
        let change = known.view.entries[at].change.clone();
        Some(Act::Eject { change, failing: red.failing.to_vec(), log: red.log.to_owned() })
    };
    (0..known.view.entries.len()).filter_map(eject).collect()
}

enum MainItself {
    Fine,
    Asked,
    Ask(Verdict),
}

/// Before somebody is blamed on a main that nobody tested, or as one of many, main is tested itself.
fn main_itself(view: &View) -> MainItself {
    if of_main(view).any(|run| run.state == RunState::Open) {
        return MainItself::Asked;
    }
    if of_main(view).any(|run| run.state == RunState::Green) {
        return MainItself::Fine;
    }
    if of_main(view).any(|run| matches!(run.state, RunState::Red { .. })) {
        return MainItself::Ask(Verdict::Again);
    }
    let many = view.rate.ejected_in_a_row() + 1 >= EJECTIONS_IN_A_ROW;
    match (view.main_is, many) {
        (MainIs::Green, false) => MainItself::Fine,
        (MainIs::Green, true) => MainItself::Ask(Verdict::Again),
        (MainIs::Untested | MainIs::Outside, _) => MainItself::Ask(Verdict::Known),
    }
}

fn test_main(known: &mut Known<'_>, verdict: Verdict) -> Act {
    known.open.push(known::Open { members: Vec::new(), lands: None });
    Act::Test { changes: Vec::new(), verdict }
}

/// A main that somebody else made is tested itself as soon as nobody else wants the slot.
fn spare_test(known: &mut Known<'_>) -> Option<Act> {
    if known.view.main_is != MainIs::Outside || known.open.len() >= known.view.slots {
        return None;
    }
    match main_itself(known.view) {
        MainItself::Ask(verdict) if known.open.iter().all(|open| !open.members.is_empty()) => {
            Some(test_main(known, verdict))
        }
        MainItself::Ask(_) | MainItself::Asked | MainItself::Fine => None,
    }
}

/// Fills the free slots, one test after the other: each is chosen knowing those before it.
fn tests(known: &mut Known<'_>) -> Vec<Act> {
    let mut acts = Vec::new();
    while known.open.len() < known.view.slots {
        let Some((members, verdict)) = next(known) else { break };
        let members = mergeable(known.view, members);
        if members.is_empty() || known.open.iter().any(|open| open.members == members) {
            break;
        }
        // Who is to blame and only waits for the test of main itself is not tested any more.
        if members.iter().any(|at| known.blame(*at).is_some()) {
            break;
        }
        // What is known would be answered at once and teach nothing.
        let verdict = if is_answered(known.view, &members) { Verdict::Again } else { verdict };
        let changes = members.iter().map(|at| known.view.entries[*at].change.clone()).collect();
        acts.push(Act::Test { changes, verdict });
        known.open.push(known::Open { lands: Some(members.len()), members });
    }
    acts
}

/// Whether these very entries, and no others, were tested on this main.
fn is_answered(view: &View, members: &[usize]) -> bool {
    let same = |run: &Run| {
        let changes = run.links.iter().map(|link| &link.change);
        run.base == view.main && changes.eq(members.iter().map(|at| &view.entries[*at].change))
    };
    let ended = |run: &&Run| matches!(run.state, RunState::Green | RunState::Red { .. });
    view.runs.iter().filter(ended).any(same)
}

fn next(known: &Known<'_>) -> Option<(Vec<usize>, Verdict)> {
    if known.view.policy != Policy::Serial || known.open.is_empty() {
        let alone = known.doubtful.iter().copied().find(|at| !known.in_open_alone(*at));
        if let Some(at) = alone {
            return Some((vec![at], Verdict::Again));
        }
    }
    let members = match known.view.policy {
        Policy::Serial => simple::serial(known),
        Policy::Batch => simple::batch(known),
        Policy::Chain => simple::chain(known),
        Policy::Ladder => ladder::next(known),
    };
    members.map(|members| (members, Verdict::Known))
}

/// Leaves out who does not merge on top of those before it.
fn mergeable(view: &View, members: Vec<usize>) -> Vec<usize> {
    let mut kept: Vec<usize> = Vec::new();
    for at in members {
        let held = match &view.entries[at].stand {
            Stand::Held { by } => kept.iter().any(|before| by.contains(&view.entries[*before].change.task)),
            Stand::Free | Stand::Contained | Stand::Conflict { .. } => false,
        };
        if !held {
            kept.push(at);
        }
    }
    kept
}
