//! `go test`, plain, with `-v` and with `-json`.

use std::collections::BTreeSet;

use serde::Deserialize;

use super::{Found, Runner};

#[derive(Default)]
struct Seen {
    /// Results of single tests; without `-v` only failures have one.
    results: u64,
    /// Whether passed tests are named, so that the results are all there are.
    every_test_is_named: bool,
    /// Packages that had tests, and that had none.
    tested: u64,
    empty: u64,
    failed: BTreeSet<String>,
    /// Failures whose package is named further down.
    unplaced: Vec<String>,
}

pub(super) fn read(lines: &[&str]) -> Option<Found> {
    let mut seen = Seen::default();
    for line in lines {
        match line.strip_prefix('{') {
            Some(_) => seen.event(line),
            None => seen.line(line),
        }
    }
    let Seen { results, every_test_is_named, tested, empty, mut failed, unplaced } = seen;
    failed.extend(unplaced);
    let ran = match (every_test_is_named, tested) {
        (true, _) => Some(results),
        (false, 0) => Some(0),
        (false, _) => None,
    };
    (every_test_is_named || tested + empty > 0).then_some(Found { runner: Runner::Go, ran, failed })
}

impl Seen {
    fn line(&mut self, line: &str) {
        if line.starts_with("=== RUN ") {
            self.every_test_is_named = true;
        } else if let Some(name) = line.trim_start().strip_prefix("--- FAIL: ") {
            self.results += 1;
            self.unplaced.push(name.split(" (").next().unwrap_or(name).to_owned());
        } else if line.trim_start().starts_with("--- PASS: ") {
            self.results += 1;
        } else if let Some(package) = line.strip_prefix("FAIL\t") {
            let package = package.split(['\t', ' ']).next().unwrap_or(package);
            self.tested += 1;
            self.failed.extend(self.unplaced.drain(..).map(|name| format!("{package}.{name}")));
        } else if line.starts_with("ok  \t") || line.starts_with("?   \t") {
            let none = line.contains("[no tests to run]") || line.contains("[no test files]");
            *(if none { &mut self.empty } else { &mut self.tested }) += 1;
        }
    }

    fn event(&mut self, line: &str) {
        let Ok(Event { action, package, test }) = serde_json::from_str(line) else { return };
        self.every_test_is_named = true;
        let Some(test) = test else { return };
        match action.as_str() {
            "pass" => self.results += 1,
            "fail" => {
                self.results += 1;
                self.failed.insert(format!("{package}.{test}"));
            }
            _ => {}
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Event {
    action: String,
    package: String,
    test: Option<String>,
}
