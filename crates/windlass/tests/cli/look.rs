//! Plan, inbox and cost, from a database that the tests fill as a daemon would; and what a package needs.

use serde_json::{Value, json};
use windlass_core::command::Command;
use windlass_core::id::{IssueNumber, SessionId};
use windlass_core::queue::{PAUSED_KEY, Pause};
use windlass_core::schedule;
use windlass_core::task::{AbandonReason, State};
use windlass_core::time::{Millis, Span};
use windlass_store::{Op, SqliteStore, Store, UsageRow, Write as Page};

use crate::common::{Machine, listing};
use crate::memory::{daemon, now, task};

fn issues(list: &Value) -> Vec<u64> {
    list.as_array().unwrap().iter().map(|line| line["issue"].as_u64().unwrap_or(0)).collect()
}

#[test]
fn the_plan_says_what_would_be_taken_and_why_the_rest_is_not_and_changes_nothing() {
    let machine = Machine::with_project();
    machine
        .append_config("[dispatch]\nparallel = 2\n[guards]\nmin_free_memory_mb = 0\nmin_free_disk_mb = 0\n");
    for args in [
        &["new", "one"][..],
        &["new", "two", "--body", "Depends on #1"],
        &["new", "three"],
        &["new", "four"],
        &["label", "3", "+blocked"],
        &["new", "five"],
    ] {
        assert_eq!(machine.run(args).code, 0, "{args:?}");
    }
    let before = (listing(&machine.repo()), listing(&machine.state().join("repo.git")));
    let view = machine.json(&["plan"]);
    assert_eq!(issues(&view["take"]), [1, 4]);
    assert_eq!(view["take"][0]["says"], "windlass/1");
    let whys: Vec<&str> =
        view["skip"].as_array().unwrap().iter().map(|line| line["says"].as_str().unwrap()).collect();
    assert_eq!(whys, ["waits for #1", "is labelled blocked", "all 2 slots are in use"]);
    assert_eq!(view["cost"]["cap_per_issue_micro_usd"], 5_000_000);
    assert_eq!((&view["cost"]["ended"], &view["cost"]["usual_micro_usd"]), (&json!(0), &Value::Null));
    let text = machine.run(&["plan"]).out;
    assert!(text.contains("take  #1") && text.contains("an issue is abandoned at $5.00"), "{text}");
    assert_eq!((listing(&machine.repo()), listing(&machine.state().join("repo.git"))), before);
    assert_eq!(machine.json(&["issues"])["issues"][0]["state"], Value::Null, "nothing was taken");
    assert_eq!(machine.run(&["pause"]).code, 5);
    let store = daemon(&machine);
    store
        .commit(Page::from(vec![Op::SetControl { key: "paused".into(), value: Some("yes".into()) }]))
        .unwrap();
    drop(store);
    let held = machine.json(&["plan"]);
    assert_eq!(issues(&held["take"]), [0; 0]);
    assert!(held["skip"].as_array().unwrap().iter().any(|line| line["says"] == "the factory is paused"));
    assert_eq!(machine.json(&["status"])["paused_reason"], Value::Null);
}

#[test]
fn a_pause_tells_its_reason_wherever_it_is_seen() {
    let machine = Machine::with_project();
    assert_eq!(machine.run(&["new", "one"]).code, 0);
    assert_eq!(machine.run(&["pause", "--reason", ""]).code, 2);
    assert_eq!(machine.run(&["pause", "--reason", "release day"]).code, 5);
    let store = daemon(&machine);
    let posted = store.waiting_commands().unwrap().remove(0);
    let asked = Command::Pause { reason: Some("release day".into()) };
    assert_eq!(posted.command, asked);
    let pause = schedule::Pause { reason: Some("release\nday".into()) };
    store
        .commit(Page::from(vec![Op::SetControl { key: "paused".into(), value: Some(pause.text()) }]))
        .unwrap();
    drop(store);
    assert_eq!(machine.json(&["status"])["paused_reason"], "release\nday");
    assert!(machine.run(&["status"]).out.contains("PAUSED (release day): nothing new is started"));
    let why = machine.json(&["why", "1"]);
    assert_eq!(why["held"], "the factory is paused: release day");
    assert!(why["next"].to_string().contains("the factory is paused: release day: windlass resume"), "{why}");
    assert_eq!(machine.json(&["plan"])["skip"][0]["says"], "the factory is paused: release day");
    assert!(machine.fails(&["run", "1", "--watch"], "paused", 10).err.contains("release day"));
}

#[test]
fn the_inbox_has_all_that_waits_for_a_person_the_nearest_deadline_first() {
    let machine = Machine::with_project();
    for n in 1..=3 {
        assert_eq!(machine.run(&["new", &format!("task {n}")]).code, 0);
    }
    let asks =
        |since: i64| State::AwaitingHuman { question: format!("red or blue? {since}"), notified_at: now() };
    let mut older = task(2, asks(2));
    older.since = Millis(now().0 - Span::hours(5).0);
    let given_up = task(3, State::Abandoned { reason: AbandonReason::NoHumanAnswer });
    let pause = Pause { reason: "main is red".into(), by: None };
    let tasks = [task(1, asks(1)), older, given_up];
    let mut ops: Vec<Op> =
        tasks.iter().map(|task| Op::InsertTask { task: task.clone(), wake_at: None }).collect();
    ops.push(Op::SetControl { key: PAUSED_KEY.into(), value: Some(pause.text()) });
    let store = daemon(&machine);
    store.commit(Page::from(ops)).unwrap();
    let view = machine.json(&["inbox"]);
    let kinds: Vec<&str> =
        view["items"].as_array().unwrap().iter().map(|item| item["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["question", "question", "queue", "abandoned"]);
    assert_eq!(issues(&view["items"])[..2], [2, 1], "five hours are gone already");
    assert_eq!(view["items"][0]["text"], "red or blue? 2");
    assert!(view["items"][0]["deadline"].is_string());
    let text = machine.run(&["inbox"]).out;
    for part in
        ["windlass tell 2", "it is abandoned and its work kept", "windlass queue resume", "windlass retry 3"]
    {
        assert!(text.contains(part), "no `{part}` in {text}");
    }
    // The remedy that it names is one.
    assert!(text.contains("windlass close 3"), "{text}");
    assert_eq!(machine.run(&["close", "3"]).code, 0);
    assert!(!machine.run(&["inbox"]).out.contains("#3"), "a closed issue needs nobody");
    drop(store);
    let empty = Machine::with_project();
    let ran = empty.run(&["inbox"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, ""));
    assert!(ran.err.contains("nothing waits for you"));
}

fn used(issue: u64, session: &str, at: Millis, cost: u64) -> Op {
    Op::AddUsage(UsageRow {
        session: SessionId::stored(session),
        task: task(issue, State::Dispatched).id,
        issue: IssueNumber(issue),
        at,
        input: 1_000,
        cache_write: 0,
        cache_read: 3_000,
        output: 50,
        model: "m".into(),
        cost_micro_usd: cost,
    })
}

/// Two issues, one of them over nine days, the other with a critic.
fn spent(machine: &Machine) -> SqliteStore {
    let long_ago = Millis(now().0 - Span::days(9).0);
    let store = daemon(machine);
    let tasks = [task(1, State::Running { heard: None }), task(2, State::Running { heard: None })];
    let mut ops: Vec<Op> =
        tasks.iter().map(|task| Op::InsertTask { task: task.clone(), wake_at: None }).collect();
    ops.push(used(1, "dev-1.1-1", long_ago, 1_000_000));
    ops.push(used(1, "dev-1.1-1", now(), 500_000));
    ops.push(used(2, "dev-2.1-1", now(), 3_000_000));
    ops.push(used(2, "review-2.1-1", now(), 250_000));
    store.commit(Page::from(ops)).unwrap();
    store
}

#[test]
fn money_is_added_up_by_issue_role_day_and_turn() {
    let machine = Machine::with_project();
    let store = spent(&machine);
    let rows = |args: &[&str]| -> Vec<(String, u64)> {
        let view = machine.json(&[&["cost"], args].concat());
        let rows = view["rows"].as_array().unwrap().clone();
        rows.iter()
            .map(|row| (row["key"].as_str().unwrap().to_owned(), row["cost_micro_usd"].as_u64().unwrap()))
            .collect()
    };
    assert_eq!(rows(&[]), [("#2".to_owned(), 3_250_000), ("#1".to_owned(), 1_500_000)]);
    assert_eq!(rows(&["--since", "7d"])[1], ("#1".to_owned(), 500_000));
    assert_eq!(rows(&["--by", "role"]), [("dev".to_owned(), 4_500_000), ("review".to_owned(), 250_000)]);
    assert_eq!(
        rows(&["--by", "iteration"]),
        [("turn   1".to_owned(), 4_000_000), ("turn   2".to_owned(), 500_000)],
        "critics have no second turn, and do not count among the first"
    );
    let turns = machine.json(&["cost", "--by", "iteration"]);
    let versus = |nth: usize| turns["rows"][nth]["vs_first_percent"].clone();
    assert_eq!(
        (versus(0), versus(1)),
        (Value::Null, json!(-50)),
        "against the first turn of the same session"
    );
    assert_eq!(turns["total"]["cost_micro_usd"], 4_500_000, "the sum of what is shown");
    assert!(machine.run(&["cost", "--by", "iteration"]).out.contains("-50%"));
    assert_eq!(
        rows(&["--by", "iteration", "--since", "7d"]),
        [("turn   1".to_owned(), 3_000_000), ("turn   2".to_owned(), 500_000)],
        "a turn keeps its number when the first is older"
    );
    assert_eq!(rows(&["--by", "day"]).len(), 2);
    let view = machine.json(&["cost"]);
    assert_eq!(
        (&view["total"]["cost_micro_usd"], &view["total"]["cache_hit_percent"]),
        (&json!(4_750_000), &json!(75))
    );
    assert_eq!(view["rows"][0]["title"], "task 2");
    let text = machine.run(&["cost"]).out;
    assert!(text.contains("#2 task 2") && text.contains("75%") && text.contains("4.75"), "{text}");
    let today = &machine.json(&["status"])["today"];
    assert_eq!((&today["cost_micro_usd"], &today["idle_micro_usd"]), (&json!(3_750_000), &json!(0)));
    assert!(
        machine
            .run(&["status"])
            .out
            .contains("$3.75 of $25.00 (estimated) · cache hit 75% · idle spend $0.00")
    );
    assert_eq!(machine.run(&["cost", "--since", "soon"]).code, 2);
    drop(store);
}

#[test]
fn the_rows_of_money_are_there_for_a_spreadsheet() {
    let machine = Machine::with_project();
    let store = spent(&machine);
    let csv = machine.run(&["cost", "--csv"]).out;
    let lines: Vec<&str> = csv.split("\r\n").collect();
    assert_eq!(
        lines[1..],
        [
            "#2,task 2,2,2000,0,6000,100,75,3250000,",
            "#1,task 1,2,2000,0,6000,100,75,1500000,",
            "all,,4,4000,0,12000,200,75,4750000,",
            ""
        ]
    );
    assert!(machine.run(&["cost", "--by", "iteration", "--csv"]).out.contains(",500000,-50\r\n"));
    for other in [&["--json"][..], &["--jq", "."], &["--plain"]] {
        assert_eq!(machine.run(&[&["cost", "--csv"], other].concat()).code, 2, "{other:?}");
    }
    drop(store);
}

#[test]
fn completions_and_pages_of_the_manual_come_from_the_commands() {
    let machine = Machine::without_git();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let ran = machine.run(&["completions", shell]);
        assert!(ran.code == 0 && ran.out.contains("status"), "{shell}");
    }
    let page = machine.run(&["man", "status"]);
    assert!(
        page.code == 0 && page.out.contains(".TH windlass") && page.out.contains("Examples"),
        "{}",
        page.out
    );
    machine.fails(&["man", "nonsense"], "not-found", 3);
    assert_eq!(machine.run(&["man", "--dir", "pages"]).code, 0);
    for name in ["windlass", "windlass-status", "windlass-config"] {
        assert!(machine.repo().join(format!("pages/{name}.1")).is_file(), "{name}");
    }
}
