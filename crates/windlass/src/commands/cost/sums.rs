//! Adds up what the turns used.

use std::collections::BTreeMap;

use windlass_core::time::Millis;
use windlass_store::UsageRow;

use super::By;
use crate::view::{CostLine, Stamp};

/// A line for each issue, role, day, turn or model; the dearest first, days and turns in order.
pub fn of(by: By, usage: &[UsageRow]) -> Vec<CostLine> {
    let mut turns: BTreeMap<&str, u64> = BTreeMap::new();
    let mut lines: BTreeMap<String, CostLine> = BTreeMap::new();
    for row in usage {
        let nth = turns.entry(row.session.as_str()).or_default();
        *nth += 1;
        let key = match by {
            By::Issue => row.issue.to_string(),
            By::Role => role(row).to_owned(),
            By::Day => day(row.at),
            By::Iteration => format!("turn {nth:>3}"),
            By::Model => row.model.clone(),
        };
        let line = lines.entry(key.clone()).or_insert_with(|| CostLine { key, ..CostLine::default() });
        if by == By::Issue {
            line.issue = Some(row.issue.0);
        }
        add(line, row);
    }
    let mut lines: Vec<CostLine> = lines.into_values().collect();
    match by {
        By::Issue | By::Role | By::Model => {
            lines.sort_by_key(|line| (std::cmp::Reverse(line.cost_micro_usd), line.issue));
        }
        By::Day | By::Iteration => {}
    }
    lines
}

pub fn total(usage: &[UsageRow]) -> CostLine {
    let mut total = CostLine::default();
    for row in usage {
        add(&mut total, row);
    }
    total
}

fn add(line: &mut CostLine, row: &UsageRow) {
    line.turns += 1;
    line.input += row.input;
    line.cache_write += row.cache_write;
    line.cache_read += row.cache_read;
    line.output += row.output;
    line.cost_micro_usd += row.cost_micro_usd;
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
