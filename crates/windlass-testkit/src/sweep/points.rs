//! Crash points as a run reached them: read from its trace, named so that every run has the same names.

use std::collections::BTreeSet;
use std::fmt;

/// One line of a trace.
#[derive(Debug, Clone)]
pub struct Line {
    pub at: i64,
    place: String,
    marks: Vec<String>,
}

/// Names of points: where, and what is under way there.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Points {
    names: BTreeSet<(String, String)>,
    /// How many points were reached in all.
    pub reached: u32,
    /// How many effects were begun.
    pub effects: u32,
}

impl Line {
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('\t');
        let _number: u64 = parts.next()?.parse().ok()?;
        let at = parts.next()?.parse().ok()?;
        let place = parts.next()?.to_owned();
        let marks = parts.step_by(2).map(str::to_owned).collect();
        Some(Self { at, place, marks })
    }

    /// The commit that says that a daemon has started.
    pub fn is_start(&self) -> bool {
        self.marks.iter().any(|mark| mark == "daemon_started")
    }
}

impl Points {
    pub fn read(trace: &[Line]) -> Self {
        let mut points = Self::default();
        for line in trace {
            points.reached += 1;
            points.effects += u32::from(line.place == "before");
            let names = line.marks.iter().map(|mark| (line.place.clone(), mark.clone()));
            points.names.extend(names);
        }
        points
    }

    /// The point that a killed daemon died at.
    pub fn last(trace: &[Line]) -> Self {
        Self::read(trace.last().map_or(&[], std::slice::from_ref))
    }

    /// From the list that a relay keeps.
    pub fn known(text: &str) -> Self {
        let mut points = Self::default();
        for line in text.lines() {
            if let [place, mark, ..] = line.split('\t').collect::<Vec<_>>()[..] {
                points.names.insert((place.to_owned(), mark.to_owned()));
            }
        }
        points
    }

    pub fn add(&mut self, other: &Self) {
        self.names.extend(other.names.iter().cloned());
        self.reached += other.reached;
        self.effects += other.effects;
    }

    pub fn len(&self) -> usize {
        self.names.len()
    }

    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Those of `wanted` that are not here, but should be in every run.
    pub fn missing(&self, wanted: &Self) -> Vec<String> {
        let missing = wanted.names.difference(&self.names).filter(|(_, what)| !by_chance(what));
        missing.map(|(place, what)| format!("{place} {what}")).collect()
    }

    /// For people: one line for each effect with the places around and inside it, and one for each fact that a
    /// commit writes down, with a commit before and after it.
    pub fn list(&self) -> String {
        let things: BTreeSet<&String> = self.names.iter().map(|(_, what)| what).collect();
        let lines = things.into_iter().filter(|what| !by_chance(what)).map(|what| {
            let places = self.names.iter().filter(|(_, of)| of == what).map(|(place, _)| place.as_str());
            match places.collect::<Vec<_>>()[..] {
                ["after commit", "before commit"] => format!("commit  {what}\n"),
                ref places => format!("effect  {what}: {}\n", places.join(", ")),
            }
        });
        lines.collect::<BTreeSet<String>>().into_iter().collect()
    }
}

/// What happens in some undisturbed runs and not in others: whether an agent has ended when it is spoken to, or before its
/// work is fetched, whether a build has ended when nobody waits for it any more, in how many steps a session's facts are read.
fn by_chance(what: &str) -> bool {
    ["identity", "wake_session", "stop_build", "control", "turn_ended"].iter().any(|part| what.contains(part))
}

impl fmt::Debug for Points {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<String> = self.names.iter().map(|(place, what)| format!("{place} {what}")).collect();
        write!(f, "{}", names.join(", "))
    }
}
