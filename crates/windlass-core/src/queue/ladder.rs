//! Chooses the next test by what it is worth: entries that may land at once, and what is learnt about the others.
//!
//! Every test carries what is proven already, so that any green one takes it to main. A suspect is left behind by
//! the tests of the others, but only so often: then those who are suspected with it are halved first.

use super::known::Known;
use super::odds::{MAX_ENTRIES, Odds};
use super::rate::{count, entropy};

/// An entry that was overtaken so often is tested next.
const MAX_PASSED: u32 = 3;
/// What an answered bit counts, against the entries whose fate it could tell.
const BIT: f64 = 2.0;
/// A test that promises less than this part of a landed entry is not worth a slot.
const LEAST: f64 = 0.02;
/// The logarithm of two: so many entries times their bad rate are all good as likely as not.
const EVEN: f64 = std::f64::consts::LN_2;

pub(super) fn next(known: &Known<'_>) -> Option<Vec<usize>> {
    overdue(known).or_else(|| worthiest(known))
}

fn proven(known: &Known<'_>) -> Vec<usize> {
    (0..known.proven.len()).filter(|at| known.proven[*at]).collect()
}

/// The oldest entry that was overtaken too often: half of those who are suspected with it, or all who wait as long
/// without being suspected. With one slot nobody is overtaken at all: there is no other slot to go on with.
fn overdue(known: &Known<'_>) -> Option<Vec<usize>> {
    let patience = if known.view.slots > 1 { MAX_PASSED } else { 0 };
    let waits = |at: &usize| {
        known.view.entries[*at].passed >= patience
            && !known.proven[*at]
            && !known.open.iter().any(|open| open.members.contains(at))
    };
    let oldest = (0..known.proven.len()).find(waits)?;
    let bad = known.view.rate.bad();
    let suspected = |at: usize| known.least.iter().filter(move |red| red.suspects.contains(&at));
    let mut members = proven(known);
    match suspected(oldest).min_by_key(|red| red.suspects.len()) {
        Some(red) => {
            let part = even_part(red.suspects.len(), bad);
            members.extend(red.suspects.iter().copied().filter(waits).take(part));
        }
        None => {
            let free = (0..known.proven.len()).filter(waits).filter(|at| suspected(*at).next().is_none());
            members.extend(free.take(even_group(bad)));
        }
    }
    Some(members)
}

/// How many are all good as likely as not.
fn even_group(bad: f64) -> usize {
    (1..MAX_ENTRIES).find(|n| count(*n) * bad >= EVEN).unwrap_or(MAX_ENTRIES)
}

/// How many of `n`, of whom one is bad, are all good as likely as not.
fn even_part(n: usize, bad: f64) -> usize {
    let good = |n: usize| (1.0 - bad).powf(count(n));
    let off = |part: usize| ((good(part) - good(n)) / (1.0 - good(n)) - 0.5).abs();
    (1..n).min_by(|a, b| off(*a).total_cmp(&off(*b))).unwrap_or(1)
}

fn worthiest(known: &Known<'_>) -> Option<Vec<usize>> {
    let odds = Odds::new(known);
    let carried = proven(known);
    let mut worth = Worth::new(known, &odds, carried.len());
    let (mask, gain) = best(&odds, &mut worth);
    // When nothing runs, the best there is must do: nothing else would ever wake the queue.
    if gain < LEAST && !known.open.is_empty() {
        return None;
    }
    let chosen = odds.blocks.iter().enumerate().filter(|(nth, _)| mask >> nth & 1 == 1);
    let mut members = carried;
    members.extend(chosen.flat_map(|(_, entries)| entries));
    Some(members)
}

/// Climbs from the best prefix, by blocks that join or leave, until no step is better.
fn best(odds: &Odds, worth: &mut Worth) -> (usize, f64) {
    let good = odds.good();
    let mut order: Vec<usize> = (0..good.len()).collect();
    order.sort_by(|a, b| good[*b].total_cmp(&good[*a]));
    let mut top = (0, worth.of(odds, 0));
    let mut prefix = 0;
    for nth in order {
        prefix |= 1 << nth;
        top = better(top, (prefix, worth.of(odds, prefix)));
        top = better(top, (1 << nth, worth.of(odds, 1 << nth)));
    }
    loop {
        let steps = (0..good.len()).map(|nth| top.0 ^ 1 << nth).map(|mask| (mask, worth.of(odds, mask)));
        let step = steps.fold(top, better);
        if step.0 == top.0 {
            return top;
        }
        top = step;
    }
}

fn better(a: (usize, f64), b: (usize, f64)) -> (usize, f64) {
    if b.1 > a.1 + 1e-9 { b } else { a }
}

/// What the running tests promise already, for every combination of bad blocks.
#[derive(Debug)]
struct Worth {
    carried: usize,
    /// How many land in this combination.
    lands: Vec<f64>,
    /// Combinations that the running tests do not tell apart share a class.
    class: Vec<usize>,
    /// How likely each class is.
    classes: Vec<f64>,
    /// Scratch: how likely each class is with a green test.
    green: Vec<f64>,
    bit: f64,
}

impl Worth {
    fn new(known: &Known<'_>, odds: &Odds, carried: usize) -> Self {
        let bad = known.view.rate.bad();
        let states = odds.weights.len();
        let bit = BIT * (1.0 - bad) / entropy(bad);
        let (lands, class) = (vec![0.0; states], vec![0; states]);
        let mut worth = Self { carried, lands, class, classes: vec![1.0], green: Vec::new(), bit };
        for open in &known.open {
            worth.add(odds, odds.mask(&open.members), open.lands.unwrap_or(0));
        }
        worth
    }

    fn add(&mut self, odds: &Odds, mask: usize, lands: usize) {
        let mut names = vec![[usize::MAX; 2]; self.classes.len()];
        self.classes.clear();
        for (state, weight) in odds.weights.iter().enumerate() {
            let green = state & mask == 0;
            if green {
                self.lands[state] = self.lands[state].max(count(lands));
            }
            let name = &mut names[self.class[state]][usize::from(green)];
            if *name == usize::MAX {
                *name = self.classes.len();
                self.classes.push(0.0);
            }
            self.class[state] = *name;
            self.classes[*name] += weight;
        }
    }

    /// Expected landings and answered bits that this test adds. It is green in the combinations without its blocks.
    fn of(&mut self, odds: &Odds, mask: usize) -> f64 {
        let lands = count(self.carried + odds.size(mask));
        self.green.clear();
        self.green.resize(self.classes.len(), 0.0);
        let mut landed = 0.0;
        let outside = !mask & (odds.weights.len() - 1);
        let mut state = outside;
        loop {
            let weight = odds.weights[state];
            landed += weight * (lands - self.lands[state]).max(0.0);
            self.green[self.class[state]] += weight;
            if state == 0 {
                break;
            }
            state = (state - 1) & outside;
        }
        let told = self.green.iter().zip(&self.classes).filter(|(_, all)| **all > 0.0);
        let bits: f64 = told.map(|(green, all)| 4.0 * green * (all - green).max(0.0) / all).sum();
        landed + self.bit * bits
    }
}
