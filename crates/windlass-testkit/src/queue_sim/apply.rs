//! Carries out what the plan says in the simulated world, and checks each act against what is true there.

use std::collections::BTreeSet;

use windlass_core::id::Sha;
use windlass_core::queue::{Act, Change, History, Link, MainIs, Run, RunState, Stand};

use super::day::{Flight, World, sha};
use super::dice::mix;
use super::rules::{self, Rule};
use super::{Arrivals, TEST_TIME};

impl World {
    pub(super) fn apply(&mut self, act: Act) {
        if let Some(broken) = rules::waits(&self.view, &act) {
            self.complain(vec![broken]);
            return;
        }
        match act {
            Act::Test { changes, .. } => self.test(changes),
            Act::Cancel { run } => self.cancel(&run),
            Act::Land { links } => self.land(&links),
            Act::Eject { change, failing, .. } => self.eject(&change, &failing),
            Act::Return { change, .. } | Act::Settle { change } => {
                self.complain(vec![(Rule::Leaves, format!("{} left without a reason", change.task))]);
            }
            Act::Pause { .. } => {
                // A person looks at it and lets it go on.
                self.view
                    .runs
                    .retain(|run| !matches!(run.state, RunState::Broke { .. }) && !run.links.is_empty());
            }
        }
    }

    fn test(&mut self, changes: Vec<Change>) {
        let base = self.view.main.clone();
        let mut links: Vec<Link> = Vec::new();
        let mut tip = base.clone();
        for change in changes.clone() {
            tip = merged(&tip, &change.head);
            links.push(Link { change, candidate: tip.clone(), tree: tip.clone(), history: History::Merge });
        }
        self.merges.insert(tip.clone(), (base.clone(), changes));
        let length = match self.weather.arrivals {
            Arrivals::Saturated { .. } => TEST_TIME,
            Arrivals::Open { .. } => TEST_TIME * 4 / 5 + self.dice.below(TEST_TIME * 2 / 5 + 1),
        };
        self.flights.push(Flight { tip, end: self.now + length });
        self.view.runs.push(Run { base, links, state: RunState::Open });
        if self.warm() {
            self.day.tests += 1;
        }
    }

    /// What is stopped must not be about to land anybody who waits.
    fn cancel(&mut self, run: &Run) {
        let here = |link: &Link| self.view.entries.iter().any(|entry| entry.change == link.change);
        let lands =
            run.above(&self.view.main).is_some_and(|above| !above.is_empty() && above.iter().all(here));
        if lands || run.state != RunState::Open {
            self.complain(vec![(Rule::Leaves, "a test that may land was stopped".into())]);
        }
        let Some(at) = self.view.runs.iter().position(|other| other == run) else {
            self.complain(vec![(Rule::Settled, "a test that does not run was stopped".into())]);
            return;
        };
        self.view.runs.remove(at);
        let flight = self.flights.iter().position(|flight| flight.tip == *run.tip());
        self.flights.remove(flight.expect("an open run has a flight"));
    }

    fn land(&mut self, links: &[Link]) {
        let Some(last) = links.last() else { return };
        let mut broken = Vec::new();
        if !self.green.contains(&last.candidate) {
            broken.push((Rule::Tested, format!("{} never passed", last.candidate)));
        }
        if links.iter().any(|link| self.ever_landed.contains(&link.change)) {
            broken.push((Rule::Once, "an entry lands again".into()));
        }
        let first = links.first().map(|link| merged(&self.view.main, &link.change.head));
        if first.as_ref() != links.first().map(|link| &link.candidate) {
            broken.push((Rule::FromTested, "the candidate does not stand on main".into()));
        }
        let landed: BTreeSet<Change> = links.iter().map(|link| link.change.clone()).collect();
        self.ever_landed.extend(landed.iter().cloned());
        self.log.extend(links.iter().map(|link| link.change.clone()));
        if self.holds(&last.candidate) != Some(&self.log[..]) {
            broken.push((Rule::NothingLost, "the candidate does not hold what main held".into()));
        }
        self.mains.insert(last.candidate.clone(), self.log.len());
        broken.extend(self.count_expedited(links));
        self.complain(broken);
        self.view.main = last.candidate.clone();
        self.view.main_is = MainIs::Green;
        self.leave_as_landed(&landed);
    }

    /// Whoever stands first though others are older goes before its turn: at most one landing in three.
    fn count_expedited(&mut self, links: &[Link]) -> Option<(Rule, String)> {
        let oldest = self.view.entries.iter().map(|entry| (entry.since, &entry.change.head)).min();
        let first = self.view.entries.first();
        let lead = first.filter(|first| Some((first.since, &first.change.head)) != oldest);
        let lead = lead.map(|entry| entry.change.clone());
        let others_wait = links.len() < self.view.entries.len();
        let mut broken = None;
        for link in links {
            if others_wait && lead.as_ref() == Some(&link.change) {
                if self.since_front < 2 {
                    broken = Some((Rule::Expedited, format!("{} comes too soon", link.change.task)));
                }
                self.since_front = 0;
            } else {
                self.since_front = self.since_front.saturating_add(1);
            }
        }
        let landed: Vec<&Change> = links.iter().map(|link| &link.change).collect();
        self.front.landed(&self.view.entries, &landed);
        broken
    }

    /// All that is in a candidate, if that is how main's log begins.
    fn holds(&self, candidate: &Sha) -> Option<&[Change]> {
        let (base, changes) = self.merges.get(candidate)?;
        let below = *self.mains.get(base)?;
        let held = self.log.get(..below + changes.len())?;
        (held[below..] == changes[..]).then_some(held)
    }

    fn leave_as_landed(&mut self, landed: &BTreeSet<Change>) {
        let youngest =
            self.view.entries.iter().rposition(|entry| landed.contains(&entry.change)).unwrap_or(0);
        for entry in self.view.entries.iter_mut().take(youngest) {
            entry.passed += 1;
        }
        self.view.entries.retain(|entry| !landed.contains(&entry.change));
        for change in landed {
            self.view.rate.landed();
            let waited = self.now - self.arrived[&change.task];
            if self.warm() {
                self.day.landed += 1;
                let waited = f64::from(u32::try_from(waited).expect("a short day"));
                self.day.waits.push(waited / f64::from(u32::try_from(TEST_TIME).expect("small")));
            }
            self.view.landed.insert(change.clone());
        }
    }

    fn eject(&mut self, change: &Change, failing: &[String]) {
        let innocent = !self.bad.contains(&change.task);
        if innocent && self.weather.flake == 0.0 {
            self.complain(vec![(Rule::Innocent, format!("{} is good", change.task))]);
        }
        let red = |run: &&Run| {
            matches!(run.state, RunState::Red { .. }) && run.links.iter().any(|link| link.change == *change)
        };
        if failing.is_empty() || self.view.runs.iter().filter(red).count() < 2 {
            self.complain(vec![(Rule::Evidence, format!("{} was not red twice", change.task))]);
        }
        self.view.entries.retain(|entry| entry.change != *change);
        self.view.rate.ejected();
        if self.warm() {
            self.day.ejected += 1;
            self.day.innocent += usize::from(innocent);
        }
    }

    /// Somebody pushes to main, or an author changes his mind.
    pub(super) fn storm(&mut self) {
        if self.dice.happens(self.weather.storms.pushed) {
            let head = self.new_commit();
            let theirs = Change { task: windlass_core::id::TaskId::stored("somebody"), head: head.clone() };
            self.log.push(theirs);
            self.mains.insert(head.clone(), self.log.len());
            self.view.main = head;
            self.view.main_is = MainIs::Outside;
            for entry in &mut self.view.entries {
                entry.stand = Stand::Free;
            }
        }
        if self.dice.happens(self.weather.storms.fronted) && !self.view.entries.is_empty() {
            let at = self.dice.below(u64::try_from(self.view.entries.len()).expect("a short queue"));
            let entry = &self.view.entries[usize::try_from(at).expect("a short queue")];
            self.front.ask(&entry.change.task);
        }
        if self.dice.happens(self.weather.storms.withdrawn) && !self.view.entries.is_empty() {
            let at = self.dice.below(u64::try_from(self.view.entries.len()).expect("a short queue"));
            self.view.entries.remove(usize::try_from(at).expect("a short queue"));
        }
    }
}

fn merged(tip: &Sha, head: &Sha) -> Sha {
    let number = |sha: &Sha| u64::from_str_radix(&sha.as_str()[24..], 16).expect("we wrote it");
    sha(mix(number(tip).rotate_left(17) ^ mix(number(head))))
}
