//! Claude Code in a terminal: the same factory, with a screen that a person can look at and a keyboard to take over.

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;
use windlass_adapters::agent::bridge::terminal::Tmux;
use windlass_adapters::process::find_by_env;
use windlass_adapters::shim::{SESSION_DIR, client};
use windlass_testkit::provider::Step;

use super::kills::{BUSY, begin_with, kill, parent, pid_of_agent, resumed, session_file};
use super::{Lab, TMUX, Wish, lab, one_conversation, ready};
use crate::secrets::{KEY, is_written_nowhere};
use crate::works::Works;

#[test]
fn claude_goes_on_in_the_same_conversation_when_its_tmux_server_is_killed() {
    let Some(lab) = begin_with("claude_goes_on_when_its_tmux_server_is_killed", TMUX) else { return };
    wait_written(&lab);
    // It is the program's parent.
    kill(&parent(&pid_of_agent(&lab)));
    resumed(lab);
}

#[test]
fn claude_in_a_terminal_goes_on_when_its_shim_is_killed() {
    let Some(lab) = begin_with("claude_in_a_terminal_goes_on_when_its_shim_is_killed", TMUX) else { return };
    wait_written(&lab);
    let bridge = parent(&parent(&pid_of_agent(&lab)));
    kill(&parent(&bridge));
    resumed(lab);
}

/// The program writes its memory a moment after it has begun to act; what is killed before that has nothing to resume.
fn wait_written(lab: &Lab) {
    let said = || std::fs::read_to_string(session_file(lab, "transcript.jsonl")).unwrap_or_default();
    lab.works.wait_until("what it does", || said().contains("tool_use"));
}

/// In a terminal and in the middle of its first turn, which goes on with these steps.
fn begin(test: &str, steps: impl IntoIterator<Item = Step>) -> Option<Lab> {
    let tables = "[liveness]\nheartbeat = \"1s\"\n";
    let Lab { mut works, provider } = lab(test, &Wish { keys: TMUX, tables, ..Wish::default() })?;
    provider.script("dev", [Step::bash(BUSY)]);
    provider.script("dev", steps);
    works.new_issue("The answer", "Write the answer down.");
    works.up();
    works.wait_path(&works.session_file("dev-1.1-1", "busy"));
    Some(Lab { works, provider })
}

#[test]
fn odd_messages_arrive_as_they_were_said_and_no_process_is_left() {
    let steps = (0..8).map(|_| Step::say("I hear")).chain([ready("answer", "42"), Step::say("ready")]);
    let Some(lab) = begin("odd_messages_arrive_as_they_were_said", steps) else { return };
    let odd = [
        ("!rm -rf *", "From Windlass:\n!rm -rf *"),
        ("/help me", "From Windlass:\n/help me"),
        ("exit", "From Windlass:\nexit"),
        ("ends in a backslash \\", "ends in a backslash \\"),
        ("ask @nobody", "ask @nobody"),
        (
            "three \"lines\"\n\n  with $HOME, `x` and ünïcödé ✓ 漢字",
            "three \"lines\"\n\n  with $HOME, `x` and ünïcödé ✓ 漢字",
        ),
    ];
    for (nth, (said, _)) in odd.iter().enumerate() {
        client::say(&session_file(&lab, ""), &format!("odd-{nth}"), said).unwrap();
    }
    let long = "a long line, ".repeat(3_000);
    client::say(&session_file(&lab, ""), "long", &long).unwrap();
    std::fs::write(session_file(&lab, "go"), "").unwrap();
    let Lab { mut works, provider } = lab;
    // One for the brief, one for its tool, and one for each message.
    let asked = provider.wait_asked("dev", 2 + odd.len() + 1);
    one_conversation(&asked);
    // Its home is still there.
    is_written_nowhere(&works, KEY);
    let heard = asked.last().unwrap().messages();
    let heard = |text: &str| heard.iter().any(|(role, said)| role == "user" && said.lines().eq(text.lines()));
    for (said, expected) in odd {
        assert!(heard(expected), "`{said}` is not in {:#?}", asked.last().unwrap().messages());
    }
    assert!(asked.last().unwrap().text().contains(long.trim_end()));
    let mut log = works.log();
    log.wait_merged(1);
    let folder = works.session_file("dev-1.1-1", "");
    let folder = folder.canonicalize().unwrap().to_string_lossy().trim_end_matches('/').to_owned();
    works.wait_until("the end of all processes", || find_by_env(SESSION_DIR, &folder).unwrap().is_empty());
    let screen = works.must(&["logs", "--screen", "1"]);
    assert!(screen.contains("From Windlass:"), "what was shown is kept");
    works.down();
}

#[test]
fn a_person_sees_the_terminal_and_takes_it_over() {
    let steps =
        [Step::say("so far"), Step::say("I hear a person"), ready("answer", "42"), Step::say("ready")];
    let Some(lab) = begin("a_person_sees_the_terminal_and_takes_it_over", steps) else { return };
    let Lab { mut works, provider } = lab;
    let looks = Person::attaches(&works, "looks", &["attach", "1"]);
    works.wait_until("the screen", || looks.sees("echo half"));
    looks.types("nobody hears this");
    looks.key("C-c");
    works.wait_until("the end of the look", || looks.is_gone());

    assert!(works.agent("dev-1.1-1")["tmux_session"].as_str().unwrap().ends_with("sessions/dev-1.1-1/tmux"));
    let writes = Person::attaches(&works, "writes", &["attach", "--write", "1"]);
    let mut log = works.log();
    log.wait_kind("keyboard_taken", 1);
    works.wait_until("the screen", || writes.sees("echo half"));
    works.must(&["tell", "1", "Use ISO dates."]);
    std::fs::write(works.session_file("dev-1.1-1", "go"), "").unwrap();
    log.wait("the end of the turn", |event| is_hook(event, "Stop", ""));
    writes.types("somebody types this");
    log.wait("what was typed", |event| is_hook(event, "UserPromptSubmit", "somebody types this"));
    provider.wait_asked("dev", 3);
    writes.key("C-c");
    let returned = log.wait_kind("keyboard_returned", 1);
    assert_eq!(returned["data"]["session"], "dev-1.1-1");
    assert!(!returned["data"]["by"].as_str().unwrap().is_empty());
    let told = log.wait("what was told", |event| is_hook(event, "UserPromptSubmit", "ISO dates"));
    assert!(told["seq"].as_i64() > returned["seq"].as_i64(), "nothing is typed while a person types");
    log.wait_merged(1);
    let asked = provider.asked("dev");
    one_conversation(&asked);
    assert!(!asked.last().unwrap().text().contains("nobody hears"), "{}", asked.last().unwrap().text());
    assert_eq!((log.count("agent_crashed", 1), &works.show(1)["task"]["sessions"]), (0, &1.into()));
    drop((looks, writes));
    works.down();
}

/// Claude Code says nothing of the end of a turn that was interrupted; it is only free.
#[test]
fn a_person_interrupts_claude_with_escape_and_it_goes_on_when_they_have_gone() {
    let Some(lab) = begin("a_person_interrupts_claude", [ready("answer", "42"), Step::say("ready")]) else {
        return;
    };
    let Lab { mut works, provider } = lab;
    let mut log = works.log();
    let writes = Person::attaches(&works, "writes", &["attach", "--write", "1"]);
    works.wait_until("the screen", || writes.sees("echo half"));
    writes.key("Escape");
    works.wait_until("the interruption", || writes.sees("Interrupted"));
    writes.key("C-c");
    let returned = log.wait_kind("keyboard_returned", 1);
    let next = log.wait("the next message", |event| is_hook(event, "UserPromptSubmit", "without a signal"));
    assert!(next["seq"].as_i64() > returned["seq"].as_i64(), "nothing is typed while a person types");
    log.wait_merged(1);
    let asked = provider.asked("dev");
    one_conversation(&asked);
    assert!(asked.last().unwrap().text().contains("interrupted by user"), "{}", asked.last().unwrap().text());
    assert_eq!((log.count("agent_crashed", 1), &works.show(1)["task"]["sessions"]), (0, &1.into()));
    drop(writes);
    works.down();
}

#[test]
fn a_person_whose_terminal_is_closed_has_given_the_keyboard_back() {
    let steps = [Step::say("so far"), ready("answer", "42"), Step::say("ready")];
    let Some(lab) = begin("a_person_whose_terminal_is_closed", steps) else { return };
    let Lab { mut works, provider } = lab;
    let mut log = works.log();
    let writes = Person::attaches(&works, "writes", &["attach", "--write", "1"]);
    works.wait_until("the screen", || writes.sees("echo half"));
    drop(writes);
    log.wait_kind("keyboard_returned", 1);
    works.must(&["tell", "1", "Use ISO dates."]);
    std::fs::write(works.session_file("dev-1.1-1", "go"), "").unwrap();
    log.wait_merged(1);
    assert!(provider.asked("dev").last().unwrap().text().contains("Use ISO dates."));
    assert_eq!((log.count("keyboard_taken", 1), log.count("keyboard_returned", 1)), (1, 1));
    works.down();
}

/// Nobody is left to say that they type no more, and their terminal stays open.
#[test]
fn a_person_whose_program_is_killed_has_given_the_keyboard_back() {
    let steps = [Step::say("so far"), ready("answer", "42"), Step::say("ready")];
    let Some(lab) = begin("a_person_whose_program_is_killed", steps) else { return };
    let Lab { mut works, provider } = lab;
    let mut log = works.log();
    let shell = r#"sh -c 'echo $$ > $HOME/pid; exec "$@"' sh "$@"; exec tail -f /dev/null"#;
    let writes = Person::sits(&works, "writes", &["sh", "-c", shell, "sh"], &["attach", "--write", "1"]);
    works.wait_until("the screen", || writes.sees("echo half"));
    log.wait_kind("keyboard_taken", 1);
    // The next daemon knows it from the store.
    works.kill();
    kill(std::fs::read_to_string(works.machine.path("home/pid")).unwrap().trim());
    let tmux = Tmux::new(&works.session_file("dev-1.1-1", ""));
    works.wait_until("the end of the look", || tmux.viewers().unwrap().is_empty());
    assert!(!writes.is_gone());
    works.up();
    let returned = log.wait_kind("keyboard_returned", 1);
    assert_eq!(returned["data"]["session"], "dev-1.1-1");
    works.order(&["tell", "1", "Use ISO dates."]);
    std::fs::write(works.session_file("dev-1.1-1", "go"), "").unwrap();
    log.wait_merged(1);
    assert!(provider.asked("dev").last().unwrap().text().contains("Use ISO dates."));
    assert_eq!((log.count("keyboard_taken", 1), log.count("keyboard_returned", 1)), (1, 1));
    drop(writes);
    works.down();
}

/// Whoever has typed nothing for five minutes: their clock says that these have passed.
#[test]
fn a_person_who_has_gone_away_loses_the_keyboard() {
    if !std::path::Path::new("/usr/bin/faketime").exists() {
        assert!(std::env::var("CI").is_err(), "faketime is missing, and nothing may be skipped");
        println!("SKIPPED a_person_who_has_gone_away_loses_the_keyboard: faketime is missing");
        return;
    }
    let steps = [ready("answer", "42"), Step::say("ready")];
    let Some(lab) = begin("a_person_who_has_gone_away_loses_the_keyboard", steps) else { return };
    let Lab { mut works, .. } = lab;
    let mut log = works.log();
    let away = Person::sits(&works, "away", &["faketime", "-f", "+6m"], &["attach", "--write", "1"]);
    log.wait_kind("keyboard_returned", 1);
    works.wait_until("the end of the look", || away.is_gone());
    drop(away);
    std::fs::write(works.session_file("dev-1.1-1", "go"), "").unwrap();
    log.wait_merged(1);
    works.down();
}

fn is_hook(event: &Value, hook: &str, detail: &str) -> bool {
    let data = &event["data"];
    event["kind"] == "agent_hook"
        && data["hook"] == hook
        && data["detail"].as_str().unwrap_or_default().contains(detail)
}

/// Somebody at a terminal of their own, which is a tmux as well.
struct Person {
    socket: PathBuf,
    repo: PathBuf,
}

impl Person {
    fn attaches(works: &Works, name: &str, args: &[&str]) -> Self {
        Self::sits(works, name, &[], args)
    }

    /// With a program around ours.
    fn sits(works: &Works, name: &str, around: &[&str], args: &[&str]) -> Self {
        let machine = &works.machine;
        let person = Self { socket: machine.path(name), repo: machine.repo() };
        let set = |key: &str, value: &std::path::Path| format!("{key}={}", value.display());
        let (home, state) =
            (set("HOME", &machine.path("home")), set("XDG_STATE_HOME", &machine.path("state")));
        let path = format!("PATH={}", crate::common::search_path());
        let mut all = vec!["new-session", "-d", "-x", "170", "-y", "55", "env", "-i", &home, &state, &path];
        all.extend(["TERM=tmux-256color", "LANG=C.UTF-8"]);
        all.extend(around);
        all.push(env!("CARGO_BIN_EXE_windlass"));
        all.extend(args);
        assert!(person.tmux(&all).is_some(), "no terminal");
        person
    }

    fn types(&self, text: &str) {
        assert!(self.tmux(&["send-keys", "-l", text]).is_some());
        self.key("Enter");
    }

    fn key(&self, key: &str) {
        assert!(self.tmux(&["send-keys", key]).is_some());
    }

    fn sees(&self, text: &str) -> bool {
        self.tmux(&["capture-pane", "-p"]).is_some_and(|screen| screen.contains(text))
    }

    fn is_gone(&self) -> bool {
        self.tmux(&["has-session"]).is_none()
    }

    fn tmux(&self, args: &[&str]) -> Option<String> {
        let mut command = Command::new("tmux");
        command.args(["-f", "/dev/null", "-S"]).arg(&self.socket).args(args);
        command.current_dir(&self.repo).env_remove("TMUX");
        let done = command.output().unwrap();
        done.status.success().then(|| String::from_utf8_lossy(&done.stdout).into_owned())
    }
}

impl Drop for Person {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}
