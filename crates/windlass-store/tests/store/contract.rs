//! What every engine behind `Store` must do, told on `&dyn Store`.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use crate::common::*;
use windlass_core::build::{BuildOutcome, BuildStatus, TreeResult, TreeVerdict};
use windlass_core::command::{Answer, Command};
use windlass_core::id::{EffectKey, IssueNumber, Recipe, TaskId};
use windlass_core::session::IdentityStatus;
use windlass_core::task::{AbandonReason, Effect, Lane, State};
use windlass_core::time::Millis;
use windlass_store::{
    EffectStatus, EventQuery, Op, SqliteStore, Store, StoreError, TaskQuery, UsageQuery, Which, replay_states,
};

type Story = fn(&dyn Store);

const STORIES: &[(&str, Story)] = &[
    ("a_version_is_saved_once", a_version_is_saved_once),
    ("a_write_is_all_or_nothing", a_write_is_all_or_nothing),
    ("an_issue_has_one_live_task", an_issue_has_one_live_task),
    ("an_effect_is_ordered_once", an_effect_is_ordered_once),
    ("an_effect_ends_once", an_effect_ends_once),
    ("cancelling_keeps_notes_and_order", cancelling_keeps_notes_and_order),
    ("tasks_are_found", tasks_are_found),
    ("tasks_come_due", tasks_come_due),
    ("sessions_are_found", sessions_are_found),
    ("builds_are_found", builds_are_found),
    ("commands_are_answered_once", commands_are_answered_once),
    ("decisions_and_controls_are_replaced", decisions_and_controls_are_replaced),
    ("usage_adds_up", usage_adds_up),
    ("events_are_found", events_are_found),
    ("events_stream_in_pages", events_stream_in_pages),
    ("the_log_and_the_tasks_agree", the_log_and_the_tasks_agree),
];

#[test]
fn in_memory() {
    for (name, story) in STORIES {
        println!("{name}");
        story(&SqliteStore::open_in_memory().unwrap());
    }
}

#[test]
fn in_a_file() {
    for (name, story) in STORIES {
        println!("{name}");
        let folder = tempfile::tempdir().unwrap();
        story(&daemon(&folder.path().join("state")).unwrap());
    }
}

fn ok(store: &dyn Store, ops: Vec<Op>) -> i64 {
    commit(store, ops).expect("nothing stands against it")
}

fn comment(text: &str) -> Effect {
    Effect::Comment { text: text.into() }
}

fn make_workspace() -> Effect {
    Effect::MakeWorkspace { branch: "b".into() }
}

fn a_version_is_saved_once(store: &dyn Store) {
    let first = task(1, 1);
    ok(store, vec![insert(&first)]);
    let running = in_state(first.clone(), State::Running { heard: None }, 200);
    ok(store, vec![save(&running, 1)]);

    let late = in_state(first, State::Abandoned { reason: AbandonReason::Budget }, 300);
    let refused = commit(store, vec![save(&late, 1)]);
    assert!(matches!(refused, Err(StoreError::Lost { task }) if task == late.id));

    let stored = store.task(&late.id).unwrap().unwrap();
    assert_eq!((stored.value, stored.version), (running, 2));
    let unknown = commit(store, vec![save(&task(9, 1), 1)]);
    assert!(matches!(unknown, Err(StoreError::Lost { .. })));
}

fn a_write_is_all_or_nothing(store: &dyn Store) {
    let task = task(1, 1);
    let before = ok(store, vec![insert(&task), paused(1)]);
    let refused = commit(
        store,
        vec![
            paused(2),
            intend("k", Some(&task), comment("x")),
            Op::SetControl { key: "a".into(), value: Some("b".into()) },
            save(&task, 77),
        ],
    );
    assert!(matches!(refused, Err(StoreError::Lost { .. })));
    assert_eq!(store.last_seq().unwrap(), before);
    assert_eq!(store.pending_effects().unwrap(), []);
    assert_eq!(store.control("a").unwrap(), None);
    assert_eq!(ok(store, vec![paused(3)]), before + 1, "a refused line leaves no gap");
}

fn an_issue_has_one_live_task(store: &dyn Store) {
    let first = task(1, 1);
    ok(store, vec![insert(&first)]);
    let second = commit(store, vec![insert(&task(1, 2))]);
    assert!(matches!(second, Err(StoreError::AlreadyClaimed { issue: IssueNumber(1) })));
    let same = commit(store, vec![insert(&in_state(first.clone(), State::Merged { commit: sha('a') }, 1))]);
    assert!(matches!(same, Err(StoreError::Duplicate { what: "task", .. })));

    let ended = in_state(first.clone(), State::Merged { commit: sha('a') }, 200);
    ok(store, vec![save(&ended, 1), insert(&task(1, 2))]);
    let back = commit(store, vec![save(&first, 2)]);
    assert!(
        matches!(back, Err(StoreError::AlreadyClaimed { .. })),
        "nor does an ended one come back beside it"
    );
    assert_eq!(store.count_tasks_of(IssueNumber(1)).unwrap(), 2);
    assert_eq!(store.live_tasks().unwrap().len(), 1);
}

fn an_effect_is_ordered_once(store: &dyn Store) {
    ok(store, vec![intend("k", None, comment("one"))]);
    let again = commit(store, vec![paused(1), intend("k", None, comment("two"))]);
    assert!(matches!(again, Err(StoreError::Duplicate { what: "effect", key }) if key == "k"));
    let record = store.effect(&EffectKey::new("k")).unwrap().unwrap();
    assert_eq!(record.order.effect, comment("one"));
    assert_eq!(record.status, EffectStatus::Intent);
    assert_eq!(Some(record.order.epoch), store.epoch());
    assert_eq!(store.last_seq().unwrap(), 0);

    ok(store, vec![Op::EffectDone { key: EffectKey::new("k"), result: 1.into(), at: Millis(9) }]);
    let later = commit(store, vec![intend("k", None, comment("three"))]);
    assert!(matches!(later, Err(StoreError::Duplicate { .. })), "nor when it is done");
}

fn an_effect_ends_once(store: &dyn Store) {
    let key = |text: &str| EffectKey::new(text);
    ok(store, vec![intend("good", None, comment("a")), intend("bad", None, comment("b"))]);
    let retry = Op::EffectRetry { key: key("good"), not_before: Millis(50), error: "503".into() };
    ok(store, vec![retry.clone(), retry.clone()]);
    let waiting = &store.pending_effects().unwrap()[0];
    assert_eq!((waiting.attempt, waiting.not_before, waiting.error.as_deref()), (2, Millis(50), Some("503")));

    let done = Op::EffectDone { key: key("good"), result: serde_json::json!({ "n": 1 }), at: Millis(60) };
    let failed = Op::EffectFailed { key: key("bad"), error: "gone".into(), at: Millis(61) };
    ok(store, vec![done.clone(), failed.clone()]);
    assert_eq!(
        store.effect(&key("good")).unwrap().unwrap().status,
        EffectStatus::Done { result: serde_json::json!({ "n": 1 }), at: Millis(60) }
    );
    assert_eq!(
        store.effect(&key("bad")).unwrap().unwrap().status,
        EffectStatus::Failed { error: "gone".into(), at: Millis(61) }
    );
    assert_eq!(store.pending_effects().unwrap(), []);
    for again in [done, failed, retry] {
        assert!(matches!(commit(store, vec![again]), Err(StoreError::NotPending { .. })));
    }
    assert_eq!(store.effect(&key("none")).unwrap(), None);
}

fn cancelling_keeps_notes_and_order(store: &dyn Store) {
    let (mine, other) = (task(1, 1), task(2, 1));
    // Keys against the alphabet, so that only the order of giving is left.
    ok(
        store,
        vec![
            intend("z", Some(&mine), comment("z")),
            intend("y", Some(&mine), make_workspace()),
            intend("x", Some(&other), make_workspace()),
            intend("w", None, make_workspace()),
            intend("v", Some(&mine), Effect::CloseIssue),
        ],
    );
    ok(store, vec![Op::CancelEffects { owner: mine.id.clone(), at: Millis(8) }]);
    let left = store.pending_effects().unwrap();
    let keys: Vec<&str> = left.iter().map(|effect| effect.key.as_str()).collect();
    assert_eq!(keys, ["z", "x", "w", "v"]);
    assert_eq!(left[0].lane, Lane::Notes);
    assert_eq!(left[1].owner, Some(other.id));
    let cancelled = store.effect(&EffectKey::new("y")).unwrap().unwrap();
    assert_eq!(cancelled.status, EffectStatus::Cancelled { at: Millis(8) });
}

fn tasks_are_found(store: &dyn Store) {
    for nth in 1..=10 {
        let ended = in_state(task(7, nth), State::Merged { commit: sha('c') }, 1_000 + i64::from(nth));
        ok(store, vec![insert(&ended)]);
    }
    ok(store, vec![insert(&task(7, 11)), insert(&task(8, 1))]);
    let ids = |rows: Vec<windlass_store::Versioned<windlass_core::task::Task>>| -> Vec<String> {
        rows.into_iter().map(|row| row.value.id.to_string()).collect()
    };
    assert_eq!(ids(store.live_tasks().unwrap()), ["7.11", "8.1"]);
    assert_eq!(store.newest_task_of(IssueNumber(7)).unwrap().unwrap().value.id.as_str(), "7.11");
    assert_eq!(store.newest_task_of(IssueNumber(9)).unwrap(), None);
    assert_eq!(store.task(&TaskId::stored("7.99")).unwrap(), None);
    assert_eq!(ids(store.ended_since(Millis(1_009)).unwrap()), ["7.9", "7.10"]);
    let counts = BTreeMap::from([("DISPATCHED".to_owned(), 2), ("MERGED".to_owned(), 10)]);
    assert_eq!(store.counts_by_state().unwrap(), counts);

    let query = TaskQuery { limit: 2, ..TaskQuery::default() };
    let page = store.tasks_page(&query).unwrap();
    let before = page.last().map(|row| row.order);
    assert_eq!(ids(page), ["8.1", "7.11"]);
    let ended = TaskQuery { which: Which::Ended, before, ..query.clone() };
    assert_eq!(ids(store.tasks_page(&ended).unwrap()), ["7.10", "7.9"]);
    let states = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let both = TaskQuery { states: states(&["MERGED", "DISPATCHED"]), which: Which::Live, ..query.clone() };
    assert_eq!(ids(store.tasks_page(&both).unwrap()), ["8.1", "7.11"]);
    let merged = TaskQuery { states: states(&["MERGED"]), ..query };
    assert_eq!(ids(store.tasks_page(&merged).unwrap()), ["7.10", "7.9"]);
}

fn tasks_come_due(store: &dyn Store) {
    let insert = |issue, wake_at| Op::InsertTask { task: task(issue, 1), wake_at };
    ok(
        store,
        vec![
            insert(1, Some(Millis(300))),
            insert(2, None),
            insert(3, Some(Millis(200))),
            insert(4, Some(Millis(400))),
        ],
    );
    assert_eq!(store.next_wake().unwrap(), Some(Millis(200)));
    let due: Vec<u64> = store.tasks_due(Millis(300)).unwrap().iter().map(|row| row.value.issue.0).collect();
    assert_eq!(due, [3, 1]);
    let ended = in_state(task(3, 1), State::Merged { commit: sha('a') }, 500);
    ok(store, vec![Op::SaveTask { task: ended, expected: 1, wake_at: Some(Millis(200)), at: Millis(500) }]);
    assert_eq!(store.next_wake().unwrap(), Some(Millis(300)), "an ended task never wakes");
}

fn sessions_are_found(store: &dyn Store) {
    let task = task(1, 1);
    let first = identity(&task, 1, IdentityStatus::Active);
    let second = identity(&task, 2, IdentityStatus::Active);
    ok(store, vec![Op::SaveIdentity(first.clone()), Op::SaveIdentity(second.clone())]);
    let crashed = identity(&task, 1, IdentityStatus::Crashed);
    ok(store, vec![Op::SaveIdentity(crashed.clone()), Op::SaveHook(hook(&first.name))]);
    assert_eq!(store.identities(Which::Live).unwrap(), std::slice::from_ref(&second));
    assert_eq!(store.identities(Which::Ended).unwrap(), std::slice::from_ref(&crashed));
    assert_eq!(store.identities(Which::All).unwrap(), [crashed.clone(), second.clone()]);
    assert_eq!(store.identities_of(&task.id).unwrap(), [crashed.clone(), second.clone()]);
    assert_eq!(store.identity(&first.name).unwrap(), Some(crashed));
    assert_eq!(store.hook(&first.name).unwrap(), Some(hook(&first.name)));
    assert_eq!(store.hook(&second.name).unwrap(), None);
    let mut later = hook(&first.name);
    later.work_summary = "done".into();
    ok(store, vec![Op::SaveHook(later.clone())]);
    assert_eq!(store.hook(&first.name).unwrap(), Some(later));
}

fn builds_are_found(store: &dyn Store) {
    let ended = BuildStatus::Ended { outcome: BuildOutcome::Broke { why: "oom".into() } };
    let (first, second) = (build(1, BuildStatus::Waiting), build(2, BuildStatus::Running { slot: 1 }));
    ok(store, vec![Op::SaveBuild(first.clone()), Op::SaveBuild(second.clone())]);
    assert_eq!(store.open_builds().unwrap(), [first.clone(), second.clone()]);
    let first = build(1, ended);
    ok(store, vec![Op::SaveBuild(first.clone())]);
    assert_eq!(store.open_builds().unwrap(), std::slice::from_ref(&second));
    assert_eq!(store.build(&first.id).unwrap(), Some(first.clone()));
    assert_eq!(store.builds_of(&first.task).unwrap(), [second.clone(), first.clone()]);
    assert_eq!(store.builds_of(&TaskId::stored("77.1")).unwrap(), []);
    assert_eq!(store.latest_build(&first.tree, &first.recipe).unwrap(), Some(second));
    assert_eq!(store.latest_build(&first.tree, &Recipe("other".into())).unwrap(), None);

    assert_eq!(store.verdict(&first.tree, &first.recipe).unwrap(), None);
    let fail = TreeResult::Fail { failing: vec!["t".into()], log: "l".into() };
    let (tree, recipe) = (first.tree.clone(), first.recipe.clone());
    let mut verdict = TreeVerdict { tree, recipe, build: first.id, at: Millis(1), result: fail };
    ok(store, vec![Op::SaveVerdict(verdict.clone())]);
    verdict.result = TreeResult::Pass;
    ok(store, vec![Op::SaveVerdict(verdict.clone())]);
    assert_eq!(store.verdict(&first.tree, &first.recipe).unwrap(), Some(verdict));
}

fn commands_are_answered_once(store: &dyn Store) {
    let tell = Command::Tell { issue: IssueNumber(3), text: "hello".into() };
    let first = store.post_command(&tell, "ann", Millis(5)).unwrap();
    let second = store.post_command(&Command::Pause { reason: None }, "bob", Millis(6)).unwrap();
    let waiting: Vec<i64> = store.waiting_commands().unwrap().iter().map(|command| command.id).collect();
    assert_eq!(waiting, [first, second]);
    let answer = Answer::Done { what: "told".into() };
    let op = Op::AnswerCommand { id: first, answer: answer.clone(), at: Millis(9) };
    ok(store, vec![op.clone()]);
    let command = store.command(first).unwrap().unwrap();
    assert_eq!((command.command, command.by.as_str()), (tell, "ann"));
    assert_eq!((command.answer, command.answered_at), (Some(answer), Some(Millis(9))));
    assert_eq!(store.waiting_commands().unwrap().len(), 1);
    assert!(matches!(commit(store, vec![op]), Err(StoreError::NotWaiting { id }) if id == first));
    assert_eq!(store.command(99).unwrap(), None);
}

fn decisions_and_controls_are_replaced(store: &dyn Store) {
    let decide =
        |issue, text: &str, at| Op::Decide { issue: IssueNumber(issue), text: text.into(), at: Millis(at) };
    ok(store, vec![decide(2, "no slot", 1), decide(1, "waits for #2", 1), decide(2, "claimed", 2)]);
    let decisions = store.decisions().unwrap();
    let told: Vec<(u64, &str)> = decisions.iter().map(|made| (made.issue.0, made.text.as_str())).collect();
    assert_eq!(told, [(1, "waits for #2"), (2, "claimed")]);
    assert_eq!(store.decision(IssueNumber(2)).unwrap().unwrap().at, Millis(2));
    assert_eq!(store.decision(IssueNumber(3)).unwrap(), None);

    let set = |value: Option<&str>| Op::SetControl { key: "paused".into(), value: value.map(str::to_owned) };
    ok(store, vec![set(Some("a")), set(Some("b"))]);
    assert_eq!(store.control("paused").unwrap().as_deref(), Some("b"));
    ok(store, vec![set(None)]);
    assert_eq!(store.control("paused").unwrap(), None);
}

fn usage_adds_up(store: &dyn Store) {
    let rows = [usage(1, 10, 5), usage(2, 20, 7), usage(1, 30, 11)];
    ok(store, rows.iter().cloned().map(Op::AddUsage).collect());
    let all = UsageQuery::default();
    let first = UsageQuery { issue: Some(IssueNumber(1)), since: None };
    let late = UsageQuery { issue: Some(IssueNumber(1)), since: Some(Millis(30)) };
    assert_eq!(store.usage(&all).unwrap(), rows);
    assert_eq!(store.usage(&late).unwrap(), rows[2..]);
    let costs = [all, first, late].map(|query| store.cost(&query).unwrap());
    assert_eq!(costs, [23, 16, 11]);
    assert_eq!(store.cost(&UsageQuery { issue: Some(IssueNumber(9)), since: None }).unwrap(), 0);
}

fn events_are_found(store: &dyn Store) {
    let (one, two) = (task(1, 1), task(2, 1));
    let last =
        ok(store, vec![moved(&one, "A", "B"), paused(2), moved(&two, "A", "B"), moved(&one, "B", "C")]);
    assert_eq!((last, store.last_seq().unwrap()), (4, 4));
    let found = |query: EventQuery| -> Vec<i64> {
        store.events(&query).unwrap().iter().map(|event| event.seq).collect()
    };
    let all = EventQuery::default;
    let kinds = |kinds: &[&str]| kinds.iter().map(|kind| (*kind).to_owned()).collect();
    assert_eq!(found(all()), [1, 2, 3, 4]);
    assert_eq!(found(EventQuery { since: 1, until: Some(3), ..all() }), [2, 3]);
    assert_eq!(found(EventQuery { issue: Some(IssueNumber(1)), ..all() }), [1, 4]);
    assert_eq!(found(EventQuery { task: Some(two.id.clone()), ..all() }), [3]);
    assert_eq!(found(EventQuery { kinds: kinds(&["paused"]), ..all() }), [2]);
    assert_eq!(found(EventQuery { kinds: kinds(&["paused", "task_moved"]), since: 1, ..all() }), [2, 3, 4]);
    assert_eq!(found(EventQuery { newest_first: true, limit: Some(2), ..all() }), [4, 3]);
    let third = &store.events(&EventQuery { since: 2, limit: Some(1), ..all() }).unwrap()[0];
    let Op::Log(entry) = moved(&two, "A", "B") else { unreachable!("it is a line of the log") };
    assert_eq!(third.entry, entry);
}

fn events_stream_in_pages(store: &dyn Store) {
    let many = 2_500;
    ok(store, (0..many).map(paused).collect());
    let stream = |query: EventQuery, stop_at: i64| {
        let mut seen = Vec::new();
        let each = &mut |event: windlass_store::LoggedEvent| {
            // Nothing is locked meanwhile: writing here neither waits nor shows in the stream.
            if seen.is_empty() {
                ok(store, vec![paused(0)]);
            }
            seen.push(event.seq);
            if event.seq == stop_at { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        store.for_each_event(&query, each).unwrap();
        seen
    };
    assert_eq!(stream(EventQuery::default(), 0), (1..=many).collect::<Vec<_>>());
    let newest = EventQuery { newest_first: true, until: Some(many), ..EventQuery::default() };
    assert_eq!(stream(newest, 0), (1..=many).rev().collect::<Vec<_>>());
    let some = EventQuery { since: 10, limit: Some(1_100), ..EventQuery::default() };
    assert_eq!(stream(some.clone(), 0), (11..=1_110).collect::<Vec<_>>());
    assert_eq!(stream(some, 13), [11, 12, 13]);
}

fn the_log_and_the_tasks_agree(store: &dyn Store) {
    let (still, mut gone) = (task(1, 1), task(2, 1));
    ok(store, vec![insert(&still), insert(&gone)]);
    gone = in_state(gone, State::Running { heard: None }, 9);
    ok(store, vec![save(&gone, 1), moved(&gone, "DISPATCHED", "QUEUED"), moved(&gone, "QUEUED", "RUNNING")]);
    assert_eq!(replay_states(store).unwrap(), []);

    let silent = in_state(still, State::Limited { until: Millis(1), what: "w".into() }, 10);
    ok(store, vec![save(&silent, 1), moved(&task(3, 1), "DISPATCHED", "RUNNING")]);
    let wrong: Vec<(String, Option<String>, String)> =
        replay_states(store).unwrap().into_iter().map(|m| (m.task.to_string(), m.stored, m.logged)).collect();
    let expected = [
        ("1.1".to_owned(), Some("LIMITED".to_owned()), "DISPATCHED".to_owned()),
        ("3.1".to_owned(), None, "RUNNING".to_owned()),
    ];
    assert_eq!(wrong, expected);
}
