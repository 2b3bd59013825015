//! What past tests say about the entries: who is proven, who is suspected, who is to blame.

use std::collections::{BTreeMap, BTreeSet};

use super::view::{Entry, Run, RunState, View};
use crate::id::Sha;

/// So many red tests of nothing but proven entries, and they count as proven no longer: they fail together.
const DOUBTS: u32 = 2;

/// Entries are named by their place in the queue here.
#[derive(Debug)]
pub(super) struct Known<'a> {
    pub view: &'a View,
    /// Passed in some test since nothing spoke against it.
    pub proven: Vec<bool>,
    /// Red tests that are not explained by what has left or is proven.
    pub reds: Vec<Red<'a>>,
    /// The red tests that say most: none of them holds another.
    pub least: Vec<Red<'a>>,
    /// Who is red alone, but not to blame yet.
    pub doubtful: Vec<usize>,
    pub open: Vec<Open>,
    /// Runs under way that can land nothing and teach nothing.
    pub useless: Vec<&'a Run>,
    pub flaky: BTreeSet<&'a str>,
    /// The runs that showed it, with the tests that failed in them.
    pub flakes: Vec<(&'a Run, &'a [String])>,
    greens: Vec<BTreeSet<usize>>,
}

#[derive(Debug, Clone)]
pub(super) struct Red<'a> {
    pub members: Vec<usize>,
    /// The members that are not proven; at least one.
    pub suspects: BTreeSet<usize>,
    pub failing: &'a [String],
    pub log: &'a str,
}

#[derive(Debug, Clone)]
pub(super) struct Open {
    pub members: Vec<usize>,
    /// How many entries land if it is green; none if main is elsewhere or a member has left.
    pub lands: Option<usize>,
}

impl<'a> Known<'a> {
    pub fn new(view: &'a View) -> Self {
        let place = |(at, entry): (usize, &'a Entry)| (entry.change.task.as_str(), (at, &entry.change.head));
        let places: Places<'_> = view.entries.iter().enumerate().map(place).collect();
        let members: Vec<Members> = view.runs.iter().map(|run| Members::of(view, &places, run)).collect();
        let proven = proven(view, &members);
        let mut known = Self {
            view,
            proven,
            reds: Vec::new(),
            least: Vec::new(),
            doubtful: Vec::new(),
            open: Vec::new(),
            useless: Vec::new(),
            flaky: view.flaky.names().collect(),
            flakes: Vec::new(),
            greens: Vec::new(),
        };
        for (run, members) in view.runs.iter().zip(members) {
            known.add(run, members);
        }
        known.least = least(&known.reds);
        known.doubtful = known.doubtful();
        known
    }

    fn add(&mut self, run: &'a Run, members: Members) {
        match &run.state {
            RunState::Open => {
                let lands = run.above(&self.view.main).map(<[_]>::len).filter(|_| !members.gone);
                let open = Open { members: members.here, lands };
                if self.is_useless(run, &open) { self.useless.push(run) } else { self.open.push(open) }
            }
            RunState::Green => self.greens.push(members.here.into_iter().collect()),
            RunState::Red { failing, log } => {
                let suspects: BTreeSet<usize> =
                    members.here.iter().copied().filter(|at| !self.proven[*at]).collect();
                if members.gone || run.links.is_empty() {
                    return;
                }
                if suspects.is_empty() {
                    // Everybody in it passed elsewhere: its failing tests fail without a reason.
                    self.flaky.extend(failing.iter().map(String::as_str));
                    self.flakes.push((run, failing));
                } else {
                    self.reds.push(Red { members: members.here, suspects, failing, log });
                }
            }
            RunState::Broke { .. } => {}
        }
    }

    /// A test of an earlier main; or one whose members have all left, or have all passed and cannot land by it.
    fn is_useless(&self, run: &Run, open: &Open) -> bool {
        if run.links.is_empty() {
            return run.base != self.view.main;
        }
        let lands = open.lands.is_some_and(|lands| lands > 0);
        open.members.is_empty() || (!lands && open.members.iter().all(|at| self.proven[*at]))
    }

    /// Red tests in which `at` was the only change that had not passed together with the rest.
    pub fn alone(&self, at: usize) -> Vec<&Red<'a>> {
        let only = |red: &&Red<'a>| red.suspects.len() == 1 && red.suspects.contains(&at);
        self.reds.iter().filter(only).filter(|red| self.passed_together(&red.members, at)).collect()
    }

    fn passed_together(&self, members: &[usize], but: usize) -> bool {
        let rest = || members.iter().filter(|at| **at != but);
        rest().next().is_none() || self.greens.iter().any(|green| rest().all(|at| green.contains(at)))
    }

    /// The evidence against an entry, once it is enough: red alone twice, or once with failing tests that a
    /// test which suspected it has named too.
    pub fn blame(&self, at: usize) -> Option<&Red<'a>> {
        let alone = self.alone(at);
        let red = alone.last().copied()?;
        let agree = |a: &Red<'a>, b: &Red<'a>| {
            a.failing == b.failing || a.failing.iter().any(|name| b.failing.contains(name))
        };
        // Twice with nothing in common is chance twice, unless it goes on.
        if alone.len() > 2 || (alone.len() == 2 && agree(alone[0], alone[1])) {
            return Some(red);
        }
        let steady = red.failing.iter().any(|name| !self.flaky.contains(name.as_str()));
        let same = |other: &Red<'a>| {
            !std::ptr::eq(other, red)
                && other.members.contains(&at)
                && red.failing.iter().all(|name| other.failing.contains(name))
        };
        (steady && self.reds.iter().any(same)).then_some(red)
    }

    fn doubtful(&self) -> Vec<usize> {
        let single = self.reds.iter().filter(|red| red.suspects.len() == 1);
        let all: BTreeSet<usize> = single.flat_map(|red| red.suspects.iter().copied()).collect();
        all.into_iter().filter(|at| self.blame(*at).is_none()).collect()
    }

    pub fn in_open_alone(&self, at: usize) -> bool {
        self.open.iter().any(|open| open.members == [at])
    }
}

fn least<'a>(reds: &[Red<'a>]) -> Vec<Red<'a>> {
    let mut least: Vec<Red<'a>> = Vec::new();
    for (nth, red) in reds.iter().enumerate() {
        let smaller = |(other_nth, other): (usize, &Red<'a>)| {
            other.suspects.is_subset(&red.suspects)
                && (other.suspects.len() < red.suspects.len() || other_nth < nth)
        };
        if !reds.iter().enumerate().any(smaller) {
            least.push(red.clone());
        }
    }
    least
}

/// Where a task's entry is, and its head.
type Places<'a> = BTreeMap<&'a str, (usize, &'a Sha)>;

/// The members of a run that still wait, and whether another left without landing.
#[derive(Debug)]
struct Members {
    here: Vec<usize>,
    gone: bool,
}

impl Members {
    fn of(view: &View, places: &Places<'_>, run: &Run) -> Self {
        let (mut here, mut gone) = (Vec::new(), false);
        for link in &run.links {
            match places.get(link.change.task.as_str()) {
                Some((at, head)) if **head == link.change.head => here.push(*at),
                Some(_) | None => gone = gone || !view.landed.contains(&link.change),
            }
        }
        Self { here, gone }
    }
}

fn proven(view: &View, members: &[Members]) -> Vec<bool> {
    let mut proven = vec![false; view.entries.len()];
    let mut doubts = vec![0; view.entries.len()];
    for (run, members) in view.runs.iter().zip(members) {
        match run.state {
            RunState::Green => {
                for at in &members.here {
                    (proven[*at], doubts[*at]) = (true, 0);
                }
            }
            RunState::Red { .. } if !members.gone && members.here.iter().all(|at| proven[*at]) => {
                for at in &members.here {
                    doubts[*at] += 1;
                    proven[*at] = doubts[*at] < DOUBTS;
                }
            }
            RunState::Red { .. } | RunState::Open | RunState::Broke { .. } => {}
        }
    }
    proven
}
