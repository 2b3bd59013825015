//! The work phase as it is seen in Claude Code's tools, and what a successor makes of it.

use std::path::Path;

use serde_json::{Value, json};
use windlass_testkit::provider::Step;

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
    go(&works, "one");
    phase(&works, "implementation");
    let hook = works.record("dev-1.1-1", "hook.json");
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
fn ac_2_3_and_2_4_a_killed_claude_goes_on_in_its_phase_and_investigates_nothing_twice() {
    let steps = |workspace: &str| {
        let write = Step::write(&format!("{workspace}/answer"), "42");
        vec![read(workspace), write, wait_for("never"), ready("page", "about the answer"), Step::say("ready")]
    };
    let Some(Lab { mut works, provider }) = begin("ac_2_3_and_2_4", "", steps) else { return };
    works.wait_path(&works.session_file("dev-1.1-1", "at-never"));
    works
        .wait_until("the phase", || works.record("dev-1.1-1", "hook.json")["work_phase"] == "implementation");
    kill("KILL", &works.agent("dev-1.1-1")["pid"].to_string());
    let mut log = works.log();
    log.wait_merged(1);
    let asked = provider.asked("dev");
    let text = asked[3].text();
    assert!(text.contains("Resume from phase: implementation, last working on: The answer"), "{text}");
    let read = |part: &&Value| part["type"] == "tool_use" && part["name"] == "Read";
    let last = asked.last().unwrap().body["messages"].as_array().unwrap().clone();
    let reads =
        last.iter().filter_map(|message| message["content"].as_array()).flatten().filter(read).count();
    assert_eq!(reads, 1, "what was read before is remembered");
    assert_eq!(works.git(&["show", "main:answer"]), "42", "what lay in the workspace is not lost");
    works.down();
}
