//! The work phase as it is seen in Claude Code's tools, and what a successor makes of it.

use std::path::Path;

use serde_json::json;
use windlass_testkit::provider::{Asked, Step};

use super::{Lab, TMUX, Wish, lab, ready};
use crate::recovery::kill;
use crate::works::Works;

/// Stays in the middle of the turn until the file is there.
fn wait_for(name: &str) -> Step {
    Step::bash(&format!(
        "touch $WINDLASS_SESSION_DIR/at-{name}; until [ -e $WINDLASS_SESSION_DIR/{name} ]; do python3 -c 'import time; time.sleep(0.02)'; done"
    ))
}

fn go(works: &Works, name: &str) {
    std::fs::write(works.session_file("dev-1.1-1", name), "").unwrap();
}

fn workspace(works: &Works) -> String {
    works.machine.state().join("workspaces/1.1").to_string_lossy().into_owned()
}

fn begin(test: &str, keys: &str, steps: impl FnOnce(&str) -> Vec<Step>) -> Option<Lab> {
    let Lab { mut works, provider } = lab(test, &Wish { keys, ..Wish::default() })?;
    provider.script("dev", steps(&workspace(&works)));
    works.new_issue("The answer", "Write the answer down.");
    works.up();
    Some(Lab { works, provider })
}

fn read(workspace: &str) -> Step {
    Step::tool("Read", json!({"file_path": Path::new(workspace).join("README")}))
}

/// The promise is 30 s from a change of phase to its record.
const FOLLOWED_WITHIN_MS: i64 = 30_000;

fn now() -> i64 {
    jiff::Timestamp::now().as_millisecond()
}

#[test]
fn ac_2_2_the_hook_follows_the_phases_that_claude_is_seen_in() {
    is_followed("ac_2_2", "");
}

#[test]
fn ac_2_2_the_hook_follows_claude_in_a_terminal() {
    is_followed("ac_2_2_in_a_terminal", TMUX);
}

fn is_followed(test: &str, keys: &str) {
    let steps = |workspace: &str| {
        let test = "./test; until [ -e $WINDLASS_SESSION_DIR/three ]; do python3 -c 'import time; time.sleep(0.02)'; done";
        vec![
            read(workspace),
            wait_for("one"),
            Step::write(&format!("{workspace}/answer"), "41"),
            wait_for("two"),
            Step::bash(test),
            ready("answer", "42"),
            Step::say("ready"),
        ]
    };
    let Some(Lab { mut works, .. }) = begin(test, keys, steps) else { return };
    let phase = |works: &Works, wanted: &str| {
        works.wait_until(wanted, || works.record("dev-1.1-1", "hook.json")["work_phase"] == wanted);
    };
    // Before its first tool the hook knows no more than the state of the task.
    works.wait_path(&works.session_file("dev-1.1-1", "at-one"));
    phase(&works, "investigation");
    let begun = now();
    go(&works, "one");
    phase(&works, "implementation");
    let hook = works.record("dev-1.1-1", "hook.json");
    let took = hook["last_checkpoint_at"].as_i64().unwrap() - begun;
    assert!((0..=FOLLOWED_WITHIN_MS).contains(&took), "{took} ms");
    assert_eq!(hook["files_modified"], json!(["answer"]), "{hook}");
    go(&works, "two");
    phase(&works, "testing");
    go(&works, "three");
    let mut log = works.log();
    log.wait_merged(1);
    phase(&works, "merged");
    works.down();
}

#[test]
fn ac_2_3_a_killed_claude_is_told_its_phase_and_what_it_worked_on() {
    let Some((works, asked)) = killed_in_the_middle("ac_2_3") else { return };
    let text = asked[3].text();
    assert!(text.contains("Resume from phase: implementation, last working on: The answer"), "{text}");
    assert_eq!(works.git(&["show", "main:answer"]), "42", "what lay in the workspace is not lost");
}

#[test]
fn ac_2_4_a_killed_claude_investigates_nothing_twice() {
    let Some((_works, asked)) = killed_in_the_middle("ac_2_4") else { return };
    let reads = asked.last().unwrap().tools().into_iter().filter(|tool| tool["name"] == "Read").count();
    assert_eq!(reads, 1, "what was read before is remembered");
}

/// All that was asked for an issue whose session was killed when it had read and written; the factory is down.
fn killed_in_the_middle(test: &str) -> Option<(Works, Vec<Asked>)> {
    let steps = |workspace: &str| {
        let write = Step::write(&format!("{workspace}/answer"), "42");
        vec![read(workspace), write, wait_for("never"), ready("page", "about the answer"), Step::say("ready")]
    };
    let Lab { mut works, provider } = begin(test, "", steps)?;
    works.wait_path(&works.session_file("dev-1.1-1", "at-never"));
    works
        .wait_until("the phase", || works.record("dev-1.1-1", "hook.json")["work_phase"] == "implementation");
    kill("KILL", &works.agent("dev-1.1-1")["pid"].to_string());
    works.log().wait_merged(1);
    works.down();
    Some((works, provider.asked("dev")))
}
