//! What people are told about a factory that does not run: nobody works who was stopped.

use std::process::Stdio;

use serde_json::json;
use windlass_testkit::faketime;

use crate::crew::{APPROVES, config, crew};

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
