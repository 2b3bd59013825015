//! `cargo test` and `cargo nextest`.

use std::collections::BTreeSet;

use super::{Found, Runner, sum};

// What libtest writes behind a name that is not part of it.
const MODES: [&str; 3] = [" - should panic", " - compile fail", " - compile"];

pub(super) fn read(lines: &[&str]) -> Option<Found> {
    let mut ran = None;
    let mut failed = BTreeSet::new();
    for (at, line) in lines.iter().enumerate() {
        if let Some(result) = line.strip_prefix("test result: ") {
            // One summary for each binary.
            let counts = result.split_once(". ").map_or("", |(_, counts)| counts);
            let here = sum(counts, &["passed", "failed", "measured"]);
            ran = Some(ran.unwrap_or(0_u64).saturating_add(here));
        } else if let Some(name) = line.strip_prefix("test ").and_then(|l| l.strip_suffix(" ... FAILED")) {
            failed.insert(without_mode(name).to_owned());
        } else if *line == "failures:" {
            // Names again, though with `--nocapture` a test's own output tears the other lines apart.
            failed.extend(lines[at + 1..].iter().map_while(|line| listed(line)));
        }
    }
    (ran.is_some() || !failed.is_empty()).then_some(Found { runner: Runner::Cargo, ran, failed })
}

fn without_mode(name: &str) -> &str {
    MODES.iter().find_map(|mode| name.strip_suffix(mode)).unwrap_or(name)
}

fn listed(line: &str) -> Option<String> {
    let name = line.strip_prefix("    ")?;
    (!name.is_empty() && !name.starts_with(' ')).then(|| name.to_owned())
}

const BAD: [&str; 6] = ["FAIL", "TIMEOUT", "ABORT", "LEAK-FAIL", "SIGSEGV", "SIGABRT"];

pub(super) fn read_nextest(lines: &[&str]) -> Option<Found> {
    let mut ran = None;
    let mut failed = BTreeSet::new();
    for line in lines.iter().map(|line| line.trim_start()) {
        if let Some(here) = line.strip_prefix("Summary [").and_then(summary) {
            ran = Some(ran.unwrap_or(0_u64).saturating_add(here));
        } else if let Some((status, name)) = result(line) {
            // A failed try counts only where the final results stand, after the summary.
            let last = match status.strip_prefix("TRY ").and_then(|tries| tries.split_once(' ')) {
                Some((_, status)) => ran.is_some() && BAD.contains(&status),
                None => BAD.contains(&status),
            };
            if last {
                failed.insert(name.to_owned());
            }
        }
    }
    ran.map(|ran| Found { runner: Runner::Nextest, ran: Some(ran), failed })
}

/// `   0.045s] 12 tests run: 10 passed, 2 failed`, or `3/12 tests run` when it stopped early.
fn summary(line: &str) -> Option<u64> {
    let (number, rest) = line.split_once("] ")?.1.trim_start().split_once(' ')?;
    let number = number.split('/').next()?;
    (rest.starts_with("tests run:") || rest.starts_with("test run:")).then(|| number.parse().ok())?
}

/// `FAIL [   0.004s] (1/5) binary module::name`: the status and `binary module::name`.
fn result(line: &str) -> Option<(&str, &str)> {
    let (status, rest) = line.split_once(" [")?;
    let (time, name) = rest.split_once("] ")?;
    if !time.trim_start_matches(['>', ' ']).ends_with('s') {
        return None;
    }
    let name = name.trim_start();
    let name = match name.strip_prefix('(').and_then(|rest| rest.split_once(") ")) {
        Some((_, name)) => name.trim_start(),
        None => name,
    };
    Some((status, name))
}
