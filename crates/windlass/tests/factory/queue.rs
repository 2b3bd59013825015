//! The merge queue under people's hands: paused, asked to hurry, emptied, left alone for too long; and the form that
//! changes have on main.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::crew::{APPROVES, READY, config, crew};
use crate::works::{Log, Works};

const SERIAL: &str = "[queue]\npolicy = \"serial\"\n";

/// A factory whose queue was paused before anything could land, with these issues in it.
pub fn paused(more: &str, critic: &str, scripts: &[&str]) -> (Works, Log) {
    let mut works = crew(&config("true", more), critic, scripts);
    works.up();
    works.order(&["queue", "pause", "release day"]);
    let mut log = works.log();
    for issue in 1..=u64::try_from(scripts.len()).unwrap() {
        log.wait_state(issue, "QUEUED");
    }
    (works, log)
}

pub fn landed(log: &Log) -> Vec<u64> {
    let landings = log.seen.iter().filter(|event| event["kind"] == "landed");
    landings.map(|event| event["issue"].as_u64().unwrap()).collect()
}

#[test]
fn a_person_pauses_the_queue_and_puts_a_change_first() {
    let (mut works, mut log) = paused(SERIAL, APPROVES, &[READY, READY, READY]);
    let begin = works.git(&["rev-parse", "main"]);
    works.machine.fails(&["queue", "front", "99"], "not-found", 3);
    works.must(&["queue", "front", "3"]);
    works.kill();
    works.up();
    log.wait("the next start", |event| event["kind"] == "daemon_started" && event["data"]["epoch"] == 2);
    let fourth = works.new_issue("came later", "");
    log.wait_state(fourth, "QUEUED");
    assert_eq!(works.git(&["rev-parse", "main"]), begin, "nothing lands while it is paused");
    let shown = works.machine.json(&["queue"]);
    let reason = shown["paused"].as_str().unwrap();
    assert!(reason.ends_with("paused it: release day"), "{reason}");
    assert_eq!(shown["entries"].as_array().unwrap().len(), 4);
    works.must(&["queue", "resume"]);
    for issue in [1, 2, 3, fourth] {
        log.wait_merged(issue);
    }
    let order = landed(&log);
    assert_eq!((order.len(), order[0], order[3]), (4, 3, fourth), "the first, then the oldest");
    for order in ["front", "drop"] {
        let refused = works.machine.fails(&["queue", order, "3"], "refused", 7);
        assert!(refused.err.contains("it is not in the queue"), "{refused:?}");
    }
    let resumed = works.machine.fails(&["queue", "resume"], "refused", 7);
    assert!(resumed.err.contains("is not paused"), "{resumed:?}");
    let untouched = works.machine.json(&["new", "for people", "--no-backlog"])["number"].to_string();
    works.machine.fails(&["queue", "front", &untouched], "no-task", 3);
    works.down();
}

#[test]
fn a_person_takes_a_change_out_and_sends_it_on() {
    let again = "if [ $WINDLASS_TURN = 1 ]; then ready; else echo more > more; ready; fi";
    let (mut works, mut log) = paused("", APPROVES, &[again, READY]);
    works.must(&["queue", "drop", "1"]);
    log.wait_state(1, "AWAITING_HUMAN");
    log.wait_commented(1);
    let question = works.comments(1, "**Needs you.** ");
    assert!(question[0].contains("out of the merge queue"), "{question:?}");
    works.must(&["queue", "resume"]);
    log.wait_merged(2);
    assert!(!works.is_on_main(1));
    works.must(&["tell", "1", "go on, but with more"]);
    log.wait_merged(1);
    assert_eq!(works.git(&["show", "main:more"]), "more");
    works.down();
}

#[test]
fn regression_branches_of_closed_tasks_are_not_merged_after_a_crash() {
    let (mut works, mut log) = paused("", APPROVES, &[READY, READY, READY]);
    works.must(&["close", "1"]);
    works.must(&["abandon", "2"]);
    log.wait_end(1);
    log.wait_end(2);
    works.kill();
    works.up();
    works.order(&["queue", "resume"]);
    log.wait_merged(3);
    assert_eq!(landed(&log), [3]);
    let files = works.git(&["ls-tree", "--name-only", "main"]);
    assert!(!files.contains("work-1") && !files.contains("work-2") && files.contains("work-3"), "{files}");
    works.down();
}

#[test]
fn regression_a_repository_that_cannot_be_read_is_no_warning_and_nothing_lands() {
    let (mut works, mut log) = paused("", APPROVES, &[READY]);
    let (main, aside) = (works.repo().join("refs/heads/main"), works.machine.path("main-aside"));
    std::fs::rename(&main, &aside).unwrap();
    works.must(&["queue", "resume"]);
    let until = Instant::now() + Duration::from_secs(60);
    while !works.daemon_log().contains("cannot build the queue's chain") {
        assert!(Instant::now() < until, "nobody noticed: {}", works.daemon_log());
        std::thread::park_timeout(Duration::from_millis(20));
    }
    assert_eq!((landed(&log).len(), works.show(1)["task"]["state"].clone()), (0, "QUEUED".into()));
    assert!(!main.exists(), "nothing was put in its place");
    std::fs::rename(&aside, &main).unwrap();
    log.wait_merged(1);
    assert_eq!(landed(&log), [1]);
    works.down();
}

#[test]
fn regression_work_that_was_claimed_before_a_crash_is_found_again() {
    let mut works = crew(&config("true", ""), APPROVES, &[READY]);
    works.up();
    let mut log = works.log();
    log.wait_kind("task_claimed", 1);
    works.kill();
    works.up();
    log.wait_merged(1);
    assert_eq!((log.count("task_claimed", 1), landed(&log)), (1, vec![1]), "the same claim goes on");
    works.down();
}

#[test]
fn regression_a_change_that_somebody_else_merged_does_not_leave_its_task_open() {
    let (mut works, mut log) = paused("", APPROVES, &[READY]);
    let repo = works.repo().to_string_lossy().into_owned();
    works.machine.git(&["fetch", "-q", &repo, "windlass/1"]);
    works.machine.git(&["merge", "-q", "--no-ff", "-m", "by hand", "FETCH_HEAD"]);
    works.machine.git(&["push", "-q", &repo, "HEAD:main"]);
    works.must(&["queue", "resume"]);
    assert_eq!(log.wait_end(1), ("CLOSED".to_owned(), "already_on_main".to_owned()));
    log.wait_commented(1);
    assert_eq!(works.show(1)["open"], false);
    let claims = works.events().iter().filter(|event| event["kind"] == "task_claimed").count();
    assert_eq!((claims, landed(&log).len()), (1, 0), "nobody works on it again");
    works.down();
}

#[test]
fn whoever_waits_too_long_is_named_once() {
    let (mut works, mut log) = paused("[queue]\nalarm = \"1s\"\n", APPROVES, &[READY]);
    let alarm = log.wait_kind("queue_alarm", 1);
    let held = alarm["data"]["held"].as_str().unwrap();
    assert!(held.contains("the queue is paused") && held.contains("release day"), "{held}");
    assert!(alarm["data"]["waited"].as_i64().unwrap() >= 1_000, "{alarm}");
    works.kill();
    works.up();
    works.order(&["queue", "resume"]);
    log.wait_merged(1);
    assert_eq!(log.count("queue_alarm", 1), 1);
    works.down();
}

/// Two commits, the second of which undoes a part of the first.
const TWICE: &str = "echo draft > note-$n; work; git rm -q note-$n; echo final > last-$n; git add --all; \
                     git commit -q -m \"finish $n\"; signal awaiting_ci";

fn in_form(history: &str) -> (Works, Log) {
    let more = format!("[queue]\nhistory = \"{history}\"\n");
    let (works, mut log) = paused(&more, APPROVES, &[TWICE, TWICE, TWICE]);
    works.must(&["queue", "resume"]);
    for issue in 1..=3 {
        log.wait_merged(issue);
    }
    (works, log)
}

/// The daemon is killed again and again while changes land; each is on main once, and every head has its mark.
#[test]
fn kills_do_not_land_a_squashed_or_rebased_change_twice() {
    for history in ["squash", "rebase"] {
        let more = format!("[queue]\nhistory = \"{history}\"\n");
        let mut works = crew(&config("true", &more), APPROVES, &[TWICE, TWICE, TWICE]);
        let mut log = works.log();
        for n in 1..=12_u64 {
            works.up();
            std::thread::park_timeout(Duration::from_millis(60 + n * 67 % 250));
            works.kill();
        }
        works.up();
        for issue in 1..=3 {
            log.wait_merged(issue);
        }
        all_landed_once(&works, &log);
        let commits = works.git(&["log", "--format=%(trailers:key=Windlass-Change,valueonly)", "main"]);
        let each = if history == "squash" { 1 } else { 2 };
        for issue in ["1.1", "2.1", "3.1"] {
            assert_eq!(commits.lines().filter(|line| *line == issue).count(), each, "{commits}");
        }
        works.down();
    }
}

fn lines(text: &str) -> Vec<&str> {
    text.lines().collect()
}

#[test]
fn squashed_changes_land_as_one_commit_each() {
    let (mut works, log) = in_form("squash");
    let subjects = works.git(&["log", "--reverse", "--format=%s", "main"]);
    let mut subjects = lines(&subjects);
    subjects.sort_unstable();
    assert_eq!(subjects, ["begin", "issue 1 (#1)", "issue 2 (#2)", "issue 3 (#3)"]);
    let text = works.git(&["log", "-1", "--format=%b", "--grep=^issue 3", "main"]);
    let landed = log.seen.iter().find(|event| event["kind"] == "landed" && event["issue"] == 3).unwrap();
    let head = landed["data"]["head"].as_str().unwrap();
    assert_eq!(text, format!("* work on 3\n* finish 3\n\nWindlass-Change: 3.1\nWindlass-Head: {head}"));
    all_landed_once(&works, &log);
    works.down();
}

#[test]
fn rebased_changes_land_as_their_own_commits_again() {
    let (mut works, log) = in_form("rebase");
    let subjects = works.git(&["log", "--reverse", "--format=%s by %an", "main"]);
    let own = |n: u64| [format!("work on {n} by dev-{n}.1-1"), format!("finish {n} by dev-{n}.1-1")];
    let subjects = lines(&subjects);
    assert_eq!((subjects.len(), subjects[0]), (7, "begin by T"));
    for n in 1..=3 {
        assert!(subjects.windows(2).any(|pair| pair == own(n)), "{subjects:?}");
    }
    assert_eq!(works.git(&["log", "--merges", "--format=%h", "main"]), "");
    let trailers = works.git(&["log", "-2", "--format=%(trailers:key=Windlass-Change,valueonly)", "main"]);
    let trailers: Vec<&str> = trailers.split_whitespace().collect();
    assert!(trailers.len() == 2 && trailers[0] == trailers[1], "{trailers:?}");
    all_landed_once(&works, &log);
    works.down();
}

/// Nothing was rescued, nothing landed twice, every head has its mark.
fn all_landed_once(works: &Works, log: &Log) {
    let mut landed = landed(log);
    landed.sort_unstable();
    assert_eq!(landed, [1, 2, 3]);
    assert_eq!(works.git(&["for-each-ref", "refs/windlass/rescue"]), "");
    assert_eq!(works.git(&["for-each-ref", "refs/windlass/landed"]).lines().count(), 3);
    let facts: Vec<&Value> = log.seen.iter().filter(|event| event["kind"] == "landed_otherwise").collect();
    assert!(facts.is_empty(), "{facts:?}");
    for n in 1..=3 {
        assert_eq!(works.git(&["show", &format!("main:last-{n}")]), "final");
    }
}

#[test]
fn a_change_with_a_merge_inside_is_squashed_where_others_are_rebased() {
    let merges = "git switch -q -c side; echo s > side; git add side; git commit -q -m side; \
                  git switch -q windlass/1; work; git merge -q --no-edit side; signal awaiting_ci";
    let mut works = crew(&config("true", "[queue]\nhistory = \"rebase\"\n"), APPROVES, &[merges]);
    works.up();
    let mut log = works.log();
    log.wait_merged(1);
    let fact = log.wait_kind("landed_otherwise", 1);
    assert_eq!((&fact["data"]["wanted"], &fact["data"]["history"]), (&"rebase".into(), &"squash".into()));
    assert_eq!(works.git(&["log", "-1", "--format=%s", "main"]), "issue 1 (#1)");
    assert_eq!(works.git(&["show", "main:side"]), "s");
    works.down();
}
