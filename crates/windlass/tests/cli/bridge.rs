//! `windlass bridge` with a terminal, and a program in it that is no agent: how it ends when things do not go well.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use windlass_adapters::shim::SESSION_DIR;
use windlass_testkit::faketime;
use windlass_testkit::real::has_tmux;

use crate::common::Machine;
use crate::top::Terminal;

/// Says that it is free, and takes whatever is typed without a word.
const DEAF: &str = "echo '{\"status\":\"idle\"}' > $HOME/.claude/sessions/$$.json; exec cat > /dev/null";

/// How a program says how it is, and which hooks fired.
const TOOLS: &str = r#"
is() { echo "{\"status\":\"$1\"}" > $HOME/.claude/sessions/$$.tmp; mv $HOME/.claude/sessions/$$.tmp $HOME/.claude/sessions/$$.json; }
fires() { echo "{\"at\":0,\"hook\":\"$1\",\"detail\":\"\"}" >> $WINDLASS_SESSION_DIR/hooks.jsonl; }
"#;

/// A bridge to a program that is this script.
struct Bridge {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<Value>,
}

impl Bridge {
    fn start(machine: &Machine, script: &str, conversation: &Value) -> Self {
        Self::start_with(machine, script, conversation, &[])
    }

    /// One for which time goes by ten times as fast. None where that cannot be.
    fn start_fast(machine: &Machine, script: &str) -> Option<Self> {
        let library = faketime::library()?;
        let clock = [("LD_PRELOAD", library.to_str()?), ("FAKETIME", "+0 x10")];
        Some(Self::start_with(machine, &format!("{TOOLS}{script}"), &json!({"new": "c-1"}), &clock))
    }

    fn start_with(machine: &Machine, script: &str, conversation: &Value, env: &[(&str, &str)]) -> Self {
        let [folder, home] = ["session", "home"].map(|name| machine.path(name));
        std::fs::create_dir_all(&folder).unwrap();
        let told = json!({"terminal": {
            "argv": ["sh", "-c", script], "conversation": conversation,
            "folder": folder, "home": home, "workspace": machine.repo(),
        }});
        let mut command = machine.command(&["bridge", &told.to_string()]);
        command
            .envs(env.iter().copied())
            .env(SESSION_DIR, &folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let input = child.stdin.take();
        let out = BufReader::new(child.stdout.take().unwrap());
        let (send, lines) = channel();
        std::thread::spawn(move || {
            let said = out.lines().map_while(Result::ok).map(|line| serde_json::from_str(&line).unwrap());
            said.take_while(|line| send.send(Value::clone(line)).is_ok()).for_each(drop);
        });
        Self { child, input, lines }
    }

    fn say(&mut self, text: &str) {
        let line = json!({"type": "user", "message": {"content": [{"type": "text", "text": text}]}});
        writeln!(self.input.as_mut().unwrap(), "{line}").unwrap();
    }

    /// The end of the turn.
    fn result(&mut self) -> Value {
        self.lines.iter().find(|line| line["type"] == "result").expect("a turn that ends")
    }

    fn has_ended_its_turn(&self) -> bool {
        self.lines.try_iter().any(|line| line["type"] == "result")
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

/// A person at the terminal of the bridge's program, with its keyboard.
fn person(machine: &Machine) -> Terminal {
    let line = format!("tmux -S {} attach -t windlass; exec cat", machine.path("session/tmux").display());
    Terminal::open(machine.path("person"), "0", &line, 100)
}

#[test]
fn a_dialog_that_nobody_answers_fails_the_turn_and_a_person_can_answer_it() {
    if !has_tmux("a_dialog_that_nobody_answers") {
        return;
    }
    let machine = Machine::new();
    let asks = "is waiting; echo 'Really?'; read answer; echo \"$answer\" > $HOME/answer; is idle; \
                read message; fires UserPromptSubmit; is busy; echo \"$message\" > $HOME/message; \
                fires Stop; is idle; exec cat > /dev/null";
    let Some(mut bridge) = Bridge::start_fast(&machine, asks) else { return };
    bridge.say("hello there");
    let stuck = bridge.result();
    assert_eq!((&stuck["is_error"], &stuck["terminal_reason"]), (&true.into(), &"terminal_stuck".into()));
    assert!(stuck["result"].as_str().unwrap().contains("windlass attach --write"), "{stuck}");
    assert!(!machine.path("home/answer").exists(), "nobody has typed anything into the dialog");
    // With a person there it is waited for, however long they take.
    let person = person(&machine);
    person.shows("Really?");
    bridge.say("hello again");
    person.tmux(&["send-keys", "-l", "yes"]);
    person.press("Enter");
    // What the person has typed is theirs alone; the message comes when they have let go.
    person.shows("yes");
    person.tmux(&["send-keys", "C-c"]);
    let taken = bridge.result();
    assert_eq!((&taken["is_error"], &taken["terminal_reason"]), (&false.into(), &Value::Null), "{taken}");
    let read = |name: &str| std::fs::read_to_string(machine.path(name)).unwrap();
    assert_eq!((read("home/answer").as_str(), read("home/message").trim()), ("yes\n", "hello again"));
    assert_eq!(bridge.end(), Some(0));
}

#[test]
fn a_turn_that_a_person_interrupts_with_escape_is_over_when_they_have_gone() {
    if !has_tmux("a_turn_that_a_person_interrupts") {
        return;
    }
    let machine = Machine::new();
    // It is free without a word about the end of its turn.
    let busy = "is idle; read message; fires UserPromptSubmit; is busy; stty raw -echo; echo 'at work'; : > $HOME/began; \
                dd bs=1 count=1 of=$HOME/key 2> /dev/null; stty sane; is idle; sleep 30; \
                echo interrupted; exec cat > /dev/null";
    let Some(mut bridge) = Bridge::start_fast(&machine, busy) else { return };
    bridge.say("hello there");
    // Earlier than this it would wait for the person.
    let began = machine.path("home/began");
    let until = Instant::now() + Duration::from_secs(60);
    while !began.exists() {
        assert!(Instant::now() < until, "nobody has begun");
        std::thread::park_timeout(Duration::from_millis(20));
    }
    let person = person(&machine);
    person.shows("at work");
    person.press("Escape");
    // That is half a minute later by the clock of both.
    person.shows("interrupted");
    assert!(!bridge.has_ended_its_turn(), "the person is still there, and may go on with it");
    person.tmux(&["send-keys", "C-c"]);
    let ended = bridge.result();
    assert_eq!((&ended["is_error"], &ended["terminal_reason"]), (&false.into(), &Value::Null), "{ended}");
    assert_eq!(std::fs::read(machine.path("home/key")).unwrap(), b"\x1b", "it was the program that heard it");
    assert_eq!(bridge.end(), Some(0));
}
