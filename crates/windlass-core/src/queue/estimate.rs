//! What a person can be told about the future: when each entry should land, and how many slots would keep up.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::known::Known;
use super::rate::{count, landed_per_test, needed_slots};
use super::view::{Change, Run, RunState, View};
use crate::time::{Millis, Span};

/// Tests and arrivals that are remembered.
const WINDOW: usize = 50;

/// How long tests take, and how fast entries come.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Clock {
    tests: VecDeque<Span>,
    arrivals: VecDeque<Millis>,
}

/// What can be expected as things stand.
#[derive(Debug, Clone, PartialEq)]
pub struct Outlook {
    /// How long a test usually takes; nothing can be said before one has ended.
    pub usual_test: Option<Span>,
    pub bad: f64,
    /// Changes that should land per test time.
    pub landed_per_test: f64,
    pub arrivals_per_test: Option<f64>,
    /// Slots that keep up with the arrivals.
    pub needed_slots: Option<usize>,
    /// When each entry should be on main, in the order of the view.
    pub landings: Vec<(Change, Option<Millis>)>,
}

impl Clock {
    /// A test for the queue ended with a verdict after this long.
    pub fn tested(&mut self, took: Span) {
        push(&mut self.tests, took);
    }

    /// An entry came at this time. Saying it twice is saying it once.
    pub fn arrived(&mut self, at: Millis) {
        if self.arrivals.back().is_none_or(|last| *last < at) {
            push(&mut self.arrivals, at);
        }
    }

    /// The median of the last tests.
    pub fn usual_test(&self) -> Option<Span> {
        let mut tests: Vec<Span> = self.tests.iter().copied().collect();
        tests.sort();
        tests.get(tests.len() / 2).copied()
    }

    /// How many come per test time, over the last of them until now.
    pub fn arrivals_per_test(&self, now: Millis) -> Option<f64> {
        let (first, usual) = (self.arrivals.front()?, self.usual_test()?);
        if self.arrivals.len() < 2 {
            return None;
        }
        Some(count(self.arrivals.len()) * millis(usual) / millis(now.since(*first)).max(1.0))
    }
}

/// `started` says when the build of a run began.
pub fn outlook(view: &View, clock: &Clock, now: Millis, started: impl Fn(&Run) -> Option<Millis>) -> Outlook {
    let bad = view.rate.bad();
    let usual_test = clock.usual_test().filter(|usual| *usual > Span::ZERO);
    let arrivals_per_test = clock.arrivals_per_test(now);
    let landed_per_test = landed_per_test(view.policy, bad, view.slots.max(1));
    let running = usual_test.map_or_else(Vec::new, |usual| running(view, now, usual, &started));
    let landing = |at: usize| {
        let usual = usual_test.filter(|_| view.paused.is_none())?;
        // In test times: one test of its own, after those of the entries before it.
        let in_turn = 1.0 + count(at) / landed_per_test;
        let holds = running.iter().filter(|test| test.members.contains(&at));
        let sooner = holds.map(|test| test.left + (1.0 - test.green) * in_turn);
        Some(now + span(sooner.fold(in_turn, f64::min) * millis(usual)))
    };
    Outlook {
        usual_test,
        bad,
        landed_per_test,
        arrivals_per_test,
        needed_slots: arrivals_per_test.map(|arrivals| needed_slots(arrivals, bad)),
        landings: (0..view.entries.len()).map(|at| (view.entries[at].change.clone(), landing(at))).collect(),
    }
}

/// A test that lands its members if it is green.
#[derive(Debug)]
struct Running {
    members: Vec<usize>,
    /// Test times until it should end.
    left: f64,
    /// How likely it is green.
    green: f64,
}

fn running(view: &View, now: Millis, usual: Span, started: impl Fn(&Run) -> Option<Millis>) -> Vec<Running> {
    let known = Known::new(view);
    let place = |change: &Change| view.entries.iter().position(|entry| entry.change == *change);
    let open = view.runs.iter().filter(|run| run.state == RunState::Open);
    let running = open.filter_map(|run| {
        let above = run.above(&view.main)?;
        let members = above.iter().map(|link| place(&link.change)).collect::<Option<Vec<usize>>>()?;
        let gone = started(run).map_or(0.0, |at| millis(now.since(at)) / millis(usual));
        let unproven = members.iter().filter(|at| !known.proven[**at]).count();
        let green = (1.0 - view.rate.bad()).powf(count(unproven));
        Some(Running { members, left: (1.0 - gone).max(0.0), green })
    });
    running.collect()
}

fn push<T>(last: &mut VecDeque<T>, new: T) {
    if last.len() == WINDOW {
        last.pop_front();
    }
    last.push_back(new);
}

fn millis(span: Span) -> f64 {
    f64::from(u32::try_from(span.0.max(0)).unwrap_or(u32::MAX))
}

fn span(millis: f64) -> Span {
    let whole = std::time::Duration::try_from_secs_f64(millis.max(0.0) / 1_000.0);
    Span(whole.map_or(i64::MAX, |time| i64::try_from(time.as_millis()).unwrap_or(i64::MAX)))
}
