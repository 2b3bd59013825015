//! Processes that are killed in the middle of a turn: a successor goes on, and no work is lost.

use std::process::Command;

use serde_json::Value;

use crate::crew::{APPROVES, config, crew};
use crate::works::Works;

/// The first session works, shows that it is there and waits; whoever comes next finishes.
const WAITS: &str = "case $session in
    *-1) echo half > half-$n; git add --all; git commit -q -m half; echo open > loose-$n
         echo $$ > $here/agent-$n.tmp; echo $PPID > $here/shim-$n; mv $here/agent-$n.tmp $here/agent-$n
         until [ -e $here/go-$n ]; do sleep 0.02; done; ready ;;
    *) ready ;;
esac";

#[test]
fn a_killed_agent_or_shim_has_a_successor_that_knows() {
    let mut works = crew(&config("true", ""), APPROVES, &[WAITS, WAITS]);
    works.up();
    let mut log = works.log();
    for (issue, victim) in [(1, "agent-1"), (2, "shim-2")] {
        log.wait_state(issue, "RUNNING");
        works.wait_note(&format!("agent-{issue}"));
        kill("KILL", &works.note(victim));
    }
    for issue in [1_u64, 2] {
        log.wait_merged(issue);
        assert!(works.is_gone(&format!("agent-{issue}")), "the agent outlived its shim");
        let brief = works.machine.state().join(format!("sessions/dev-{issue}.1-2/brief.md"));
        let brief = std::fs::read_to_string(brief).unwrap();
        assert!(brief.contains("Resume from phase: implementation"), "{brief}");
        assert!(brief.contains("+half"), "the brief shows what is committed: {brief}");
        assert_eq!(predecessor(&works, &format!("dev-{issue}.1-2")), format!("dev-{issue}.1-1"));
        assert_eq!(works.git(&["show", &format!("main:half-{issue}")]), "half");
        assert_eq!(works.git(&["show", &format!("main:loose-{issue}")]), "open", "the workspace is the same");
        assert_eq!(works.show(issue)["task"]["restarts"], 1);
        let crash = works.machine.json(&["why", &issue.to_string()])["crashes"][0].clone();
        let who = [&crash["session"], &crash["successor"]].map(|name| name.as_str().unwrap().to_owned());
        assert_eq!(who, [format!("dev-{issue}.1-1"), format!("dev-{issue}.1-2")]);
    }
    let why = works.must(&["why", "1"]);
    assert!(why.contains("dev-1.1-1 was killed by signal 9; dev-1.1-2 went on"), "{why}");
    works.down();
}

#[test]
fn a_daemon_that_is_asked_to_leave_leaves_the_agents_alone() {
    let mut works = crew(&config("true", ""), APPROVES, &[WAITS]);
    let mut daemon = works.start();
    let mut log = works.log();
    log.wait_state(1, "RUNNING");
    works.wait_note("agent-1");
    kill("TERM", &daemon.id().to_string());
    assert!(daemon.wait().unwrap().success(), "{}", works.daemon_log());
    assert!(!works.is_gone("agent-1"));
    // What happens while nobody looks is found at the next start.
    works.script("go-1", "");
    works.up();
    log.wait_merged(1);
    assert_eq!(works.show(1)["task"]["sessions"], 1, "the same session");
    assert_eq!(log.count("agent_crashed", 1), 0);
    works.down();
}

#[test]
fn a_killed_daemon_finds_its_agents_again() {
    let mut works = crew(&config("true", ""), APPROVES, &[WAITS]);
    works.up();
    let mut log = works.log();
    log.wait_state(1, "RUNNING");
    works.wait_note("agent-1");
    works.kill();
    assert!(!works.is_gone("agent-1"));
    works.up();
    works.script("go-1", "");
    log.wait_merged(1);
    assert_eq!(works.show(1)["task"]["sessions"], 1, "the same session");
    let claims = works.events().iter().filter(|event| event["kind"] == "task_claimed").count();
    assert_eq!((claims, log.count("landed", 1)), (1, 1));
    works.down();
}

#[test]
fn a_person_who_takes_the_factory_down_loses_no_work() {
    let mut works = crew(&config("true", ""), APPROVES, &[WAITS]);
    works.up();
    let mut log = works.log();
    log.wait_state(1, "RUNNING");
    works.wait_note("agent-1");
    works.down();
    assert!(works.is_gone("agent-1"));
    works.up();
    log.wait_merged(1);
    let shown = works.show(1);
    assert_eq!((&shown["task"]["restarts"], &shown["task"]["sessions"]), (&0.into(), &2.into()));
    assert_eq!(works.git(&["show", "main:half-1"]), "half");
    works.down();
}

fn predecessor(works: &Works, session: &str) -> String {
    let agents = works.machine.json(&["agents", "--all"]);
    let found = agents["agents"].as_array().unwrap().iter().find(|agent| agent["name"] == session);
    found.map_or(Value::Null, |agent| agent["predecessor_id"].clone()).as_str().unwrap_or("-").to_owned()
}

pub fn kill(signal: &str, pid: &str) {
    let done = Command::new("kill").args(["-s", signal, pid.trim()]).status().unwrap();
    assert!(done.success(), "kill {signal} {pid}");
}
