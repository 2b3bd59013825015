//! What is read of the logs: from where, by whom, and until when.

use std::io::Write;

use serde_json::Value;
use windlass_core::id::IssueNumber;
use windlass_core::task::State;
use windlass_store::{Op, SqliteStore, Store};

use crate::common::Machine;
use crate::memory::{filled, now, save, sha, write};

/// Two things in one line, and one in the next.
const FIRST: &str = concat!(
    r#"{"type":"assistant","message":{"content":[{"type":"text","text":"I look"},"#,
    r#"{"type":"tool_use","name":"Read","input":{"path":"a"}}]}}"#,
    "\n",
    r#"{"type":"text","text":"Überall 🦀"}"#,
    "\n"
);
const SECOND: &str = "{\"type\":\"text\",\"text\":\"I take over\"}\n";

fn texts(lines: &[Value]) -> Vec<&str> {
    lines.iter().map(|line| line["text"].as_str().unwrap()).collect()
}

fn lines(machine: &Machine, args: &[&str]) -> Vec<Value> {
    let ran = machine.run(&[&["logs", "--json"], args].concat());
    assert_eq!(ran.code, 0, "{args:?}: {ran:?}");
    ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn change(store: &SqliteStore, change: impl FnOnce(&mut windlass_core::task::Task)) {
    let mut task = store.newest_task_of(IssueNumber(1)).unwrap().unwrap();
    change(&mut task.value);
    save(store, vec![Op::SaveTask { task: task.value, expected: task.version, wake_at: None, at: now() }]);
}

/// A second session has taken over.
fn two_sessions(machine: &Machine) -> SqliteStore {
    let store = filled(machine);
    write(&machine.state().join("sessions/dev-1.1-1/transcript.jsonl"), FIRST);
    write(&machine.state().join("sessions/dev-1.1-2/transcript.jsonl"), SECOND);
    change(&store, |task| {
        task.sessions = 2;
        task.session = windlass_core::id::SessionId::dev(&task.id, 2);
    });
    store
}

#[test]
fn a_reader_goes_on_after_any_line_that_it_has_read() {
    let machine = Machine::with_project();
    let store = two_sessions(&machine);
    let all = lines(&machine, &["1", "--since", "dev-1.1-1:0"]);
    assert_eq!(texts(&all), ["I look", "Read a", "Überall 🦀", "I take over"]);
    for (nth, line) in all.iter().enumerate() {
        let place = format!("{}:{}", line["source"].as_str().unwrap(), line["seq"]);
        assert_eq!(lines(&machine, &["1", "--since", &place]), all[nth + 1..], "after {place}");
    }
    assert_eq!(all[2]["seq"], FIRST.len(), "it is counted in bytes");
    assert_eq!(lines(&machine, &["1"]), all[3..], "without a place, the newest source alone");
    assert_eq!(lines(&machine, &["1", "--since", "0"]), all[3..]);
    let raw = machine.run(&["logs", "1", "--raw", "--since", "dev-1.1-1:0"]).out;
    assert_eq!(raw, format!("{FIRST}{SECOND}"));
    assert_eq!(machine.run(&["logs", "1", "--since", "0"]).out, "say    I take over\n");
    drop(store);
}

#[test]
fn a_place_that_is_none_is_told() {
    let machine = Machine::with_project();
    let store = two_sessions(&machine);
    for place in ["100000", "dev-1.1-1:100000", "dev-7.1-1:0", ":5"] {
        machine.fails(&["logs", "1", "--since", place], "not-found", 3);
    }
    for args in [
        &["logs", "1", "--since", "1h"][..],
        &["logs", "1", "--since", "-1"],
        &["logs", "1", "--since", "0", "--tail", "3"],
        &["logs", "1", "--since", "0", "--screen"],
    ] {
        assert_eq!(machine.run(args).code, 2, "{args:?}");
    }
    drop(store);
}

#[test]
fn builds_and_the_daemon_are_resumed_too() {
    let machine = Machine::with_project();
    let store = filled(&machine);
    write(&machine.state().join("builds/b-1/log"), "compiling\nred\n");
    write(&machine.state().join("daemon.log"), "one\ntwo\n");
    assert_eq!(texts(&lines(&machine, &["--ci", "3", "--since", "b-1:10"])), ["red"]);
    assert_eq!(texts(&lines(&machine, &["--since", "daemon:4"])), ["two"]);
    assert_eq!(texts(&lines(&machine, &["--since", "4"])), ["two"]);
    drop(store);
}

#[test]
fn following_reads_a_session_to_its_end_before_its_successor_and_ends_with_the_task() {
    let machine = Machine::with_project();
    let store = two_sessions(&machine);
    change(&store, |task| task.state = State::Merged { commit: sha('f') });
    let ran = machine.run(&["logs", "-f", "1", "--since", "dev-1.1-1:0"]);
    assert_eq!(
        (ran.code, ran.out.as_str()),
        (0, "say    I look\ntool   Read a\nsay    Überall 🦀\nsay    I take over\n")
    );
    drop(store);
}

#[test]
fn only_what_has_a_text_in_it_is_shown() {
    let machine = Machine::with_project();
    let store = two_sessions(&machine);
    let first = ["1", "--since", "dev-1.1-1:0", "--grep"];
    let found = |text| lines(&machine, &[&first[..], &[text]].concat());
    assert_eq!(texts(&found("I ")), ["I look", "I take over"]);
    assert_eq!(texts(&found("ÜBER")), ["Überall 🦀"], "in capitals or not");
    assert_eq!(found("tool_use"), Vec::<Value>::new(), "what is not shown is not looked through");
    let raw = machine.run(&["logs", "1", "--raw", "--since", "dev-1.1-1:0", "--grep", "tool_use"]).out;
    assert_eq!(Some(raw.trim_end()), FIRST.lines().next(), "but as it was written it is");
    change(&store, |task| task.state = State::Merged { commit: sha('f') });
    let followed = machine.run(&["logs", "-f", "1", "--since", "dev-1.1-1:0", "--grep", "take"]);
    assert_eq!((followed.code, followed.out.as_str()), (0, "say    I take over\n"));
    let none = machine.run(&["logs", "1", "--grep", "no such thing"]);
    assert_eq!((none.code, none.out.as_str()), (0, ""));
    assert_eq!(none.err, "dev-1.1-2 has said nothing like it yet\n");
    drop(store);
}

#[test]
fn the_last_lines_that_have_a_text_are_found_however_far_back_they_are() {
    let machine = Machine::with_project();
    let store = filled(&machine);
    let mut log = "Failed: one\nfailed: two\nFAILED: three\n".to_owned();
    log.push_str(&"fine\n".repeat(2_000_000));
    write(&machine.state().join("builds/b-1/log"), &log);
    let last = |n| machine.run(&["logs", "3", "--ci", "--grep", "failed", "--tail", n]).out;
    assert_eq!(last("2"), "failed: two\nFAILED: three\n");
    assert_eq!(last("0"), "");
    for args in [&["logs", "1", "--grep", ""][..], &["logs", "1", "--grep", "x", "--screen"]] {
        assert_eq!(machine.run(args).code, 2, "{args:?}");
    }
    drop(store);
}

#[test]
fn following_a_log_ends_with_the_task() {
    let machine = Machine::with_project();
    let store = filled(&machine);
    let path = machine.state().join("sessions/dev-1.1-1/transcript.jsonl");
    write(&path, "{\"type\":\"text\",\"text\":\"one\"}\n");
    let mut command = machine.command(&["logs", "-f", "1"]);
    let child = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut file = std::fs::OpenOptions::new().append(true).open(&path).unwrap();
    file.write_all(b"{\"type\":\"text\",\"text\":\"two\"}\n").unwrap();
    let mut ended = store.newest_task_of(IssueNumber(1)).unwrap().unwrap();
    ended.value.state = State::Merged { commit: sha('f') };
    save(&store, vec![Op::SaveTask { task: ended.value, expected: ended.version, wake_at: None, at: now() }]);
    let done = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&done.stdout), "say    one\nsay    two\n");
    assert!(done.status.success());
}
