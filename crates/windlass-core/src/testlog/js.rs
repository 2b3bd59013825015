//! Jest and Vitest.

use std::collections::BTreeSet;

use super::{Found, Runner, sum};

const RAN: [&str; 2] = ["passed", "failed"];

pub(super) fn read_jest(lines: &[&str]) -> Option<Found> {
    let mut ran = None;
    let mut failed = BTreeSet::new();
    let mut file = "";
    for line in lines {
        if let Some(counts) = line.strip_prefix("Tests: ").filter(|counts| counts.ends_with(" total")) {
            ran = Some(ran.unwrap_or(0_u64).saturating_add(sum(counts, &RAN)));
        } else if line.starts_with("No tests found, exiting with code ") {
            ran = ran.or(Some(0));
        } else if let Some(path) = line.strip_prefix("FAIL ") {
            // The time that a slow file took stands behind its name.
            file = path.split(" (").next().unwrap_or(path).trim();
        } else if let Some(name) = line.strip_prefix("  ● ").filter(|name| is_test(name)) {
            failed.insert(format!("{file} › {name}"));
        }
    }
    ran.map(|ran| Found { runner: Runner::Jest, ran: Some(ran), failed })
}

/// Jest marks other notes with the same dot.
fn is_test(name: &str) -> bool {
    !matches!(name, "Console" | "Test suite failed to run") && !name.starts_with("Validation ")
}

pub(super) fn read_vitest(lines: &[&str]) -> Option<Found> {
    let mut ran = None;
    let mut failed = BTreeSet::new();
    for line in lines {
        let line = line.trim_start();
        if let Some(counts) = line.strip_prefix("Tests  ").filter(|counts| counts.ends_with(')')) {
            ran = Some(ran.unwrap_or(0_u64).saturating_add(sum(counts, &RAN)));
        } else if line.starts_with("No test files found, exiting with code ") {
            ran = ran.or(Some(0));
        } else if let Some(name) = line.strip_prefix("FAIL  ").filter(|name| name.contains(" > ")) {
            failed.insert(name.trim_start().to_owned());
        }
    }
    ran.map(|ran| Found { runner: Runner::Vitest, ran: Some(ran), failed })
}
