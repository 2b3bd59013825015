//! The tables of docs/queue.md tell the truth: every name exists, no rule and no regression test is missing.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

use std::collections::{BTreeMap, BTreeSet};

mod tree;

use tree::{root, rust_files};

/// The text of every Rust file below `crates`.
fn sources() -> Vec<String> {
    rust_files().into_iter().map(|path| std::fs::read_to_string(path).unwrap()).collect()
}

/// The names of all functions.
fn functions(sources: &[String]) -> BTreeSet<&str> {
    let lines = sources.iter().flat_map(|text| text.lines());
    let rest = lines.filter_map(|line| line.split_once("fn ")).map(|(_, rest)| rest);
    rest.map(|rest| {
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        &rest[..end]
    })
    .collect()
}

/// The rows of the table below a heading, each as its cells.
fn table<'a>(text: &'a str, heading: &str) -> Vec<Vec<&'a str>> {
    let (_, section) = text.split_once(heading).unwrap();
    let section = section.split("\n## ").next().unwrap();
    let rows = section.lines().filter(|line| line.starts_with("| "));
    let cells = |line: &'a str| line.trim_matches('|').split('|').map(str::trim).collect::<Vec<_>>();
    rows.map(cells).skip(1).collect()
}

/// What stands between backquotes.
fn names(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

#[test]
fn every_rule_of_the_queue_has_a_checker_that_exists() {
    let text = std::fs::read_to_string(root().join("docs/queue.md")).unwrap();
    let sources = sources();
    let functions = functions(&sources);
    let rules = include_str!("../src/queue_sim/rules.rs");
    let variants: BTreeSet<&str> = rules
        .split_once("pub enum Rule {")
        .unwrap()
        .1
        .split_once('}')
        .unwrap()
        .0
        .lines()
        .map(str::trim)
        .filter(|line| !line.starts_with("///") && !line.is_empty())
        .map(|line| line.trim_end_matches(','))
        .collect();
    let table = table(&text, "## Rules that always hold");
    let found: Vec<&str> = table.iter().map(|row| row[0]).collect();
    let wanted: Vec<String> = (1..=13).map(|n| format!("I{n}")).collect();
    assert_eq!(found, wanted);
    let mut checked = BTreeSet::new();
    for row in &table {
        let (simulated, tests) = (names(row[2]), names(row[3]));
        assert!(!tests.is_empty(), "{} is checked by nobody", row[0]);
        for name in tests {
            assert!(functions.contains(name), "{}: there is no function `{name}`", row[0]);
        }
        for name in simulated {
            let variant = name.strip_prefix("Rule::").unwrap();
            assert!(variants.contains(variant), "{}: there is no `{name}`", row[0]);
            checked.insert(variant);
        }
    }
    assert_eq!(checked, variants, "every rule of the simulator is in the table");
}

#[test]
fn every_regression_test_is_in_a_table_and_the_other_way_round() {
    let text = std::fs::read_to_string(root().join("docs/queue.md")).unwrap();
    let sources = sources();
    let existing: BTreeSet<&str> =
        functions(&sources).into_iter().filter(|name| name.starts_with("regression_")).collect();
    let table = table(&text, "## Bugs that other queues have shipped");
    let named: BTreeMap<&str, Vec<&str>> = table.iter().map(|row| (row[0], names(row[1]))).collect();
    assert!(named.len() >= 15 && named.values().all(|tests| !tests.is_empty()), "{named:#?}");
    let proof = std::fs::read_to_string(root().join("docs/proof.md")).unwrap();
    let found = self::table(&proof, "## What it has found").into_iter().flat_map(|row| names(row[1]));
    let functions_now = functions(&sources);
    let found: Vec<&str> = found.inspect(|name| assert!(functions_now.contains(name), "no {name}")).collect();
    let found = found.into_iter().filter(|name| name.starts_with("regression_"));
    let all: BTreeSet<&str> = named.into_values().flatten().chain(found).collect();
    assert_eq!(all, existing);
    for n in 1..=5 {
        let name = format!("ac_3_{n}_");
        assert!(functions(&sources).iter().any(|function| function.starts_with(&name)), "no {name}");
    }
}
