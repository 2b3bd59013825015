//! One issue in front of a person, and rounds without a daemon.

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::crew::{APPROVES, READY, config, crew};
use crate::works::Works;

const PATIENCE: Duration = Duration::from_secs(120);

#[test]
fn one_issue_is_worked_on_alone_and_its_end_is_the_exit_code() {
    let asks = "signal escalate 'which colour?'";
    let fails = "signal failed 'Reason: no disk'";
    let works = crew(&config("true", ""), APPROVES, &[READY, READY, asks, fails]);
    let view = works.machine.json(&["run", "2", "--watch"]);
    assert_eq!((&view["schema"], &view["state"]), (&"windlass.run/1".into(), &"MERGED".into()), "{view}");
    assert!(works.is_on_main(2) && !works.is_on_main(1));
    assert_eq!(works.machine.json(&["show", "1"])["task"], serde_json::Value::Null, "no other was taken");
    let asked = works.machine.run(&["run", "3", "--watch"]);
    assert_eq!(asked.code, 6, "{asked:?}");
    assert!(
        asked.err.contains("NEEDS YOU  which colour?") && asked.err.contains("windlass tell 3"),
        "{asked:?}"
    );
    let failed = works.machine.run(&["run", "4", "--watch"]);
    assert_eq!(failed.code, 7, "{failed:?}");
    works.machine.fails(&["run", "4"], "ended", 7);
    works.machine.fails(&["run", "99"], "not-found", 3);
    assert_eq!(works.machine.run(&["run", "1"]).code, 5, "nobody is there to do it");
    works.must(&["down"]);
}

/// The demo's agent says what its turns cost; this issue it cannot do, and its first turn is above the budget.
#[test]
fn an_issue_that_is_stopped_by_its_budget_has_an_exit_code_of_its_own() {
    let config = "[ci]\ncommand = \"true\"\n[agent.dev]\nkind = \"demo\"\n[budget]\nper_issue_usd = 0.001\n";
    let works = Works::new(config, &[("README", "begin\n")]);
    works.new_issue("Import a list from CSV", "as it was exported");
    let spent = works.machine.run(&["run", "1", "--watch"]);
    assert_eq!(spent.code, 10, "{spent:?}");
    assert!(spent.out.contains("ABANDONED"), "{spent:?}");
    // What it has cost is now more than a day may cost: nothing is begun, and everybody is told why.
    let number = works.new_issue("Add a done command", "as in the list");
    let day = ["--set", "budget.per_day_usd=0.0001"];
    let held = works.machine.run(&[&["run", "2", "--watch"], &day[..]].concat());
    assert_eq!((number, held.code), (2, 10), "{held:?}");
    let status = works.machine.run(&[&["status"], &day[..]].concat()).out;
    assert!(status.contains(" of $0.00 (estimated)"), "{status}");
    for args in [&["why", "2"][..], &["plan"]] {
        let said = works.machine.run(&[args, &day[..]].concat()).out;
        assert!(said.contains("work goes on after midnight UTC"), "{args:?}: {said}");
    }
    works.must(&["down"]);
}

#[test]
fn watching_ends_with_its_time_or_at_ctrl_c_and_the_work_goes_on() {
    let waits = "until [ -e $here/go ]; do sleep 0.02; done; ready";
    let mut works = crew(&config("true", ""), APPROVES, &[waits]);
    let late = works.machine.run(&["run", "1", "--watch", "--timeout", "1s"]);
    assert_eq!(late.code, 8, "{late:?}");
    works.up();
    let mut log = works.log();
    log.wait("the daemon", |event| event["kind"] == "daemon_started" && event["data"]["epoch"] == 2);
    works.must(&["run", "1"]);
    let mut command = works.machine.command(&["run", "1", "--watch"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // The signal is heard from the first moment; only the program itself must be there.
    let pid = Pid::from_raw(child.id().cast_signed()).unwrap();
    wait_listening(child.id());
    kill_process(pid, Signal::INT).unwrap();
    let done = child.wait_with_output().unwrap();
    assert_eq!(done.status.code(), Some(130), "{}", String::from_utf8_lossy(&done.stderr));
    std::fs::write(works.machine.path("go"), "").unwrap();
    log.wait_merged(1);
    works.down();
}

#[test]
fn what_runs_for_one_issue_alone_is_told_from_a_daemon_and_goes_down_like_one() {
    let waits = "until [ -e $here/go ]; do sleep 0.02; done; ready";
    let works = crew(&config("true", ""), APPROVES, &[waits, READY]);
    let mut command = works.machine.command(&["run", "1", "--watch"]);
    let run = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    works.log().wait("its agent", |event| event["kind"] == "session_started");
    let ran = works.machine.fails(&["up"], "busy", 8);
    assert!(ran.err.contains("`windlass run #1`"), "{ran:?}");
    works.must(&["down"]);
    let done = run.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(5), "{}: {said}", done.status);
    assert!(said.contains("windlass down has ended it"), "{said}");
}

/// What cannot start is not watched for ever: the reason, the way out and a code for scripts come at once.
#[test]
fn what_cannot_start_is_not_watched() {
    let mut works = crew(&config("true", ""), APPROVES, &[READY, READY]);
    assert_eq!(works.new_issue("later", "Depends on #1"), 3);
    works.must(&["label", "2", "+blocked"]);
    neither_starts(&works);
    for guard in ["guards.min_free_memory_mb=999999999", "guards.min_free_disk_mb=999999999"] {
        refused(&works, &["1", "--set", guard], "guard", 10, "lower it in [guards]");
    }
    let left = works.machine.run(&["run", "3"]);
    assert_eq!((left.code, left.out.as_str()), (5, "#3 comes next\n"), "{left:?}");
    assert!(left.err.contains("waits for #1"), "{left:?}");
    // Nobody may take anything meanwhile.
    works.machine.run(&["pause"]);
    works.up();
    works.log().wait("the pause", |event| event["kind"] == "paused");
    neither_starts(&works);
    refused(&works, &["1"], "paused", 10, "windlass resume");
    assert!(!works.must(&["why", "1"]).contains("when a slot is free"), "no slot helps while it is paused");
    let left = works.machine.run(&["run", "1"]);
    assert_eq!(left.code, 10, "{left:?}");
    assert!(left.err.contains("the factory is paused") && left.err.contains("windlass resume"), "{left:?}");
    works.down();
    refused(&works, &["1"], "paused", 10, "windlass resume");
    works.must(&["down"]);
}

fn refused(works: &Works, args: &[&str], code: &str, exit: i32, next: &str) {
    let ran = works.machine.fails(&[&["run"], args, &["--watch"]].concat(), code, exit);
    assert!(ran.err.contains(next), "{args:?}: {}", ran.err);
}

fn neither_starts(works: &Works) {
    refused(works, &["3"], "waits", 8, "windlass why 1");
    refused(works, &["2"], "held-back", 6, "windlass label 2 -blocked");
}

#[test]
fn a_person_may_have_an_issue_done_before_what_it_depends_on() {
    let works = crew(&config("true", ""), APPROVES, &[READY]);
    assert_eq!(works.new_issue("later", "Depends on #1"), 2);
    refused(&works, &["2"], "waits", 8, "windlass run 2 --ignore-deps");
    let view = works.machine.json(&["run", "2", "--watch", "--ignore-deps"]);
    assert_eq!(view["state"], "MERGED", "{view}");
    assert!(works.is_on_main(2) && !works.is_on_main(1));
    works.must(&["down"]);
}

#[test]
fn what_comes_to_a_stand_while_it_is_watched_is_let_go_with_the_reason() {
    let waits = "until [ -e $here/go ]; do sleep 0.02; done; ready";
    let mut works = crew(&config("false", ""), APPROVES, &[waits]);
    works.up();
    works.log().wait_state(1, "RUNNING");
    let mut command = works.machine.command(&["run", "1", "--watch"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_listening(child.id());
    works.must(&["pause"]);
    std::fs::write(works.machine.path("go"), "").unwrap();
    let done = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(10), "{said}");
    assert!(said.contains("AWAITING_SLOT") && said.contains("windlass resume"), "{said}");
    works.down();
}

/// Until the program has said what it does with SIGINT.
fn wait_listening(pid: u32) {
    let until = Instant::now() + PATIENCE;
    let listens = || {
        let status = std::fs::File::open(format!("/proc/{pid}/status")).unwrap();
        let mut lines = BufReader::new(status).lines().map_while(Result::ok);
        let caught = lines.find_map(|line| line.strip_prefix("SigCgt:").map(|mask| mask.trim().to_owned()));
        caught.is_some_and(|mask| u64::from_str_radix(&mask, 16).unwrap() & 2 != 0)
    };
    while !listens() {
        assert!(Instant::now() < until, "it never listened");
        std::thread::park_timeout(Duration::from_millis(5));
    }
}

/// Rounds from a timer instead of a daemon: each hears what happened since the last.
#[test]
fn rounds_without_a_daemon_bring_an_issue_to_main() {
    let works = crew(&config("true", ""), APPROVES, &[READY]);
    let until = Instant::now() + PATIENCE;
    while works.machine.json(&["issues", "--all"])["issues"][0]["state"] != "MERGED" {
        works.must(&["tick"]);
        assert!(Instant::now() < until, "{}", works.must(&["why", "1"]));
    }
    assert!(works.is_on_main(1));
    daemon_is_down(&works);
    works.must(&["down"]);
    assert_eq!(works.machine.run(&["tick"]).code, 5, "down stays down");
}

fn daemon_is_down(works: &Works) {
    assert_eq!(works.machine.json(&["status"])["daemon"]["state"], "down");
}
