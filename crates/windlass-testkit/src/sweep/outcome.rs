//! What people see in the end, without what differs from run to run: times, hashes, and who was quicker.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use windlass_core::id::IssueNumber;
use windlass_store::{EventQuery, Store};

use super::stage::Stage;

#[derive(Debug, PartialEq)]
pub struct Outcome {
    /// By number.
    pub issues: BTreeMap<u64, Value>,
    /// What main holds: a hash over all its files.
    main: String,
    /// Names of refs, sessions and workspaces that are kept. Which builds there were is the queue's affair.
    kept: BTreeSet<String>,
    /// What every agent was told.
    told: BTreeMap<String, String>,
}

impl Outcome {
    pub fn of(stage: &Stage) -> Self {
        let numbers = (1..).take(stage.scenario.issues.len());
        let issues = numbers.map(|number| (number, issue(stage, number))).collect();
        Self { issues, main: stage.bare(&["rev-parse", "main^{tree}"]), kept: kept(stage), told: told(stage) }
    }

    /// Where it is not as it was.
    pub fn differs(&self, calm: &Self) -> Vec<String> {
        let mut wrong = Vec::new();
        for (number, seen) in &self.issues {
            if calm.issues.get(number) != Some(seen) {
                wrong.push(format!("#{number} is {seen:#}, undisturbed {:#}", calm.issues[number]));
            }
        }
        if self.main != calm.main {
            wrong.push("main does not hold what it holds undisturbed".to_owned());
        }
        for name in self.kept.symmetric_difference(&calm.kept) {
            let word = if self.kept.contains(name) { "is left over" } else { "is missing" };
            wrong.push(format!("`{name}` {word}"));
        }
        for (who, text) in &self.told {
            if calm.told.get(who) != Some(text) {
                let before = calm.told.get(who).map_or("", String::as_str);
                wrong.push(format!("{who} was told\n{text}\nundisturbed\n{before}"));
            }
        }
        wrong
    }
}

fn issue(stage: &Stage, number: u64) -> Value {
    let shown = stage.json(&["show", &number.to_string()]);
    let bodies = |list: &Value| -> Vec<String> {
        let all = list.as_array().into_iter().flatten();
        let mut all: Vec<String> =
            all.map(|entry| plain(entry["body"].as_str().unwrap_or_default())).collect();
        all.sort();
        all
    };
    let count = |kind: &str| {
        let (issue, kinds) = (Some(IssueNumber(number)), vec![kind.to_owned()]);
        let query = EventQuery { issue, kinds, ..EventQuery::default() };
        stage.store().events(&query).expect("the log can be read").len()
    };
    json!({
        "title": shown["title"], "open": shown["open"], "labels": shown["labels"], "change": shown["change"]["state"],
        "state": shown["task"]["state"], "reason": shown["task"]["reason"],
        "sessions": shown["task"]["sessions"], "reviews": shown["task"]["reviews"],
        "comments": bodies(&shown["comments"]), "reviewed": bodies(&shown["reviews"]),
        "landings": count("landed"), "rescues": count("work_rescued"), "claims": count("task_claimed"),
    })
}

fn kept(stage: &Stage) -> BTreeSet<String> {
    let refs = stage.bare(&["for-each-ref", "--format=%(refname)"]);
    // What was fetched from a workspace that is kept may be kept with it; `rules` looks that nobody else's is.
    let mut kept: BTreeSet<String> =
        refs.lines().filter(|name| !name.starts_with("refs/windlass/work/")).map(plain).collect();
    for folder in ["sessions", "workspaces"] {
        let entries = std::fs::read_dir(stage.state().join(folder)).into_iter().flatten().flatten();
        kept.extend(entries.map(|entry| format!("{folder}/{}", entry.file_name().to_string_lossy())));
    }
    kept
}

fn told(stage: &Stage) -> BTreeMap<String, String> {
    let entries = std::fs::read_dir(stage.path("")).expect("the stage can be read").flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let heard = names.filter(|name| name.starts_with("heard-"));
    heard
        .map(|name| {
            let text = std::fs::read_to_string(stage.path(&name)).unwrap_or_default();
            let folder = stage.path("").to_string_lossy().into_owned();
            (name, plain(&text.replace(&folder, "@")))
        })
        .collect()
}

/// Hashes and times become one letter each.
fn plain(text: &str) -> String {
    let mut out = String::new();
    let mut word = String::new();
    for c in text.chars().chain(['\n']) {
        if c.is_ascii_alphanumeric() {
            word.push(c);
            continue;
        }
        let hex = word.len() >= 7 && word.chars().all(|c| c.is_ascii_digit() || ('a'..='f').contains(&c));
        let time = word.strip_suffix(['s', 'm']).is_some_and(|n| n.parse::<u32>().is_ok());
        out.push_str(if hex {
            "H"
        } else if time {
            "T"
        } else {
            &word
        });
        word.clear();
        out.push(c);
    }
    out.pop();
    out
}
