//! `pytest`.

use std::collections::BTreeSet;

use super::{Found, Runner, counts, sum};

const RAN: [&str; 4] = ["passed", "failed", "xfailed", "xpassed"];
const WORDS: [&str; 9] =
    ["passed", "failed", "xfailed", "xpassed", "skipped", "deselected", "error", "errors", "rerun"];

pub(super) fn read(lines: &[&str]) -> Option<Found> {
    let mut ran = None;
    let mut failed = BTreeSet::new();
    let mut listing = false;
    for line in lines {
        if let Some(here) = summary(line) {
            ran = Some(ran.unwrap_or(0_u64).saturating_add(here));
            listing = false;
        } else if line.starts_with("==") {
            listing = line.contains(" short test summary info ");
        } else if listing {
            // Outside this list, `ERROR …` is what any program may say.
            let name = line.strip_prefix("FAILED ").or_else(|| line.strip_prefix("ERROR "));
            failed.extend(name.map(node).map(str::to_owned));
        } else {
            failed.extend(verbose(line).map(str::to_owned));
        }
    }
    ran.map(|ran| Found { runner: Runner::Pytest, ran: Some(ran), failed })
}

/// `4 failed, 1 passed in 0.03s`, with or without a frame of `=`.
fn summary(line: &str) -> Option<u64> {
    let line = line.trim_matches(['=', ' ']);
    let (said, time) = line.rsplit_once(" in ")?;
    if !time.split(' ').next()?.strip_suffix('s')?.bytes().all(|b| b.is_ascii_digit() || b == b'.') {
        return None;
    }
    // Other runners, too, say how many passed in how long; here a count is the first word.
    let counted = said.starts_with(|c: char| c.is_ascii_digit());
    let known = counted && counts(said).any(|(_, word)| WORDS.contains(&word));
    (known || said == "no tests ran").then(|| sum(said, &RAN))
}

/// The name before ` - message`; a parameter in brackets may hold that, too.
fn node(line: &str) -> &str {
    let start = line.find('[').filter(|at| line.find(" - ").is_none_or(|dash| *at < dash));
    let Some(start) = start else {
        return line.split(" - ").next().unwrap_or(line);
    };
    match line[start..].find("] - ") {
        Some(end) => &line[..=start + end],
        None => line,
    }
}

/// `test_a.py::test_bad FAILED    [ 25%]`
fn verbose(line: &str) -> Option<&str> {
    let (rest, percent) = line.strip_suffix("%]")?.rsplit_once('[')?;
    percent.trim().parse::<u8>().ok()?;
    let rest = rest.trim_end();
    let name = rest.strip_suffix(" FAILED").or_else(|| rest.strip_suffix(" ERROR"))?;
    name.contains("::").then_some(name)
}
