//! What waits for a person is the same in `inbox`, `status` and `top`.

use serde_json::{Value, json};
use windlass_core::id::{EffectKey, SessionId};
use windlass_core::queue::{Alarm, MEMORY_KEY, Memory, PAUSED_KEY, Pause};
use windlass_core::task::{AbandonReason, Effect, State};
use windlass_core::time::{Millis, Span};
use windlass_store::{Op, Store, Write as Page};

use crate::common::Machine;
use crate::memory::{daemon, now, sha, task};
use crate::top::Terminal;

fn control(key: &str, value: String) -> Op {
    Op::SetControl { key: key.into(), value: Some(value) }
}

/// One of each kind that there is; the factory is down, and a command waits for it.
pub fn with_each_kind() -> Machine {
    let machine = Machine::with_project();
    for n in 1..=3 {
        assert_eq!(machine.run(&["new", &format!("task {n}")]).code, 0);
    }
    let queued = task(3, State::Queued { head: sha('c'), tree: sha('d') });
    let mut memory = Memory::default();
    memory
        .alarms
        .insert(queued.id.clone(), Alarm { at: now(), waited: Span::hours(3), held: "it waits".into() });
    let tasks = [
        task(1, State::AwaitingHuman { question: "red or blue?".into(), notified_at: now() }),
        task(2, State::Abandoned { reason: AbandonReason::NoHumanAnswer }),
        queued,
    ];
    let mut ops: Vec<Op> =
        tasks.iter().map(|task| Op::InsertTask { task: task.clone(), wake_at: None }).collect();
    ops.push(control(PAUSED_KEY, Pause { reason: "main is red".into(), by: None }.text()));
    ops.push(control(MEMORY_KEY, serde_json::to_string(&memory).unwrap()));
    ops.push(control("config_trouble", json!({"refused": "line 2", "waiting": []}).to_string()));
    let session = SessionId::stored("dev-2.1-1");
    ops.push(Op::Intend {
        key: EffectKey::new("2.1:9:stop_session"),
        owner: Some(tasks[1].id.clone()),
        effect: Effect::StopSession { session },
        not_before: now(),
        at: Millis(now().0 - Span::hours(1).0),
    });
    daemon(&machine).commit(Page::from(ops)).unwrap();
    let last = json!({"at": now(), "took_ms": 1, "by": "clock", "failed": true, "says": "no disk"});
    let folder = machine.state().join("schedule");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("backup.json"), json!({"since": now(), "last": last}).to_string()).unwrap();
    part(&machine);
    assert_eq!(machine.run(&["pause"]).code, 5);
    machine
}

/// A person and the factory have each gone on from the same commit.
fn part(machine: &Machine) {
    let repo = machine.state().join("repo.git");
    let git = |args: &[&str]| {
        let args = [&["--git-dir", repo.to_str().unwrap()], args].concat();
        machine.git(&args).trim().to_owned()
    };
    for (name, says) in [("refs/windlass/checkout/main", "theirs"), ("refs/heads/main", "ours")] {
        let commit = git(&["commit-tree", "-p", "main", "-m", says, "main^{tree}"]);
        git(&["update-ref", name, &commit]);
    }
}

fn kinds(items: &Value) -> Vec<String> {
    let mut kinds: Vec<String> =
        items.as_array().unwrap().iter().map(|item| item["kind"].as_str().unwrap().to_owned()).collect();
    kinds.sort();
    kinds
}

#[test]
fn whoever_is_asked_names_the_same_things() {
    let machine = with_each_kind();
    let inbox = machine.json(&["inbox"])["items"].clone();
    let all =
        ["abandoned", "alarm", "commands", "config", "main", "question", "queue", "schedule", "unstopped"];
    assert_eq!(kinds(&inbox), all);
    assert_eq!(machine.json(&["status"])["inbox"], inbox);
    let words = machine.run(&["status"]).out;
    assert!(words.contains("NEEDS YOU 9          -> windlass inbox\n"), "{words}");
    for part in [
        "-> windlass tell 1",
        "-> windlass retry 2",
        "-> windlass why 3",
        "-> windlass queue resume",
        "-> windlass schedule run backup",
        "-> git pull --no-rebase",
        "1 command waits for it",
    ] {
        assert_eq!(words.matches(part).count(), 1, "`{part}` in\n{words}");
    }
    let Some(terminal) = Terminal::start(&machine, "top", 110) else { return };
    let screen = terminal.shows("NEEDS YOU 9");
    for kind in all {
        assert!(screen.contains(&format!("  {kind} ")), "no {kind} in\n{screen}");
    }
    terminal.press("q");
    terminal.shows("ended with 0");
}

#[test]
fn nobody_is_asked_when_nothing_is_wrong() {
    let machine = Machine::with_project();
    assert!(!machine.run(&["status"]).out.contains("NEEDS YOU"));
    assert_eq!(machine.json(&["status"])["inbox"], json!([]));
}
