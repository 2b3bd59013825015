//! The merge queue's acceptance criteria of the seeds, AC-3.1 to AC-3.5, on the real program.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::crew::{APPROVES, READY, config, crew};
use crate::queue::{landed, paused};
use crate::works::{Log, Works};

/// Every build waits for a sign, but for those before the queue goes on.
const WAITS: &str = "here=@\n[ -e $here/free ] || until [ -e $here/go ]; do sleep 0.02; done\n";

/// Somebody else adds a file to main, so that nothing in the queue was tested on it.
fn push_file(works: &Works, name: &str) {
    let repo = works.repo().to_string_lossy().into_owned();
    works.machine.git(&["fetch", "-q", &repo, "main"]);
    works.machine.git(&["reset", "-q", "--hard", "FETCH_HEAD"]);
    works.machine.write(name, "by hand\n");
    works.machine.git(&["add", name]);
    works.machine.git(&["commit", "-q", "-m", name]);
    works.machine.git(&["push", "-q", &repo, "HEAD:main"]);
}

fn seq_of(log: &Log, what: impl Fn(&Value) -> bool) -> u64 {
    log.seen.iter().find(|event| what(event)).and_then(|event| event["seq"].as_u64()).unwrap()
}

fn tests_of(view: &Value) -> Vec<Value> {
    view["tests"].as_array().unwrap().iter().map(|test| test["issues"].clone()).collect()
}

/// The queue as the command shows it, once it shows a running test.
fn wait_testing(works: &Works) -> Value {
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        let view = works.machine.json(&["queue"]);
        if view["tests"].as_array().unwrap().iter().any(|test| test["started_at"].is_string()) {
            return view;
        }
        assert!(Instant::now() < until, "no test runs: {view}");
        std::thread::park_timeout(Duration::from_millis(20));
    }
}

#[test]
fn ac_3_1_two_that_are_ready_at_once_land_one_after_the_other() {
    let mut works = crew(&config("sh @ci.sh", "[queue]\npolicy = \"serial\"\n"), APPROVES, &[READY, READY]);
    let here = works.machine.path("").to_string_lossy().into_owned();
    works.script("ci.sh", &WAITS.replace('@', &here));
    works.script("free", "");
    works.up();
    works.order(&["queue", "pause"]);
    let mut log = works.log();
    for issue in [1, 2] {
        log.wait_kind("merge_ready", issue);
    }
    push_file(&works, "moved");
    std::fs::remove_file(works.machine.path("free")).unwrap();
    works.must(&["queue", "resume"]);
    let view = wait_testing(&works);
    let order: Vec<u64> =
        view["entries"].as_array().unwrap().iter().map(|entry| entry["issue"].as_u64().unwrap()).collect();
    assert_eq!(order.len(), 2, "{view}");
    let (first, second) = (order[0], order[1]);
    assert_eq!(tests_of(&view), [Value::from(vec![first])], "only the first is tested");
    assert_eq!(
        (&view["entries"][0]["status"], &view["entries"][1]["status"]),
        (&"testing".into(), &"ready".into())
    );
    works.script("go", "");
    log.wait_merged(first);
    log.wait_merged(second);
    let landing =
        |issue: u64| log.seen.iter().find(|e| e["kind"] == "landed" && e["issue"] == issue).unwrap();
    assert_eq!(landing(second)["data"]["from"], landing(first)["data"]["commit"], "one on top of the other");
    let of_second = |event: &Value| {
        event["kind"] == "build_queued" && event["data"]["lane"] == "gate" && event["issue"] == second
    };
    assert!(seq_of(&log, of_second) > landing(first)["seq"].as_u64().unwrap(), "the second waited");
    works.down();
}

#[test]
fn ac_3_2_a_clean_change_is_rebased_tested_merged_and_its_branch_deleted() {
    let (mut works, mut log) = paused("[queue]\nhistory = \"rebase\"\n", APPROVES, &[READY]);
    assert_ne!(works.git(&["for-each-ref", "refs/heads/windlass/1"]), "", "it has a branch");
    push_file(&works, "moved");
    let moved = works.git(&["rev-parse", "main"]);
    works.must(&["queue", "resume"]);
    log.wait_merged(1);
    assert_eq!(works.git(&["rev-parse", "main^"]), moved, "rebased onto main");
    assert_eq!(works.git(&["log", "-1", "--format=%s", "main"]), "work on 1");
    let tree = works.git(&["rev-parse", "main^{tree}"]);
    let passed = |event: &Value| {
        event["kind"] == "build_ended"
            && event["data"]["tree"] == tree.as_str()
            && event["data"]["outcome"]["outcome"] == "passed"
    };
    let landed = seq_of(&log, |event| event["kind"] == "landed");
    assert!(seq_of(&log, passed) < landed, "tested as it lands, before it lands");
    assert_eq!(works.git(&["for-each-ref", "--format=%(refname)", "refs/heads"]), "refs/heads/main");
    works.down();
}

#[test]
fn ac_3_3_a_conflict_goes_back_to_its_session_with_files_and_commits_and_comes_again() {
    let script = "if [ $WINDLASS_TURN = 1 ]; then echo $n > same; ready; else
        git fetch -q origin; git merge -q origin/main > /dev/null || true; echo both > same; ready; fi";
    let (mut works, mut log) = paused("", APPROVES, &[script, script]);
    works.must(&["queue", "resume"]);
    log.wait_merged(1);
    log.wait_merged(2);
    let conflicts: Vec<&Value> = log.seen.iter().filter(|event| event["kind"] == "merge_conflict").collect();
    assert_eq!(conflicts.len(), 1, "{conflicts:?}");
    let issue = conflicts[0]["issue"].as_u64().unwrap();
    assert_eq!(conflicts[0]["data"]["files"], Value::from(vec!["same"]));
    let heard = works.heard(issue);
    let subject = format!("--grep=^work on {}$", 3 - issue);
    let landed = works.git(&["log", "--format=%h work on", "--abbrev=10", &subject, "main"]);
    for words in
        ["Main has moved and your change conflicts with it", "- same\n", landed.lines().last().unwrap()]
    {
        assert!(!words.is_empty() && heard.contains(words), "no `{words}` in {heard}");
    }
    assert_eq!(works.show(issue)["task"]["sessions"], 1, "the same session");
    assert_eq!(log.count("merge_ready", issue), 2, "it came again");
    assert_eq!(works.git(&["show", "main:same"]), "both");
    works.down();
}

#[test]
fn ac_3_4_the_queue_is_listed_in_its_order_for_people_programs_and_other_tools() {
    let (mut works, mut log) = paused("", APPROVES, &[READY, READY, READY]);
    works.must(&["queue", "front", "3"]);
    let view = works.machine.json(&["queue"]);
    let order: Vec<u64> =
        view["entries"].as_array().unwrap().iter().map(|entry| entry["issue"].as_u64().unwrap()).collect();
    assert_eq!((order.len(), order[0]), (3, 3), "{view}");
    let text = works.must(&["queue"]);
    let train = text.lines().find(|line| line.starts_with("main ")).unwrap();
    let cars: Vec<usize> = order.iter().map(|n| train.find(&format!("[#{n} ")).unwrap()).collect();
    assert!(cars.is_sorted(), "{text}");
    let mirror = || -> Vec<(String, String)> {
        let text = std::fs::read_to_string(works.machine.state().join("merge-queue.json")).unwrap();
        let all: Vec<Value> = serde_json::from_str(&text).unwrap();
        for entry in &all {
            let keys: Vec<&str> = entry.as_object().unwrap().keys().map(String::as_str).collect();
            let mut schema = SEED;
            schema.sort_unstable();
            assert_eq!(keys, schema);
        }
        let word = |entry: &Value, key: &str| entry[key].as_str().unwrap().to_owned();
        all.iter().map(|entry| (word(entry, "branch"), word(entry, "status"))).collect()
    };
    let branches: Vec<(String, String)> =
        order.iter().map(|n| (format!("windlass/{n}"), "paused".to_owned())).collect();
    let until = Instant::now() + Duration::from_secs(60);
    while mirror() != branches {
        assert!(Instant::now() < until, "{:?} is not {branches:?}", mirror());
        std::thread::park_timeout(Duration::from_millis(20));
    }
    works.must(&["queue", "resume"]);
    for issue in 1..=3 {
        log.wait_merged(issue);
    }
    works.down();
}

const SEED: [&str; 8] =
    ["identity_name", "branch", "worktree_path", "pr_number", "bead_id", "node_id", "requested_at", "status"];

#[test]
fn ac_3_5_nothing_comes_to_main_but_through_the_queue() {
    let pushes = "work; git push -q origin HEAD:main 2> $here/refused-$n && echo pushed > $here/pushed-$n; \
                  git push -q --force origin HEAD:refs/heads/main 2>> $here/refused-$n; signal awaiting_ci";
    let mut works = crew(&config("true", ""), APPROVES, &[pushes, READY, READY]);
    let begin = works.git(&["rev-parse", "main"]);
    works.up();
    let mut log = works.log();
    for issue in 1..=3 {
        log.wait_merged(issue);
    }
    assert!(works.note("refused-1").contains("Do not push"), "{}", works.note("refused-1"));
    assert_eq!(works.note("pushed-1"), "");
    let line = works.git(&["rev-list", "--first-parent", "--reverse", &format!("{begin}..main")]);
    let mut from = Value::from(begin);
    for commit in line.lines() {
        let by_queue = log.seen.iter().find(|e| e["kind"] == "landed" && e["data"]["commit"] == commit);
        let by_queue = by_queue.unwrap_or_else(|| panic!("{commit} did not come through the queue"));
        assert_eq!(by_queue["data"]["from"], from);
        from = Value::from(commit);
    }
    assert_eq!(from, Value::from(works.git(&["rev-parse", "main"])));
    let mut issues = landed(&log);
    issues.sort_unstable();
    assert_eq!(issues, [1, 2, 3]);
    assert_eq!(
        works
            .git(&["reflog", "show", "--format=%gs", "main"])
            .lines()
            .filter(|l| *l != "windlass: landed")
            .count(),
        0
    );
    works.down();
}
