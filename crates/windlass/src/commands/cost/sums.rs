//! Adds up what the turns used.

use std::collections::BTreeMap;

use windlass_core::session::Role;
use windlass_core::time::Millis;
use windlass_store::UsageRow;

use super::By;
use crate::view::{CostLine, Stamp};

/// A line for each issue, role, model, day or turn; the dearest first, days and turns in order. The usage of turns goes
/// back to the beginning, so that each has its number; what is older than `since` is only counted.
pub fn of(by: By, usage: &[UsageRow], since: Option<Millis>) -> Vec<CostLine> {
    match by {
        By::Issue => dearest_first(keyed(usage, |row| (row.issue.to_string(), Some(row.issue.0)))),
        By::Role => dearest_first(keyed(usage, |row| (role(row).to_owned(), None))),
        By::Model => dearest_first(keyed(usage, |row| (row.model.clone(), None))),
        By::Day => keyed(usage, |row| (day(row.at), None)),
        By::Iteration => of_turns(usage, since),
    }
}

fn keyed(usage: &[UsageRow], key: impl Fn(&UsageRow) -> (String, Option<u64>)) -> Vec<CostLine> {
    let mut lines: BTreeMap<String, CostLine> = BTreeMap::new();
    for row in usage {
        let (key, issue) = key(row);
        let new = || CostLine { key: key.clone(), issue, ..CostLine::default() };
        add(lines.entry(key.clone()).or_insert_with(new), row);
    }
    lines.into_values().collect()
}

fn dearest_first(mut lines: Vec<CostLine>) -> Vec<CostLine> {
    lines.sort_by_key(|line| (std::cmp::Reverse(line.cost_micro_usd), line.issue));
    lines
}

/// Only of developers, beside the first turns of the same sessions: what a round of feedback costs. A critic's session
/// has one turn, and would only blur the first.
fn of_turns(usage: &[UsageRow], since: Option<Millis>) -> Vec<CostLine> {
    let mut seen: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    let mut lines: BTreeMap<u64, (CostLine, u64)> = BTreeMap::new();
    for row in usage.iter().filter(|row| role(row) == Role::Dev.word()) {
        let (nth, first) = seen.entry(row.session.as_str()).or_insert((0, row.cost_micro_usd));
        *nth += 1;
        if since.is_some_and(|since| row.at < since) {
            continue;
        }
        let key = format!("turn {nth:>3}");
        let new = || (CostLine { key, ..CostLine::default() }, 0);
        let (line, firsts) = lines.entry(*nth).or_insert_with(new);
        *firsts += *first;
        add(line, row);
    }
    let compared = |(nth, (line, firsts)): (u64, (CostLine, u64))| CostLine {
        vs_first_percent: if nth > 1 { percent(line.cost_micro_usd, firsts) } else { None },
        ..line
    };
    lines.into_iter().map(compared).collect()
}

/// How much more or less the one is than the other.
fn percent(cost: u64, than: u64) -> Option<i64> {
    let (cost, than) = (i64::try_from(cost).ok()?, i64::try_from(than).ok()?);
    cost.checked_sub(than)?.checked_mul(100)?.checked_div(than)
}

pub fn total(usage: &[UsageRow]) -> CostLine {
    let mut total = CostLine::default();
    for row in usage {
        add(&mut total, row);
    }
    total
}

/// All that the lines show.
pub fn together(lines: &[CostLine]) -> CostLine {
    let mut all = CostLine::default();
    for line in lines {
        all.turns += line.turns;
        all.input += line.input;
        all.cache_write += line.cache_write;
        all.cache_read += line.cache_read;
        all.output += line.output;
        all.cost_micro_usd += line.cost_micro_usd;
    }
    rate(&mut all);
    all
}

fn add(line: &mut CostLine, row: &UsageRow) {
    line.turns += 1;
    line.input += row.input;
    line.cache_write += row.cache_write;
    line.cache_read += row.cache_read;
    line.output += row.output;
    line.cost_micro_usd += row.cost_micro_usd;
    rate(line);
}

fn rate(line: &mut CostLine) {
    let read = line.input + line.cache_write + line.cache_read;
    line.cache_hit_percent = (read > 0).then(|| line.cache_read * 100 / read);
}

/// Workers and critics are; whoever else spends does so by itself.
pub fn is_for_a_task(row: &UsageRow) -> bool {
    ["dev", "review"].contains(&role(row))
}

/// The first part of a session's name.
fn role(row: &UsageRow) -> &str {
    row.session.as_str().split('-').next().unwrap_or_default()
}

fn day(at: Millis) -> String {
    Stamp(at).to_string().split('T').next().unwrap_or_default().to_owned()
}
