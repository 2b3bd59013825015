//! Reads test names, counts and the kind of a failure out of CI output.

mod cargo;
mod classify;
mod clean;
mod excerpt;
mod go;
mod js;
mod pytest;
mod tap;

pub use classify::{Classified, ExitStatus, InfraReason, classify, too_few};
pub use excerpt::excerpt;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema)]
pub struct TestReport {
    /// Of several runners in one log, the one that ran the most tests.
    pub runner: Option<Runner>,
    /// Tests that ran, passed or not; what was skipped did not run. `None` when the log does not say.
    pub ran: Option<u64>,
    pub failed: BTreeSet<String>,
}

#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Runner {
    Cargo,
    Nextest,
    Pytest,
    Go,
    Jest,
    Vitest,
    Tap,
}

/// What one runner left in the log.
#[derive(Debug)]
struct Found {
    runner: Runner,
    ran: Option<u64>,
    failed: BTreeSet<String>,
}

type Reader = fn(&[&str]) -> Option<Found>;

const READERS: [Reader; 7] =
    [cargo::read, cargo::read_nextest, pytest::read, go::read, js::read_jest, js::read_vitest, tap::read];

pub fn read(log: &str) -> TestReport {
    let text = clean::clean(log);
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let mut report = TestReport::default();
    let mut most = None;
    for found in READERS.iter().filter_map(|read| read(&lines)) {
        // A count that one runner does not give makes the sum unknown, not smaller.
        report.ran = match (report.runner, report.ran, found.ran) {
            (None, _, ran) => ran,
            (Some(_), Some(sum), Some(ran)) => Some(sum.saturating_add(ran)),
            (Some(_), _, _) => None,
        };
        if report.runner.is_none() || found.ran > most {
            report.runner = Some(found.runner);
            most = found.ran;
        }
        report.failed.extend(found.failed);
    }
    report
}

/// Reads `3 passed, 1 failed` with any of the separators that runners use.
fn counts(text: &str) -> impl Iterator<Item = (u64, &str)> {
    text.split([',', ';', '|']).filter_map(|part| {
        let mut words = part.split_whitespace();
        let number = words.next()?.parse().ok()?;
        Some((number, words.next()?))
    })
}

/// The sum of those counts that stand before one of the words.
fn sum(text: &str, of: &[&str]) -> u64 {
    counts(text).filter(|(_, word)| of.contains(word)).fold(0, |sum, (n, _)| sum.saturating_add(n))
}

#[cfg(test)]
mod tests;
