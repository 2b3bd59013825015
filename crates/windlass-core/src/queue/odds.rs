//! How likely the entries are good, as blocks that past and running tests do not tell apart.

use std::collections::{BTreeMap, BTreeSet};

use super::known::{Known, Red};
use super::rate::count;

/// Blocks that are told apart at once. Every further one doubles the work.
const MAX_BLOCKS: usize = 10;
/// Entries that are looked at; more would not fit into the tests of one round.
pub(super) const MAX_ENTRIES: usize = 64;
/// How likely a test is red without a reason.
const FLAKE: f64 = 0.01;

/// Every combination of bad blocks with its probability.
#[derive(Debug)]
pub(super) struct Odds {
    /// Entries that nobody can tell apart yet, oldest first.
    pub blocks: Vec<Vec<usize>>,
    /// Bit `n` of the index says that block `n` is bad.
    pub weights: Vec<f64>,
}

impl Odds {
    pub fn new(known: &Known<'_>) -> Self {
        let bad = known.view.rate.bad();
        let blocks = blocks(known, bad);
        let weights = weights(&blocks, &known.least, bad);
        Self { blocks, weights }
    }

    /// The blocks that hold a member, as bits.
    pub fn mask(&self, members: &[usize]) -> usize {
        mask_of(&self.blocks, |at| members.contains(&at))
    }

    /// How many entries these blocks hold.
    pub fn size(&self, mask: usize) -> usize {
        let chosen = self.blocks.iter().enumerate().filter(|(nth, _)| mask >> nth & 1 == 1);
        chosen.map(|(_, entries)| entries.len()).sum()
    }

    /// How likely each block is good.
    pub fn good(&self) -> Vec<f64> {
        let of = |nth: usize| {
            let states = self.weights.iter().enumerate().filter(|(state, _)| state >> nth & 1 == 0);
            states.map(|(_, weight)| weight).sum()
        };
        (0..self.blocks.len()).map(of).collect()
    }
}

/// A block is inside a test as a whole or not at all, so that its first entry speaks for it.
fn mask_of(blocks: &[Vec<usize>], inside: impl Fn(usize) -> bool) -> usize {
    let inside = blocks.iter().enumerate().filter(|(_, entries)| inside(entries[0]));
    inside.fold(0, |mask, (nth, _)| mask | 1 << nth)
}

/// Starts with what tests have told apart, and halves what is most likely bad.
fn blocks(known: &Known<'_>, bad: f64) -> Vec<Vec<usize>> {
    let mut classes: BTreeMap<Vec<bool>, Vec<usize>> = BTreeMap::new();
    let unproven = (0..known.view.entries.len()).filter(|at| !known.proven[*at]).take(MAX_ENTRIES);
    for at in unproven {
        let in_red = known.least.iter().map(|red| red.suspects.contains(&at));
        let in_open = known.open.iter().map(|open| open.members.contains(&at));
        classes.entry(in_red.chain(in_open).collect()).or_default().push(at);
    }
    let mut blocks: Vec<Vec<usize>> = classes.into_values().collect();
    blocks.sort_by_key(|entries| entries[0]);
    blocks.truncate(MAX_BLOCKS);
    while blocks.len() < MAX_BLOCKS {
        let chance = |nth: usize| bad_chance(&blocks[nth], &known.least, bad);
        let splittable = (0..blocks.len()).filter(|nth| blocks[*nth].len() > 1);
        let Some(nth) = splittable.max_by(|a, b| chance(*a).total_cmp(&chance(*b))) else { break };
        let half = blocks[nth].len().div_ceil(2);
        let entries = blocks[nth].split_off(half);
        blocks.insert(nth + 1, entries);
    }
    blocks
}

/// How likely a block holds a bad entry, given the red test that it was in.
fn bad_chance(block: &[usize], reds: &[Red<'_>], bad: f64) -> f64 {
    let some_bad = |n: usize| 1.0 - (1.0 - bad).powf(count(n));
    let inside = reds.iter().filter(|red| red.suspects.contains(&block[0]));
    let least = inside.map(|red| red.suspects.len()).min();
    some_bad(block.len()) / least.map_or(1.0, some_bad)
}

/// Each entry is bad on its own; a red test without a bad block is a flake.
fn weights(blocks: &[Vec<usize>], reds: &[Red<'_>], bad: f64) -> Vec<f64> {
    let good = blocks.iter().map(|entries| (1.0 - bad).powf(count(entries.len())));
    let told: BTreeSet<usize> = blocks.iter().flatten().copied().collect();
    let whole = reds.iter().filter(|red| red.suspects.is_subset(&told));
    let masks: Vec<usize> = whole.map(|red| mask_of(blocks, |at| red.suspects.contains(&at))).collect();
    let mut weights = vec![1.0];
    for good in good {
        let bad: Vec<f64> = weights.iter().map(|weight| weight * (1.0 - good)).collect();
        weights.iter_mut().for_each(|weight| *weight *= good);
        weights.extend(bad);
    }
    for mask in masks {
        let flakes = weights.iter_mut().enumerate().filter(|(state, _)| state & mask == 0);
        flakes.for_each(|(_, weight)| *weight *= FLAKE);
    }
    let all: f64 = weights.iter().sum();
    weights.into_iter().map(|weight| weight / all).collect()
}
