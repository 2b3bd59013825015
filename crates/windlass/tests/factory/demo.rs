//! The first minute: `windlass demo` lands real, tested, reviewed merges on real git.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::common::Machine;

pub struct Demo {
    pub machine: Machine,
    pub report: Value,
}

impl Demo {
    pub fn git(&self, args: &[&str]) -> String {
        let repository = self.report["repository"].as_str().unwrap().to_owned();
        let mut all = vec!["--git-dir", &repository];
        all.extend(args);
        self.machine.git(&all).trim().to_owned()
    }
}

fn demo() -> Demo {
    let machine = Machine::without_git();
    let report = machine.json(&["demo", "--yes", "--in", "todo", "--pace", "5", "--quiet"]);
    crate::common::fits::fits(&report);
    Demo { machine, report }
}

#[test]
fn every_issue_of_the_demo_ends_as_it_must() {
    let demo = demo();
    let report = &demo.report;
    assert_eq!(report["schema"], "windlass.demo/1");
    assert_eq!(
        (&report["merged"], &report["abandoned"], &report["closed"]),
        (&7.into(), &1.into(), &0.into())
    );
    assert_eq!(report["tested"], true);
    let events = events(&demo);
    let kinds = |issue: u64| -> BTreeSet<String> {
        let of_issue = events.iter().filter(|event| event["issue"] == issue);
        of_issue.map(|event| event["kind"].as_str().unwrap().to_owned()).collect()
    };
    assert!(kinds(2).contains("build_failed"), "one fails CI first");
    let asked = |event: &&Value| {
        event["issue"] == 3
            && event["kind"] == "verdict_given"
            && event["data"]["report"]["verdict"] == "REQUEST_CHANGES"
    };
    assert_eq!(events.iter().filter(asked).count(), 1, "one is sent back by the critic");
    assert!(kinds(5).contains("merge_conflict") || kinds(6).contains("merge_conflict"), "two conflict");
    let told = events.iter().any(|event| event["issue"] == 7 && event["kind"] == "told");
    assert!(told, "one asks and is answered");
    let claimed = |issue: u64| seq(&events, "task_claimed", issue);
    assert!(claimed(4) > seq(&events, "landed", 3), "one waits for another");
    for issue in [2, 3] {
        let sessions: BTreeSet<&str> = events
            .iter()
            .filter(|event| event["issue"] == issue && event["kind"] == "session_started")
            .map(|event| event["data"]["session"].as_str().unwrap())
            .collect();
        assert_eq!(sessions.len(), 1, "feedback goes to the same session");
    }
}

/// From the outside, with plain git and the event log only.
#[test]
fn every_commit_that_we_put_on_main_was_tested_green() {
    let demo = demo();
    let events = events(&demo);
    let passed: BTreeSet<(String, String)> = events
        .iter()
        .filter(|event| event["kind"] == "build_ended" && event["data"]["outcome"]["outcome"] == "passed")
        .map(|event| (text(event, "tree"), text(event, "recipe")))
        .collect();
    let landed: BTreeMap<String, (String, String)> = events
        .iter()
        .filter(|event| event["kind"] == "landed")
        .map(|event| (text(event, "commit"), (text(event, "tree"), text(event, "recipe"))))
        .collect();
    let first = demo.git(&["rev-list", "--max-parents=0", "main"]);
    let on_main = demo.git(&["rev-list", "--first-parent", "main", &format!("^{first}")]);
    let on_main: Vec<&str> = on_main.lines().collect();
    assert!((1..=7).contains(&on_main.len()), "{on_main:?}");
    let merged = events.iter().filter(|event| event["kind"] == "merge_complete");
    let heads: BTreeSet<String> = merged.map(|event| text(event, "head")).collect();
    let reachable = demo.git(&["rev-list", "main"]);
    let reachable: BTreeSet<&str> = reachable.lines().collect();
    assert!(heads.len() == 7 && heads.iter().all(|head| reachable.contains(head.as_str())), "{heads:?}");
    for commit in on_main {
        let (tree, recipe) = landed.get(commit).unwrap_or_else(|| panic!("{commit} was not landed by us"));
        assert_eq!(demo.git(&["rev-parse", &format!("{commit}^{{tree}}")]), *tree);
        assert!(passed.contains(&(tree.clone(), recipe.clone())), "{commit} was never green");
    }
    assert_eq!(demo.git(&["fsck", "--no-dangling", "--no-progress"]), "");
}

#[test]
fn an_unchanged_tree_is_never_tested_twice() {
    let demo = demo();
    let mut seen = BTreeSet::new();
    for event in events(&demo).iter().filter(|event| event["kind"] == "build_started") {
        assert!(seen.insert(text(event, "build")), "{event}");
    }
    let mut trees = BTreeSet::new();
    for event in events(&demo).iter().filter(|event| event["kind"] == "build_queued") {
        assert!(trees.insert((text(event, "tree"), text(event, "recipe"))), "{event}");
    }
    assert_eq!(trees.len(), seen.len());
}

/// The checkout of the demo's user is as it was made.
#[test]
fn the_users_checkout_is_never_touched() {
    let demo = demo();
    let checkout = demo.machine.path("repo/todo");
    let at = checkout.to_str().unwrap();
    assert_eq!(demo.machine.git(&["-C", at, "status", "--porcelain"]), "");
    assert_eq!(demo.machine.git(&["-C", at, "rev-list", "--all", "--count"]).trim(), "1");
}

/// The command that it names takes it all away, and nothing else.
#[test]
fn a_demo_in_a_folder_of_its_users_choice_goes_away_as_it_says() {
    let demo = demo();
    let machine = &demo.machine;
    let away = demo.report["away"].as_str().unwrap().to_owned();
    let states = || std::fs::read_dir(machine.path("state/windlass")).unwrap().count();
    assert_eq!(states(), 1);
    machine.write("mine/windlass.toml", "name = \"mine\"\n");
    machine.fails(&["demo", "--clean", "--in", "mine"], "not-a-demo", 2);
    assert!(machine.repo().join("mine/windlass.toml").is_file());
    let args: Vec<&str> = away.split(' ').skip(1).collect();
    assert_eq!(machine.run(&args).out, "removed 1 demo\n", "{away}");
    assert!(!machine.repo().join("todo").exists());
    assert_eq!(states(), 0, "its state is gone as well");
}

fn events(demo: &Demo) -> Vec<Value> {
    let folder = demo.report["folder"].as_str().unwrap();
    let ran = demo.machine.run(&["-C", folder, "events", "--json"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn text(event: &Value, key: &str) -> String {
    event["data"][key].as_str().unwrap_or_else(|| panic!("no {key} in {event}")).to_owned()
}

fn seq(events: &[Value], kind: &str, issue: u64) -> u64 {
    let found = events.iter().find(|event| event["kind"] == kind && event["issue"] == issue);
    found.unwrap_or_else(|| panic!("no {kind} of #{issue}"))["seq"].as_u64().unwrap()
}
