//! What people are told about a factory that does not run: nobody works who was stopped.

use std::process::Stdio;

use serde_json::json;
use windlass_testkit::faketime;

use crate::crew::{APPROVES, READY, config, crew};

const WAITS: &str = "until [ -e $here/go ]; do sleep 0.02; done; ready";

#[test]
fn after_down_nobody_is_said_to_work_and_nobody_to_have_crashed() {
    let mut works = crew(&config("true", ""), APPROVES, &[WAITS]);
    works.up();
    works.log().wait_state(1, "RUNNING");
    let up = works.must(&["status"]);
    assert!(up.contains("WORKING 1 of 12 slots") && up.contains("● "), "{up}");
    works.down();
    let status = works.must(&["status"]);
    assert!(!status.contains("WORKING") && !status.contains("the agent works"), "{status}");
    assert!(status.contains("STOPPED 1 with the factory") && status.contains("windlass up"), "{status}");
    let agents = works.must(&["agents"]);
    assert!(!agents.lines().any(|line| line.contains("dev-1.1-1") && line.contains('✗')), "{agents}");
    assert_eq!(works.agent("dev-1.1-1")["light"], "stopped");
    let why = works.must(&["why", "1"]);
    assert!(why.contains("stopped with the factory, goes on at the next `windlass up`"), "{why}");
    assert!(!why.contains("the agent works"), "{why}");
    let task = works.machine.json(&["status"])["working"]["tasks"][0].clone();
    assert_eq!((&task["light"], &task["deadline"]), (&json!("stopped"), &json!(null)), "{task}");
}

/// Its time is what it worked, not what the clock says in the morning.
#[test]
fn a_task_goes_on_after_a_night_in_which_the_factory_was_down() {
    let Some(library) = faketime::library() else { return };
    let mut works = crew(&config("true", "[timeouts]\nsession = \"1h\"\n"), APPROVES, &[WAITS]);
    works.up();
    works.log().wait_state(1, "RUNNING");
    works.down();
    let mut morning = works.machine.command(&["up", "--foreground"]);
    morning.env("LD_PRELOAD", library).env("FAKETIME", "+20h");
    works.adopt(morning.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    let mut log = works.log();
    log.wait("the morning", |event| event["kind"] == "away");
    works.script("go", "");
    log.wait_merged(1);
    works.down();
}

#[test]
fn an_agent_that_outlives_its_daemon_is_said_to_work() {
    let mut works = crew(&config("true", ""), APPROVES, &[WAITS]);
    works.up();
    works.log().wait_state(1, "RUNNING");
    works.kill();
    let status = works.must(&["status"]);
    assert!(status.contains("WORKING 1, and nobody looks after them"), "{status}");
    assert_eq!(works.agent("dev-1.1-1")["light"], "alive");
    works.must(&["down"]);
}

/// Both are left for a factory that is down: the second is about what the first will have done.
#[test]
fn a_task_that_is_to_be_ended_and_tried_again_is_both() {
    let mut works = crew(&config("true", ""), APPROVES, &[WAITS]);
    works.up();
    works.log().wait_state(1, "RUNNING");
    works.down();
    for word in ["abandon", "retry"] {
        let left = works.machine.run(&[word, "1"]);
        assert_eq!(left.code, 5, "{left:?}");
    }
    works.script("go", "");
    works.up();
    let mut log = works.log();
    log.wait_merged(1);
    assert_eq!(works.show(1)["task"]["retries"], 1);
    works.down();
}

/// The build was stopped with the factory, and the project is tested by another command since.
#[test]
fn what_the_old_command_would_have_said_is_not_what_the_new_one_says() {
    let old = "exec sleep 1000";
    let mut works = crew(&config(old, ""), APPROVES, &[READY]);
    let before = std::fs::read_to_string(works.machine.repo().join("windlass.toml")).unwrap();
    works.up();
    let mut log = works.log();
    log.wait("the build", |event| event["kind"] == "build_started");
    works.down();
    works.machine.commit_config(&before.replace(old, "true"));
    works.up();
    log.wait_merged(1);
    let builds: Vec<_> = works.events().into_iter().filter(|event| event["kind"] == "build_ended").collect();
    let of = |kind: &str| {
        let ended = builds.iter().find(|event| event["data"]["outcome"]["outcome"] == kind);
        ended.unwrap_or_else(|| panic!("{kind}: {builds:#?}"))["data"]["recipe"].clone()
    };
    assert_ne!(of("cancelled"), of("passed"), "{builds:#?}");
    works.down();
}

/// Twice: a critic that was stopped is no critic that gave no verdict.
#[test]
fn a_critic_that_was_stopped_with_the_factory_is_followed_by_another() {
    let critic = "echo x >> $here/reading; if [ $(wc -l < $here/reading) -gt 2 ]; then approve; else exec sleep 1000; fi";
    let mut works = crew(&config("true", ""), critic, &[READY]);
    for nth in 1..=2 {
        works.up();
        works.wait_until("the critic", || works.note("reading").lines().count() == nth);
        works.down();
    }
    works.up();
    let mut log = works.log();
    log.wait_merged(1);
    assert_eq!(log.count("no_verdict", 1), 0);
    works.down();
}
