//! A configuration that is edited while the factory works.

use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::crew::{APPROVES, READY, config, crew};

/// Two issues wait behind one slot; a second slot is given while the first is in use.
#[test]
fn an_edit_is_taken_while_work_goes_on_and_a_bad_one_keeps_the_last_good() {
    let waits = "until [ -e $here/go ]; do sleep 0.02; done; ready";
    let one = config("true", "").replace("parallel = 12", "parallel = 1");
    let mut works = crew(&one, APPROVES, &[waits, READY]);
    works.up();
    let mut log = works.log();
    log.wait_state(1, "RUNNING");
    let before = std::fs::read_to_string(works.machine.repo().join("windlass.toml")).unwrap();

    works.machine.commit_config(&before.replace("parallel = 1\n", "parallel = 0\n"));
    let refused = log.wait("a refusal", |event| event["kind"] == "config_refused");
    let why = refused["data"]["why"].as_str().unwrap();
    assert!(why.contains("`dispatch.parallel` must be at least 1"), "{why}");
    let kept = before.replace("parallel = 1\n", "parallel = 2\n").replace("\"true\"", "\"exit 0\"");
    works.machine.commit_config(&kept);
    let taken = log.wait("the edit", |event| event["kind"] == "config_taken");
    assert_eq!(taken["data"], json!({"taken": ["dispatch.parallel"], "waiting": ["ci.command"]}));
    log.wait_merged(2);
    let status = works.machine.json(&["status"]);
    assert_eq!((&status["config"]["refused"], &status["working"]["slots"]), (&Value::Null, &json!(2)));
    assert_eq!(status["config"]["waiting"], json!(["ci.command"]));
    assert!(works.must(&["status"]).contains("ci.command hold after"));

    // A file that was there at the start may also go away.
    works.machine.write("windlass.local.toml", "[dispatch]\nparallel = \"two\"\n");
    log.wait("another refusal", |event| event["kind"] == "config_refused" && event["seq"] != refused["seq"]);
    std::fs::remove_file(works.machine.repo().join("windlass.local.toml")).unwrap();
    log.wait("the way back", |event| event["kind"] == "config_taken" && event["seq"] != taken["seq"]);
    std::fs::write(works.machine.path("go"), "").unwrap();
    log.wait_merged(1);
    works.down();

    works.up();
    log.wait("the next start", |event| event["kind"] == "daemon_started" && event["data"]["epoch"] == 2);
    assert_eq!(works.machine.json(&["status"])["config"]["waiting"], json!([]), "a start takes all");
    works.down();
}

#[test]
fn status_says_that_an_edit_was_refused() {
    let mut works = crew(&config("true", ""), APPROVES, &[]);
    works.up();
    let mut log = works.log();
    log.wait("the start", |event| event["kind"] == "daemon_started");
    works.machine.write_user_config("[budget]\nper_issue_usd = \"much\"\n");
    log.wait("a refusal", |event| event["kind"] == "config_refused");
    let said = works.must(&["status"]);
    assert!(
        said.contains("CONFIG: the last good one holds") && said.contains("config.toml`, line 2"),
        "{said}"
    );
    assert_eq!(said.matches("line 2").count(), 1, "it is said once: {said}");
    assert_eq!(works.machine.json(&["status"])["working"]["slots"], 12);
    works.must(&["queue"]);
    works.machine.fails(&["config", "check"], "config", 9);
    works.machine.write_user_config("");
    log.wait("the way back", |event| event["kind"] == "config_taken");
    works.machine.write_user_config("[nonsense]\n");
    works.down();
    works.machine.fails(&["status"], "config", 9);
}

/// A git that fails once is no reason to miss what a person has committed: nobody commits it a second time.
#[test]
fn a_git_that_fails_is_asked_again() {
    let mut works = crew(&config("true", ""), APPROVES, &[]);
    let bin = works.machine.path("bin");
    std::fs::create_dir(&bin).unwrap();
    let here = works.machine.path("");
    let path = crate::common::search_path();
    let fails = format!(
        "#!/bin/sh\n[ -e {0}full ] && {{ echo >>{0}failed; echo 'No space left on device' >&2; exit 128; }}\nPATH='{path}' exec git \"$@\"\n",
        here.display()
    );
    std::fs::write(bin.join("git"), fails).unwrap();
    std::fs::set_permissions(bin.join("git"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut daemon = works.machine.command(&["up", "--foreground"]);
    daemon.env("PATH", format!("{}:{path}", bin.display())).stderr(Stdio::null()).stdout(Stdio::null());
    works.adopt(daemon.spawn().unwrap());
    let mut log = works.log();
    log.wait("the start", |event| event["kind"] == "daemon_started");
    let before = std::fs::read_to_string(works.machine.repo().join("windlass.toml")).unwrap();
    works.script("full", "");
    works.machine.commit_config(&before.replace("parallel = 12", "parallel = 11"));
    works.wait_note("failed");
    std::fs::remove_file(works.machine.path("full")).unwrap();
    let taken = log.wait("the edit", |event| event["kind"].as_str().unwrap().starts_with("config_"));
    assert_eq!(taken["kind"], "config_taken", "not to be able to read it is no refusal: {taken}");
    let committed = works.machine.git(&["rev-parse", "main"]).trim().to_owned();
    works.wait_until("the commit to be taken over", || works.git(&["rev-parse", "main"]) == committed);
    works.down();
}
