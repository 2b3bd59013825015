//! SIGKILL in the middle of a turn: whoever is killed, the same conversation goes on.

use std::process::Command;

use windlass_testkit::provider::Step;

use super::{Lab, Wish, lab, one_conversation, ready};

/// Shows that the turn is under way, and does not end by itself.
pub const BUSY: &str = "echo half > half && git add half && git commit -q -m half && echo $PPID > $WINDLASS_SESSION_DIR/busy.tmp && mv $WINDLASS_SESSION_DIR/busy.tmp $WINDLASS_SESSION_DIR/busy && \
                    until [ -e $WINDLASS_SESSION_DIR/go ]; do python3 -c 'import time; time.sleep(0.02)'; done";

pub fn begin(test: &str) -> Option<Lab> {
    begin_with(test, "")
}

/// The same with further keys for the worker.
pub fn begin_with(test: &str, keys: &str) -> Option<Lab> {
    let Lab { mut works, provider } = lab(test, &Wish { keys, ..Wish::default() })?;
    provider.script("dev", [Step::bash(BUSY), ready("answer", "42"), Step::say("ready")]);
    works.new_issue("The answer", "Write the answer down.");
    works.up();
    works.wait_path(&works.machine.state().join("sessions/dev-1.1-1/busy"));
    Some(Lab { works, provider })
}

pub fn kill(pid: &str) {
    assert!(Command::new("kill").args(["-KILL", pid]).status().unwrap().success());
}

pub fn session_file(lab: &Lab, name: &str) -> std::path::PathBuf {
    lab.works.session_file("dev-1.1-1", name)
}

pub fn pid_of_agent(lab: &Lab) -> String {
    std::fs::read_to_string(session_file(lab, "busy")).unwrap().trim().to_owned()
}

pub fn parent(pid: &str) -> String {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    stat.rsplit_once(')').unwrap().1.split_whitespace().nth(1).unwrap().to_owned()
}

/// A successor has resumed the conversation of the one that was killed.
pub fn resumed(mut lab: Lab) {
    let mut log = lab.works.log();
    log.wait_merged(1);
    assert_eq!(lab.works.git(&["show", "main:half", "main:answer"]), "half\n42");
    let asked = lab.provider.asked("dev");
    let name = one_conversation(&asked);
    let text = asked[1].text();
    assert!(text.contains("Your process was lost in the middle of a turn"), "{text}");
    assert_eq!(text.matches("Write the answer down.").count(), 1, "the issue is said once: {text}");
    lab.works.down();
    let (first, second) = (lab.works.agent("dev-1.1-1"), lab.works.agent("dev-1.1-2"));
    assert_eq!((first["session_id"].as_str(), second["session_id"].as_str()), (Some(&*name), Some(&*name)));
    assert_eq!(second["predecessor_id"], "dev-1.1-1");
    let homes = ["dev-1.1-1", "dev-1.1-2"].map(|name| lab.works.session_file(name, "home"));
    assert!(!homes[0].exists() && !homes[1].exists(), "nobody resumes what is merged");
}

#[test]
fn a_killed_claude_goes_on_in_the_same_conversation() {
    let Some(lab) = begin("a_killed_claude_goes_on_in_the_same_conversation") else { return };
    let agent = pid_of_agent(&lab);
    kill(&agent);
    resumed(lab);
}

#[test]
fn claude_goes_on_in_the_same_conversation_when_its_shim_is_killed() {
    let Some(lab) = begin("claude_goes_on_when_its_shim_is_killed") else { return };
    kill(&parent(&pid_of_agent(&lab)));
    resumed(lab);
}

#[test]
fn claude_does_not_notice_that_the_daemon_is_killed() {
    let Some(mut lab) = begin("claude_does_not_notice_that_the_daemon_is_killed") else { return };
    lab.works.kill();
    lab.works.up();
    std::fs::write(session_file(&lab, "go"), "").unwrap();
    let mut log = lab.works.log();
    log.wait_merged(1);
    assert_eq!(lab.provider.asked("dev").len(), 3);
    one_conversation(&lab.provider.asked("dev"));
    assert_eq!(lab.works.show(1)["task"]["sessions"], 1, "the same session");
    lab.works.down();
}

#[test]
fn claude_that_was_taken_down_goes_on_in_the_same_conversation() {
    let Some(mut lab) = begin("claude_that_was_taken_down") else { return };
    lab.works.down();
    lab.works.up();
    resumed(lab);
}

#[test]
fn claude_begins_anew_when_its_conversation_is_lost() {
    let Some(lab) = begin("claude_begins_anew_when_its_conversation_is_lost") else { return };
    let agent = pid_of_agent(&lab);
    std::fs::remove_dir_all(session_file(&lab, "home/.claude/projects")).unwrap();
    kill(&agent);
    let Lab { mut works, provider } = lab;
    let mut log = works.log();
    log.wait_merged(1);
    let asked = provider.asked("dev");
    assert_ne!(asked[0].conversation(), asked[1].conversation());
    let text = asked[1].text();
    for words in ["Write the answer down.", "Resume from phase: ", "+half"] {
        assert!(text.contains(words), "`{words}` is not in {text}");
    }
    assert_eq!(works.show(1)["task"]["restarts"], 1, "a lost conversation is no crash of its own");
    works.down();
}
