//! Money: a day that has cost enough holds everybody up, and the next lets them go on.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use windlass_testkit::faketime;

use crate::works::Works;

/// A factory whose first turn costs more than a day may, and the file that moves its clock.
fn spent_in_a_turn(library: &Path, ci: &str) -> (Works, PathBuf) {
    let config =
        format!("[ci]\ncommand = \"{ci}\"\n[agent.dev]\nkind = \"demo\"\n[budget]\nper_day_usd = 0.0001\n");
    let mut works = Works::new(&config, &[("README", "begin\n")]);
    works.new_issue("Add a done command", "as in the list");
    let clock = works.machine.path("clock");
    std::fs::write(&clock, "+0").unwrap();
    let mut command = works.machine.command(&["up", "--foreground"]);
    command.envs([
        ("LD_PRELOAD", library),
        ("FAKETIME_TIMESTAMP_FILE", clock.as_path()),
        ("FAKETIME_NO_CACHE", Path::new("1")),
        ("FAKETIME_DONT_FAKE_MONOTONIC", Path::new("1")),
    ]);
    works.adopt(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    (works, clock)
}

/// Nobody says a word at midnight: who waits must be looked at all the same.
#[test]
fn who_waits_for_the_money_of_another_day_goes_on_when_it_comes() {
    let Some(library) = faketime::library() else { return };
    let (mut works, clock) = spent_in_a_turn(&library, "false");
    let mut log = works.log();
    log.wait_state(1, "AWAITING_SLOT");
    assert!(works.must(&["why", "1"]).contains("work goes on after midnight UTC"));
    std::fs::write(&clock, "+24h").unwrap();
    log.wait_state(1, "REVISING");
    works.down();
}

#[test]
fn a_critic_costs_money_and_waits_for_another_day_too() {
    let Some(library) = faketime::library() else { return };
    let (mut works, clock) = spent_in_a_turn(&library, "true");
    let mut log = works.log();
    log.wait_state(1, "AWAITING_CRITIC");
    let why = works.must(&["why", "1"]);
    assert!(why.contains("waits for a critic") && why.contains("work goes on after midnight UTC"), "{why}");
    assert!(!works.must(&["events", "--json"]).contains("start_review"), "a critic was started");
    std::fs::write(&clock, "+24h").unwrap();
    log.wait_state(1, "MERGED");
    works.down();
}

/// An agent that tells no price has an end, too.
#[test]
fn an_issue_that_has_used_its_tokens_is_abandoned() {
    let config = "[ci]\ncommand = \"true\"\n[agent.dev]\nkind = \"demo\"\n[budget]\nper_issue_tokens = 10\n";
    let mut works = Works::new(config, &[("README", "begin\n")]);
    works.new_issue("Add a done command", "as in the list");
    works.up();
    let mut log = works.log();
    assert_eq!(log.wait_end(1), ("ABANDONED".into(), "budget".into()));
    works.down();
}
