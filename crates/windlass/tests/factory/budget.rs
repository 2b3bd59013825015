//! Money: a day that has cost enough holds everybody up, and the next lets them go on.

use std::path::Path;
use std::process::Stdio;

use windlass_testkit::faketime;

use crate::works::Works;

/// Nobody says a word at midnight: who waits must be looked at all the same.
#[test]
fn who_waits_for_the_money_of_another_day_goes_on_when_it_comes() {
    let Some(library) = faketime::library() else { return };
    let config = "[ci]\ncommand = \"false\"\n[agent.dev]\nkind = \"demo\"\n[budget]\nper_day_usd = 0.0001\n";
    let mut works = Works::new(config, &[("README", "begin\n")]);
    works.new_issue("Add a done command", "as in the list");
    let clock = works.machine.path("clock");
    std::fs::write(&clock, "+0").unwrap();
    let mut command = works.machine.command(&["up", "--foreground"]);
    command.envs([
        ("LD_PRELOAD", library.as_path()),
        ("FAKETIME_TIMESTAMP_FILE", clock.as_path()),
        ("FAKETIME_NO_CACHE", Path::new("1")),
        ("FAKETIME_DONT_FAKE_MONOTONIC", Path::new("1")),
    ]);
    works.adopt(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    let mut log = works.log();
    // Its first turn has cost more than the day may, and CI sends it back.
    log.wait_state(1, "AWAITING_SLOT");
    assert!(works.must(&["why", "1"]).contains("work goes on after midnight UTC"));
    std::fs::write(&clock, "+24h").unwrap();
    log.wait_state(1, "REVISING");
    works.down();
}
