//! The policies that others use, to compare with: one at a time, a chain of prefixes, one batch with halving.

use std::collections::BTreeSet;

use super::known::Known;

const MAX_BATCH: usize = 32;

pub(super) fn serial(known: &Known<'_>) -> Option<Vec<usize>> {
    (known.open.is_empty() && !known.view.entries.is_empty()).then(|| vec![0])
}

/// A red prefix is left alone until those before it are decided; then its last entry is the only suspect.
pub(super) fn chain(known: &Known<'_>) -> Option<Vec<usize>> {
    let ends = 1..=known.view.entries.len().min(known.view.slots);
    let told = |prefix: &Vec<usize>| {
        known.open.iter().any(|open| open.members == *prefix)
            || known.reds.iter().any(|red| red.members == *prefix)
    };
    ends.map(|end| (0..end).collect()).find(|prefix| !told(prefix))
}

pub(super) fn batch(known: &Known<'_>) -> Option<Vec<usize>> {
    if !known.open.is_empty() || known.view.entries.is_empty() {
        return None;
    }
    let all: BTreeSet<usize> = (0..known.view.entries.len().min(MAX_BATCH)).collect();
    let Some(red) = known.least.iter().min_by_key(|red| red.suspects.first()) else {
        return Some(all.into_iter().collect());
    };
    let whole =
        known.reds.iter().any(|other| other.members.iter().copied().collect::<BTreeSet<_>>() == red.suspects);
    let half = if whole { red.suspects.len().div_ceil(2) } else { red.suspects.len() };
    Some(red.suspects.iter().copied().take(half).collect())
}
