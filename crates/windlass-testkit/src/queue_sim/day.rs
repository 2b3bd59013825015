//! One simulated day: entries come, tests end, the plan is asked, and everything is counted.

use std::collections::{BTreeMap, BTreeSet};

use windlass_core::id::{Sha, TaskId};
use windlass_core::queue::rate::Rate;
use windlass_core::queue::{Act, Change, Entry, Flakes, Front, MainIs, RunState, Stand, View, forget, plan};
use windlass_core::time::Millis;

use super::dice::Dice;
use super::rules::{self, Broken, Rule};
use super::{Arrivals, TEST_TIME, Weather};

/// Acts that may follow from one moment; more is a plan that does not end.
const MAX_ACTS: usize = 1_000;
/// Names of tests that fail without a reason.
const FLAKY_NAMES: u64 = 50;

/// What a day came to.
#[derive(Debug, Clone, Default)]
pub struct Day {
    /// After the first few test times, in which the queue fills.
    pub landed: usize,
    pub tests: usize,
    pub ejected: usize,
    pub innocent: usize,
    /// How long each landed entry waited, in test times.
    pub waits: Vec<f64>,
    pub most_overtaken: u32,
    pub broken: Vec<Broken>,
}

/// Test times before anything is counted.
pub const WARM_UP: u64 = 4;

#[derive(Debug)]
pub(super) struct World {
    pub weather: Weather,
    pub view: View,
    pub now: u64,
    pub dice: Dice,
    /// The bad ones that were ever there.
    pub bad: BTreeSet<TaskId>,
    pub arrived: BTreeMap<TaskId, u64>,
    pub flights: Vec<Flight>,
    /// Commits whose test was green.
    pub green: BTreeSet<Sha>,
    /// What main holds, in order, also what somebody else pushed.
    pub log: Vec<Change>,
    /// What main ever was, with the length of its log then.
    pub mains: BTreeMap<Sha, usize>,
    /// What was merged on which main to make a candidate.
    pub merges: BTreeMap<Sha, (Sha, Vec<Change>)>,
    pub ever_landed: BTreeSet<Change>,
    pub front: Front,
    /// Landings of others since the last expedited one.
    pub since_front: u32,
    pub day: Day,
    pub next_arrival: u64,
    pub made: u64,
}

/// A test that runs.
#[derive(Debug)]
pub(super) struct Flight {
    pub tip: Sha,
    pub end: u64,
}

/// Lives one day.
pub fn live(weather: &Weather, seed: u64) -> Day {
    let mut world = World::new(weather.clone(), seed);
    let end = weather.length * TEST_TIME;
    loop {
        world.fill();
        world.settle();
        let Some(next) = world.next_moment() else { break };
        if next >= end || !world.day.broken.is_empty() {
            break;
        }
        world.now = next;
        world.arrive();
        world.end_tests();
        world.storm();
        let now = world.time();
        forget(&mut world.view, now);
    }
    world.day
}

pub(super) fn sha(value: u64) -> Sha {
    Sha::parse(&format!("{value:040x}")).expect("forty hex digits")
}

impl World {
    fn new(weather: Weather, seed: u64) -> Self {
        let main = sha(1);
        let view = View {
            policy: weather.policy,
            main: main.clone(),
            main_is: MainIs::Green,
            entries: Vec::new(),
            runs: Vec::new(),
            landed: BTreeSet::new(),
            flaky: Flakes::default(),
            rate: Rate::default(),
            slots: weather.slots,
            paused: None,
            landing: false,
        };
        Self {
            weather,
            view,
            now: 0,
            dice: Dice::new(seed),
            bad: BTreeSet::new(),
            arrived: BTreeMap::new(),
            flights: Vec::new(),
            green: BTreeSet::from([main.clone()]),
            log: Vec::new(),
            mains: BTreeMap::from([(main, 0)]),
            merges: BTreeMap::new(),
            ever_landed: BTreeSet::new(),
            front: Front::default(),
            since_front: u32::MAX,
            day: Day::default(),
            next_arrival: 0,
            made: 1,
        }
    }

    pub fn new_commit(&mut self) -> Sha {
        self.made += 1;
        sha(self.made)
    }

    fn fill(&mut self) {
        if let Arrivals::Saturated { outstanding } = self.weather.arrivals {
            while self.view.entries.len() < outstanding {
                self.enter();
            }
        }
    }

    fn arrive(&mut self) {
        let Arrivals::Open { per_test } = self.weather.arrivals else { return };
        while self.next_arrival <= self.now {
            self.enter();
            let gap = -(1.0 - self.dice.unit()).ln() / per_test;
            self.next_arrival += 1 + ticks(gap);
        }
    }

    fn enter(&mut self) {
        let head = self.new_commit();
        let task = TaskId::stored(format!("{}.1", self.made));
        if self.dice.happens(self.weather.bad) {
            self.bad.insert(task.clone());
        }
        self.arrived.insert(task.clone(), self.now);
        let since = self.time();
        self.view.entries.push(Entry { change: Change { task, head }, since, passed: 0, stand: Stand::Free });
    }

    fn time(&self) -> Millis {
        Millis(i64::try_from(self.now).expect("a short day"))
    }

    fn next_moment(&self) -> Option<u64> {
        let arrival = match self.weather.arrivals {
            Arrivals::Saturated { .. } => None,
            Arrivals::Open { .. } => Some(self.next_arrival),
        };
        self.flights.iter().map(|flight| flight.end).chain(arrival).min()
    }

    /// Plans and acts until there is nothing more to do.
    fn settle(&mut self) {
        for _ in 0..MAX_ACTS {
            self.arrange();
            let acts = plan(&self.view);
            if acts.is_empty() {
                let at_rest = rules::at_rest(&self.view);
                self.complain(at_rest);
                let moved = rules::stands_still(&mut self.view);
                self.complain(moved);
                self.note_overtaken();
                return;
            }
            let tests_only = acts.iter().all(|act| matches!(act, Act::Test { .. } | Act::Cancel { .. }));
            for act in acts {
                self.apply(act);
            }
            self.arrange();
            if tests_only && !plan(&self.view).is_empty() {
                self.complain(vec![(Rule::Settled, "planning again adds to the plan".into())]);
                return;
            }
            self.fill();
        }
        self.complain(vec![(Rule::Settled, "the plan does not end".into())]);
    }

    /// The entries in the order in which they are to land.
    fn arrange(&mut self) {
        let mut entries = std::mem::take(&mut self.view.entries);
        entries.sort_by(|a, b| (a.since, &a.change.head).cmp(&(b.since, &b.change.head)));
        self.front.keep(&entries);
        self.view.entries = self.front.order(entries);
    }

    fn note_overtaken(&mut self) {
        let most = self.view.entries.iter().map(|entry| entry.passed).max().unwrap_or(0);
        self.day.most_overtaken = self.day.most_overtaken.max(most);
    }

    pub fn complain(&mut self, broken: Vec<(Rule, String)>) {
        let at = self.now;
        self.day.broken.extend(broken.into_iter().map(|(rule, what)| Broken { rule, at, what }));
    }

    pub fn warm(&self) -> bool {
        self.now >= WARM_UP * TEST_TIME
    }

    fn end_tests(&mut self) {
        let (ended, running) = std::mem::take(&mut self.flights).into_iter().partition(|f| f.end <= self.now);
        self.flights = running;
        let ended: Vec<Flight> = ended;
        for flight in ended {
            let runs = &self.view.runs;
            let at = runs.iter().position(|run| run.state == RunState::Open && *run.tip() == flight.tip);
            let at = at.expect("what runs was asked for");
            let state = self.outcome(at);
            if state == RunState::Green {
                self.green.insert(flight.tip.clone());
                if flight.tip == self.view.main {
                    self.view.main_is = MainIs::Green;
                }
            }
            // In the order in which they ended.
            let mut run = self.view.runs.remove(at);
            run.state = state;
            self.view.runs.push(run);
        }
    }

    fn outcome(&mut self, at: usize) -> RunState {
        if self.dice.happens(self.weather.storms.broken) {
            return RunState::Broke { why: "the disk is full".into() };
        }
        let links = &self.view.runs[at].links;
        let mut failing: Vec<String> = links
            .iter()
            .filter(|link| self.bad.contains(&link.change.task))
            .map(|link| format!("breaks-{}", link.change.task))
            .collect();
        if self.dice.happens(self.weather.flake) {
            failing.push(format!("flaky-{}", self.dice.below(FLAKY_NAMES)));
        }
        if failing.is_empty() { RunState::Green } else { RunState::Red { failing, log: String::new() } }
    }
}

/// Test times as virtual time.
pub(super) fn ticks(tests: f64) -> u64 {
    std::time::Duration::try_from_secs_f64(tests)
        .map_or(u64::MAX / 4, |time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX / 4))
}
