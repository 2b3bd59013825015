//! `windlass attach`: one who watches sees what the live agent says, ends with the task, and ends nothing by letting go.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use windlass_core::id::IssueNumber;
use windlass_core::task::State;
use windlass_store::{Op, SqliteStore, Store, Write as Page};

use crate::common::Machine;
use crate::memory::{daemon, identity, now, sha, task};
use crate::top::Terminal;

/// Issue 1 is worked on by an agent that has said 1,200 lines, issue 2 waits, and issue 3 is merged.
fn works(machine: &Machine) -> SqliteStore {
    for n in 1..=3 {
        assert_eq!(machine.run(&["new", &format!("task {n}")]).code, 0);
    }
    let store = daemon(machine);
    let (running, merged) =
        (task(1, State::Running { heard: None }), task(3, State::Merged { commit: sha('e') }));
    let mut ops = vec![Op::SaveIdentity(identity(&running)), Op::SaveIdentity(identity(&merged))];
    ops.extend([running, merged].map(|task| Op::InsertTask { task, wake_at: None }));
    store.commit(Page::from(ops)).unwrap();
    let folder = machine.state().join("sessions/dev-1.1-1");
    std::fs::create_dir_all(&folder).unwrap();
    let said: String = (1..=1_200).map(said).collect();
    std::fs::write(folder.join("transcript.jsonl"), said).unwrap();
    store
}

fn said(nth: u32) -> String {
    format!("{{\"type\":\"text\",\"text\":\"line {nth}\"}}\n")
}

fn attach(machine: &Machine, args: &[&str]) -> Child {
    let mut command = machine.command(&[&["attach"], args].concat());
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

#[test]
fn the_agent_is_followed_from_its_last_thousand_lines_to_the_end_of_the_task() {
    let machine = Machine::with_project();
    let store = works(&machine);
    let mut child = attach(&machine, &["1", "--json"]);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next = || serde_json::from_str::<Value>(&lines.next().unwrap().unwrap()).unwrap();
    let first = next();
    assert_eq!((&first["schema"], &first["source"]), (&"windlass.log/1".into(), &"dev-1.1-1".into()));
    assert_eq!((&first["kind"], &first["text"]), (&"say".into(), &"line 201".into()));
    for nth in 202..=1_200 {
        assert_eq!(next()["text"], format!("line {nth}"));
    }
    let path = machine.state().join("sessions/dev-1.1-1/transcript.jsonl");
    let mut file = std::fs::OpenOptions::new().append(true).open(path).unwrap();
    file.write_all(said(1_201).as_bytes()).unwrap();
    assert_eq!(next()["text"], "line 1201");
    let mut ended = store.newest_task_of(IssueNumber(1)).unwrap().unwrap();
    ended.value.state = State::Merged { commit: sha('f') };
    let save = Op::SaveTask { task: ended.value, expected: ended.version, wake_at: None, at: now() };
    store.commit(Page::from(vec![save])).unwrap();
    assert!(lines.next().is_none(), "the task has ended, and with it what is watched");
    let done = child.wait_with_output().unwrap();
    let heading = String::from_utf8(done.stderr).unwrap();
    assert_eq!(done.status.code(), Some(0), "{heading}");
    // Nobody holds the lock of a session that the test has made up.
    assert!(heading.starts_with("watching dev-1.1-1 (#1), ✗ dead, seen "), "{heading}");
}

#[test]
fn ctrl_c_lets_go_and_ends_nothing() {
    let machine = Machine::with_project();
    let store = works(&machine);
    let mut child = attach(&machine, &["1"]);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "say    line 201");
    kill_process(Pid::from_raw(child.id().cast_signed()).unwrap(), Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let state = store.newest_task_of(IssueNumber(1)).unwrap().unwrap().value.state;
    assert_eq!(state, State::Running { heard: None });
    assert!(store.waiting_commands().unwrap().is_empty(), "and nobody was asked for anything");
}

#[test]
fn who_is_not_at_work_cannot_be_watched_and_who_has_no_terminal_cannot_be_typed_to() {
    let machine = Machine::with_project();
    let store = works(&machine);
    let waits = machine.fails(&["attach", "2"], "no-task", 3);
    assert!(waits.err.contains("next  windlass why 2"), "{}", waits.err);
    let merged = machine.fails(&["attach", "3"], "not-found", 3);
    assert!(
        merged.err.contains("its task is MERGED") && merged.err.contains("windlass why 3"),
        "{}",
        merged.err
    );
    machine.fails(&["attach", "99"], "not-found", 3);
    let typed = machine.fails(&["attach", "--write", "1"], "headless", 7);
    assert!(
        typed.err.contains("without a terminal") && typed.err.contains("windlass tell 1"),
        "{}",
        typed.err
    );
    drop(store);
}

/// The agent's terminal is shown by tmux itself; the time of one who looks at it is over all the same.
#[test]
fn who_looks_at_a_terminal_is_let_go_when_their_time_is_over() {
    let machine = Machine::with_project();
    let store = works(&machine);
    let Some(person) = Terminal::start(&machine, "attach 1 --timeout 1s", 100) else { return };
    // There is no terminal of the agent yet: its transcript is followed for as long.
    person.shows("line 1200");
    person.shows("ended with 8");
    drop(person);
    let socket = machine.state().join("sessions/dev-1.1-1/tmux");
    let agent = Terminal::open(socket, "windlass", "echo at work; exec cat", 100);
    let person = Terminal::start(&machine, "attach 1 --timeout 3s", 100).unwrap();
    person.shows("at work");
    person.shows("ended with 8");
    assert_eq!(agent.tmux(&["list-clients"]), "", "nobody looks any more");
    drop(person);
    let person = Terminal::start(&machine, "attach 1", 100).unwrap();
    person.shows("at work");
    agent.tmux(&["detach-client", "-s", "windlass"]);
    person.shows("ended with 0");
    assert!(agent.shows("at work").contains("at work"), "and the agent goes on");
    drop(store);
}
