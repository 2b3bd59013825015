//! `windlass bridge` with a terminal, and a program in it that is no agent: how it ends when things do not go well.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Stdio};

use serde_json::{Value, json};
use windlass_adapters::shim::SESSION_DIR;
use windlass_testkit::real::has_tmux;

use crate::common::Machine;

/// Says that it is free, and takes whatever is typed without a word.
const DEAF: &str = "echo '{\"status\":\"idle\"}' > $HOME/.claude/sessions/$$.json; exec cat > /dev/null";

/// A bridge to a program that is this script.
struct Bridge {
    child: Child,
    input: Option<ChildStdin>,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl Bridge {
    fn start(machine: &Machine, script: &str, conversation: &Value) -> Self {
        let [folder, home] = ["session", "home"].map(|name| machine.path(name));
        std::fs::create_dir_all(&folder).unwrap();
        let told = json!({"terminal": {
            "argv": ["sh", "-c", script], "conversation": conversation,
            "folder": folder, "home": home, "workspace": machine.repo(),
        }});
        let mut command = machine.command(&["bridge", &told.to_string()]);
        command.env(SESSION_DIR, &folder).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let input = child.stdin.take();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, input, lines }
    }

    fn say(&mut self, text: &str) {
        let line = json!({"type": "user", "message": {"content": [{"type": "text", "text": text}]}});
        writeln!(self.input.as_mut().unwrap(), "{line}").unwrap();
    }

    /// The end of the turn.
    fn result(&mut self) -> Value {
        let lines = self.lines.by_ref().map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
        lines.into_iter().find(|line| line["type"] == "result").expect("a turn that ends")
    }

    fn end(mut self) -> Option<i32> {
        drop(self.input.take());
        self.child.wait().unwrap().code()
    }
}

#[test]
fn a_message_that_the_program_does_not_take_fails_the_turn_and_the_end_of_the_input_ends_the_program() {
    if !has_tmux("a_message_that_the_program_does_not_take") {
        return;
    }
    let machine = Machine::new();
    let mut bridge = Bridge::start(&machine, DEAF, &json!({"new": "c-1"}));
    bridge.say("hello there");
    let result = bridge.result();
    assert_eq!(
        (&result["is_error"], &result["terminal_reason"]),
        (&true.into(), &"message_not_taken".into())
    );
    assert_eq!(bridge.end(), Some(0));
    assert!(!machine.path("session/tmux").exists(), "the server is gone, and its socket too");
}

#[test]
fn a_conversation_that_is_not_there_is_lost_and_no_terminal_is_opened_for_it() {
    let machine = Machine::new();
    let mut bridge = Bridge::start(&machine, "exit 1", &json!({"resumed": "c-1"}));
    bridge.say("go on");
    let result = bridge.result();
    assert_eq!(result["result"], "No conversation found with session ID: c-1");
    assert_eq!(bridge.end(), Some(0));
}

#[test]
fn a_conversation_that_the_program_does_not_take_up_is_lost() {
    if !has_tmux("a_conversation_that_the_program_does_not_take_up_is_lost") {
        return;
    }
    let machine = Machine::new();
    let project = machine.path("home/.claude/projects/x");
    std::fs::create_dir_all(&project).unwrap();
    // It was killed before it had written a message down.
    std::fs::write(project.join("c-1.jsonl"), "{\"type\":\"mode\"}\n").unwrap();
    let mut bridge = Bridge::start(&machine, "exit 1", &json!({"resumed": "c-1"}));
    bridge.say("go on");
    assert_eq!(bridge.result()["result"], "No conversation found with session ID: c-1");
    assert_eq!(bridge.end(), Some(0), "as for one that is not there");
}

#[test]
fn the_end_of_the_program_is_noticed_at_once_and_is_a_failure() {
    if !has_tmux("the_end_of_the_program_is_noticed") {
        return;
    }
    let machine = Machine::new();
    let waits = "until [ -e $HOME/go ]; do sleep 0.02; done; exit 0";
    let mut bridge = Bridge::start(&machine, waits, &json!({"new": "c-1"}));
    bridge.say("hello there");
    std::fs::write(machine.path("home/go"), "").unwrap();
    // Its input stays open: nobody has let go.
    assert_eq!(bridge.child.wait().unwrap().code(), Some(1));
}
