//! A factory without work asks its provider nothing: every hour in which nobody wants anything is free.

use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use windlass_testkit::faketime;
use windlass_testkit::provider::Step;

use super::{Lab, Wish, lab};
use crate::works::Works;

const TEN_MINUTES_MS: u64 = 10 * 60 * 1_000;
/// So many seconds pass for the daemon in each of ours.
const RATE: &str = "+0 x40";
const PATIENCE: Duration = Duration::from_secs(120);

#[test]
fn ten_minutes_without_work_cost_no_request() {
    let Some(library) = faketime::library() else { return };
    let test = "ten_minutes_without_work_cost_no_request";
    let Some(Lab { mut works, provider }) = lab(test, &Wish::default()) else { return };
    let question = "printf 'PHASE:escalate\\nwhich colour?\\n' > $WINDLASS_PHASE_FILE";
    provider.script("dev", [Step::bash(question), Step::say("asked")]);
    works.new_issue("The colour", "Ask for it.");
    works.up();
    works.log().wait_state(1, "AWAITING_HUMAN");
    provider.wait_asked("dev", 2);
    works.kill();
    let quick = quick_daemon(&works, &library);
    works.adopt(quick);
    let began = daemon_says(&works, "pause");
    let until = Instant::now() + PATIENCE;
    let mut now = began;
    // Whatever it is told makes it look at everything that is due by its clock; work could start at any time.
    while now - began < TEN_MINUTES_MS {
        assert!(Instant::now() < until, "only {} ms have passed for the daemon", now - began);
        std::thread::park_timeout(Duration::from_millis(300));
        daemon_says(&works, "resume");
        now = daemon_says(&works, "pause");
    }
    assert_eq!(provider.asked("dev").len(), 2, "{:#?}", provider.asked("dev"));
    assert_eq!(works.show(1)["task"]["state"], "AWAITING_HUMAN");
    works.down();
}

fn quick_daemon(works: &Works, library: &std::path::Path) -> Child {
    let mut command = works.machine.command(&["up", "--foreground"]);
    command.env("LD_PRELOAD", library).env("FAKETIME", RATE);
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// Tells the daemon something; its clock when it heard of it.
fn daemon_says(works: &Works, word: &str) -> u64 {
    works.order(&["queue", word]);
    let events = works.events();
    let heard = events.iter().rev().find(|event| event["kind"] == "command_taken").unwrap();
    let at = heard["at"].as_str().unwrap();
    u64::try_from(at.parse::<jiff::Timestamp>().unwrap().as_millisecond()).unwrap()
}
