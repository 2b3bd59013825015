//! What the commands say about the merge queue, from a memory such as the daemon writes.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use windlass_core::build::{Build, BuildStatus};
use windlass_core::id::{BuildId, IssueNumber, Recipe, TaskId};
use windlass_core::journal::{Entry, Fact, FactoryFact};
use windlass_core::queue::{
    Alarm, Change, History, Link, MEMORY_KEY, Memory, PAUSED_KEY, Pause, Run, RunState,
};
use windlass_core::task::{BuildLane, Event, State, Task};
use windlass_core::time::{Millis, Span};
use windlass_store::{Op, SqliteStore, Store, Write as Page};

use crate::common::Machine;
use crate::memory::{daemon, now, sha, task};

fn ago(span: Span) -> Millis {
    Millis(now().0 - span.0)
}

/// Approved so long ago.
fn queued(issue: u64, head: char, since: Span) -> Task {
    let mut task = task(issue, State::Queued { head: sha(head), tree: sha(head) });
    task.since = ago(since);
    task
}

fn change(task: &Task) -> Change {
    let State::Queued { head, .. } = &task.state else { panic!("{task:?}") };
    Change { task: task.id.clone(), head: head.clone() }
}

fn log(at: Millis, task: &TaskId, fact: Fact) -> Op {
    Op::Log(Entry { at, task: Some(task.clone()), issue: task.issue(), fact })
}

/// Of the last day: one landed after twelve minutes, one was sent back for a conflict, one for its tests.
fn day() -> Vec<Op> {
    let of = |n: u64| TaskId::nth(IssueNumber(n), 1);
    let landed = FactoryFact::Landed {
        commit: sha('1'),
        tree: sha('1'),
        recipe: Recipe("r".into()),
        build: BuildId::stored("b-0"),
        from: sha('2'),
        head: sha('9'),
        history: History::Merge,
    };
    let ready = FactoryFact::MergeReady { head: sha('9') };
    let long_ago = Event::Ejected { head: sha('9'), failing: Vec::new(), log: String::new() };
    vec![
        log(ago(Span::days(2)), &of(5), Fact::Task(long_ago.clone())),
        log(ago(Span::mins(62)), &of(5), Fact::Factory(ready)),
        log(ago(Span::mins(50)), &of(5), Fact::Factory(landed)),
        log(
            ago(Span::mins(40)),
            &of(6),
            Fact::Task(Event::MergeConflict { head: sha('9'), files: Vec::new(), commits: Vec::new() }),
        ),
        log(ago(Span::mins(30)), &of(6), Fact::Task(long_ago)),
    ]
}

/// #1 and #2 are tested together, #3 does not merge on top of #1 and waits too long, #4 was put first.
pub fn filled(machine: &Machine) -> SqliteStore {
    for n in 1..=6 {
        assert_eq!(machine.run(&["new", &format!("task {n}")]).code, 0);
    }
    let main = machine.git(&["rev-parse", "main"]);
    let main = windlass_core::id::Sha::parse(main.trim()).unwrap();
    let tasks = [
        queued(1, 'a', Span::mins(14)),
        queued(2, 'b', Span::mins(10)),
        queued(3, 'c', Span::hours(3)),
        queued(4, 'd', Span::mins(2)),
        task(5, State::AwaitingCi { head: sha('e'), tree: sha('e') }),
    ];
    let link = |task: &Task, tip: char| Link {
        change: change(task),
        candidate: sha(tip),
        tree: sha(tip),
        history: History::Merge,
    };
    let links = vec![link(&tasks[0], '3'), link(&tasks[1], '4')];
    let mut memory = Memory {
        runs: vec![Run { base: main.clone(), links, state: RunState::Open }],
        passed: BTreeMap::from([(tasks[2].id.clone(), 2)]),
        held: BTreeMap::from([(tasks[2].id.clone(), BTreeSet::from([tasks[0].id.clone()]))]),
        base: Some(main),
        ..Memory::default()
    };
    memory.front.ask(&tasks[3].id);
    memory.flaky.note(&sha('7'), &["net::timeout".into()], ago(Span::mins(5)));
    memory.clock.tested(Span::mins(2));
    for task in &tasks[..4] {
        memory.clock.arrived(task.since);
    }
    let alarm = Alarm { at: ago(Span::hours(1)), waited: Span::hours(2), held: "it waits".into() };
    memory.alarms.insert(tasks[2].id.clone(), alarm);
    let build = Build {
        id: BuildId::stored("b-4"),
        commit: sha('4'),
        tree: sha('4'),
        recipe: Recipe("r".into()),
        lane: BuildLane::Gate,
        task: tasks[1].id.clone(),
        nth: 1,
        status: BuildStatus::Running { slot: 1 },
        queued_at: ago(Span::mins(1)),
        slot_at: Some(ago(Span::mins(1))),
        started_at: Some(ago(Span::mins(1))),
        ended_at: None,
    };
    let mut ops: Vec<Op> =
        tasks.iter().map(|task| Op::InsertTask { task: task.clone(), wake_at: None }).collect();
    ops.push(Op::SaveBuild(build));
    ops.push(control(MEMORY_KEY, Some(serde_json::to_string(&memory).unwrap())));
    ops.extend(day());
    let store = daemon(machine);
    save(&store, ops);
    store
}

fn control(key: &str, value: Option<String>) -> Op {
    Op::SetControl { key: key.into(), value }
}

fn save(store: &SqliteStore, ops: Vec<Op>) {
    store.commit(Page::from(ops)).unwrap();
}

fn pause(store: &SqliteStore) {
    let pause = Pause { reason: "release day".into(), by: Some("ann".into()) };
    save(store, vec![control(PAUSED_KEY, Some(pause.text()))]);
}

#[test]
fn the_train_has_order_states_and_reasons() {
    let machine = Machine::with_project();
    let store = filled(&machine);
    let view = machine.json(&["queue"]);
    let entries = view["entries"].as_array().unwrap();
    let column = |name: &str| entries.iter().map(|entry| entry[name].clone()).collect::<Vec<Value>>();
    assert_eq!(column("issue"), [4, 3, 1, 2], "put first, then the oldest");
    assert_eq!(column("place"), [1, 2, 3, 4]);
    assert_eq!(column("status"), ["ready", "held", "testing", "testing"]);
    assert_eq!((&entries[1]["held_by"], &entries[1]["overtaken"]), (&json!([1]), &json!(2)));
    assert_eq!(column("expedited"), [true, false, false, false]);
    assert!(entries[1]["alarmed_at"].is_string() && entries[0]["alarmed_at"].is_null());
    assert!(entries.iter().all(|entry| entry["expected_at"].is_string()), "{view}");
    let test = json!({"issues": [1, 2], "build": "b-4", "status": "running", "lands": true,
        "started_at": entries[2]["tests"][0]["started_at"]});
    assert_eq!((&view["tests"], &entries[2]["tests"]), (&json!([test]), &json!([test])));
    assert_eq!(view["day"], json!({"merged": 1, "conflicts": 1, "red": 1, "median_wait_ms": 720_000}));
    assert_eq!((&view["slots"]["configured"], &view["slots"]["needed"]), (&json!(2), &json!(1)));
    assert_eq!(view["slots"]["usual_test_ms"], 120_000);
    assert_eq!((&view["flaky"][0]["test"], &view["flaky"][0]["count"]), (&json!("net::timeout"), &json!(1)));
    assert_eq!((&view["policy"], &view["history"]), (&json!("ladder"), &json!("merge")));
    drop(store);
}

#[test]
fn people_read_the_train_in_one_screen() {
    let machine = Machine::with_project();
    let store = filled(&machine);
    let text = machine.run(&["queue"]).out;
    let main = machine.git(&["rev-parse", "main"]);
    let train = format!("main {} <- [#4 ready 2m0", &main[..10]);
    assert!(text.starts_with(&train), "{text}");
    let first = text.lines().next().unwrap();
    assert!(first.contains("<- [#3 held by #1 3h00m] <- [#1 TESTING 1m0"), "{text}");
    assert!(first.contains("s of ~2m00s] <- [#2 TESTING") && first.ends_with("<- (#5 in CI)"), "{text}");
    for part in [
        "it is being tested with one other (1m0",
        "it does not merge on top of #1, which goes first · overtaken 2 times · waits too long",
        "put first",
        "lands in ~",
        "last 24h: 1 merged · 2 sent back (conflict 1, red 1) · median wait 12m00s · oldest ready 3h00m (alarm 2h00m)",
        "slots: needs 1, has 2 · 1 tests run · a test takes ~2m00s",
        "ALARM: #3 waits for 3h00m",
        "flaky: net::timeout (1 times, last 5m0",
    ] {
        assert!(text.contains(part), "no `{part}` in\n{text}");
    }
    assert!(text.lines().count() < 20, "{text}");
    pause(&store);
    let text = machine.run(&["queue"]).out;
    assert!(
        text.starts_with("PAUSED: ann paused it: release day          -> windlass queue resume\n"),
        "{text}"
    );
    let view = machine.json(&["queue"]);
    assert_eq!(view["pause"], json!({"reason": "release day", "by": "ann"}));
    assert!(view["entries"].as_array().unwrap().iter().all(|entry| entry["status"] == "paused"));
    drop(store);
}

#[test]
fn why_says_what_an_entry_waits_for_and_what_would_land_it() {
    let machine = Machine::with_project();
    let store = filled(&machine);
    let tested = machine.run(&["why", "1"]).out;
    for part in [
        "place 3, waits 14m0",
        "#1 #2 running for 1m0",
        "(b-4); a pass lands it",
        "it lands when the test of #1 #2 passes",
        "windlass queue front 1",
    ] {
        assert!(tested.contains(part), "no `{part}` in\n{tested}");
    }
    let held = machine.json(&["why", "3"]);
    assert_eq!((&held["queue"]["held_by"], &held["queue"]["overtaken"]), (&json!([1]), &json!(2)));
    let next = held["next"].to_string();
    assert!(next.contains("when #1 has landed or left: windlass why 1"), "{next}");
    assert_eq!(machine.json(&["why", "5"])["queue"], Value::Null);
    let first = machine.run(&["why", "4"]).out;
    assert!(first.contains("a person has put it first") && !first.contains("queue front 4"), "{first}");
    pause(&store);
    let next = machine.json(&["why", "1"])["next"].to_string();
    assert!(next.contains("windlass queue resume"), "{next}");
    drop(store);
}

#[test]
fn status_shows_the_alarm_and_the_paused_queue() {
    let machine = Machine::with_project();
    let store = filled(&machine);
    pause(&store);
    let view = machine.json(&["status"]);
    assert_eq!(view["queue_paused"], json!({"reason": "release day", "by": "ann"}));
    assert_eq!((&view["alarms"][0]["issue"], &view["alarms"][0]["held"]), (&json!(3), &json!("it waits")));
    assert_eq!(view["queue"][0]["issue"], 4, "in the queue's own order");
    let words = machine.run(&["status"]).out;
    for part in [
        "QUEUE PAUSED by ann: release day          -> windlass queue resume",
        "ALARM: #3 waits in the queue for 3h00m          -> windlass why 3",
    ] {
        assert!(words.contains(part), "no `{part}` in\n{words}");
    }
    save(&store, vec![control(PAUSED_KEY, None)]);
    assert_eq!(machine.json(&["status"])["queue_paused"], Value::Null);
    drop(store);
}

#[test]
fn an_empty_queue_says_so() {
    let machine = Machine::with_project();
    let text = machine.run(&["queue"]).out;
    assert!(
        text.contains("<- nothing waits to land\n") && text.contains("nobody waits (alarm 2h00m)"),
        "{text}"
    );
    assert!(text.contains("slots: has 2 · 0 tests run · 5.0 % of changes fail on main"), "{text}");
}
