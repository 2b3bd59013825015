//! What people ask of the queue and what it can tell them.

use std::collections::{BTreeMap, BTreeSet};

use windlass_core::id::{Sha, TaskId};
use windlass_core::queue::rate::landed_per_test;
use windlass_core::queue::{
    Clock, Entry, Flakes, Front, Hold, MainIs, Memory, Now, Pause, Policy, RunState, Stand, hold, holds,
    outlook,
};
use windlass_core::time::{Millis, Span};

use crate::support::{change, red, run, sha, view};

fn order(front: &Front, names: &str) -> String {
    let entries = front.order(view(Policy::Ladder, 1, names).entries);
    entries.iter().map(|entry| entry.change.task.as_str()).collect::<Vec<_>>().join(" ")
}

fn land(front: &mut Front, waiting: &str, landed: &str) {
    let landed: Vec<_> = landed.split_whitespace().map(change).collect();
    let waiting = front.order(view(Policy::Ladder, 1, waiting).entries);
    front.landed(&waiting, &landed.iter().collect::<Vec<_>>());
}

#[test]
fn at_most_one_landing_in_three_goes_before_its_turn_while_others_wait() {
    let mut front = Front::default();
    front.ask(&TaskId::stored("d"));
    front.ask(&TaskId::stored("e"));
    front.ask(&TaskId::stored("d"));
    assert_eq!(front.asked().len(), 2);
    assert_eq!(order(&front, "a b c d e"), "d a b c e", "one at a time, in the order in which people asked");
    land(&mut front, "a b c d e", "d");
    assert_eq!(order(&front, "a b c e"), "a b c e");
    land(&mut front, "a b c e", "a");
    assert_eq!(order(&front, "b c e"), "b c e", "one of three is enough");
    let stored = serde_json::to_string(&front).expect("plain data");
    let mut front: Front = serde_json::from_str(&stored).expect("it survives a restart");
    land(&mut front, "b c e", "b");
    assert_eq!(order(&front, "c e"), "e c");
    land(&mut front, "c e", "e c");
    front.keep(&view(Policy::Ladder, 1, "x").entries);
    assert!(front.asked().is_empty(), "whoever left goes first no more");
}

#[test]
fn alone_in_the_queue_nobody_is_overtaken() {
    let mut front = Front::default();
    front.ask(&TaskId::stored("a"));
    land(&mut front, "a", "a");
    front.ask(&TaskId::stored("c"));
    assert_eq!(order(&front, "b c"), "c b");
}

#[test]
fn the_ledger_counts_each_tree_once_and_forgets_what_was_not_seen_for_long() {
    let mut flakes = Flakes::default();
    flakes.note(&sha("x"), &["t".into(), "u".into()], Millis(1));
    flakes.note(&sha("x"), &["t".into()], Millis(2));
    flakes.note(&sha("y"), &["t".into()], Millis(3));
    let t = &flakes.tests()["t"];
    assert_eq!((t.count, t.first, t.last, &t.tree), (2, Millis(1), Millis(3), &sha("y")));
    for n in 0..600_u32 {
        let tree = Sha::parse(&format!("{n:040x}")).expect("forty digits");
        flakes.note(&tree, &[format!("n{n}")], Millis(10 + i64::from(n)));
    }
    assert_eq!(flakes.tests().len(), 500);
    assert!(!flakes.contains("t") && flakes.contains("n599"));
}

fn now() -> Now {
    Now { policy: Policy::Ladder, main: sha("main"), main_is: MainIs::Green, slots: 2, paused: None }
}

fn waiting(names: &str) -> Vec<Entry> {
    view(Policy::Ladder, 2, names).entries
}

#[test]
fn the_memory_survives_the_plan_and_the_disk() {
    let mut memory = Memory::default();
    memory.front.ask(&TaskId::stored("c"));
    memory.runs = vec![run("main", "a b", RunState::Open)];
    memory.rate.ejected();
    memory.flaky.note(&sha("x"), &["t".into()], Millis(1));
    memory.landed(waiting("a b c"), &run("main", "b", RunState::Green).links);
    assert_eq!(
        memory.passed,
        BTreeMap::from([("c".to_owned(), 1), ("a".to_owned(), 1)].map(|(name, n)| (TaskId::stored(name), n))),
        "both were to land before b"
    );
    let before = memory.clone();
    let view = memory.view(now(), waiting("a c"), &BTreeMap::new());
    assert_eq!(view.entries[0].change.task.as_str(), "c");
    memory.take_back(view);
    assert_eq!(memory, before);
    let text = serde_json::to_string(&memory).expect("plain data");
    assert_eq!(Memory::stored(Some(&text)), memory);
    assert_eq!(Memory::stored(Some("{\"runs\":[]}")), Memory::default(), "what is missing is empty");
    assert_eq!(Memory::stored(Some("nonsense")), Memory::default());
}

#[test]
fn a_reader_sees_what_the_plan_sees() {
    let mut memory = Memory { base: Some(sha("candidate")), ..Memory::default() };
    memory.runs = vec![run("candidate", "a", RunState::Open)];
    let stands = BTreeMap::from([(change("b"), Stand::Held { by: BTreeSet::from([TaskId::stored("a")]) })]);
    let planned = Now { main: sha("candidate"), ..now() };
    let view = memory.view(planned, waiting("a b"), &stands);
    memory.take_back(view.clone());
    assert_eq!(memory.look(now(), waiting("a b")), view);
    assert!(memory.look(now(), waiting("b")).runs == view.runs, "reading takes nothing away");
}

#[test]
fn an_alarm_is_raised_once_and_cleared_when_the_entry_leaves() {
    let mut memory = Memory::default();
    let limit = Span::mins(5);
    let entries = waiting("a b");
    assert_eq!(memory.next_alarm(limit, &entries), Some(Millis(0) + limit));
    let late = Millis(1) + limit;
    let raised = memory.raise_alarms(late, limit, &entries, |entry| format!("{} is held", entry.change.task));
    let held: Vec<&str> = raised.iter().map(|(_, alarm)| alarm.held.as_str()).collect();
    assert_eq!(held, ["a is held", "b is held"]);
    assert_eq!(raised[1].1.waited, limit);
    assert!(memory.raise_alarms(late, limit, &entries, |_| String::new()).is_empty(), "once");
    assert_eq!(memory.next_alarm(limit, &entries), None);
    memory.keep(&waiting("b"));
    assert_eq!(memory.alarms.keys().map(TaskId::as_str).collect::<Vec<_>>(), ["b"]);
}

#[test]
fn everybody_is_told_what_holds_them() {
    let mut view = view(Policy::Ladder, 2, "a b c d e");
    view.runs = vec![
        run("old", "a", RunState::Green),
        run("main", "b c", RunState::Open),
        run("main", "d e", red("t")),
    ];
    let held = |view: &windlass_core::queue::View, name: &str| hold(view, &change(name));
    assert_eq!(held(&view, "a"), Some(Hold::Proven));
    assert_eq!(held(&view, "b"), Some(Hold::Tested { others: 1 }));
    assert_eq!(held(&view, "d"), Some(Hold::Suspected { others: 1 }));
    assert_eq!(held(&view, "nobody"), None);
    view.runs.push(run("main", "d", red("u")));
    assert_eq!(held(&view, "d"), Some(Hold::Doubted));
    view.entries[0].stand = Stand::Held { by: BTreeSet::from([TaskId::stored("b")]) };
    assert_eq!(held(&view, "a"), Some(Hold::Behind { by: BTreeSet::from([TaskId::stored("b")]) }));
    view.landing = true;
    assert_eq!(held(&view, "a"), Some(Hold::Landing));
    view.paused = Some(Pause { reason: "release".into(), by: Some("ann".into()) }.sentence());
    let told = held(&view, "a").map(|hold| hold.sentence());
    assert_eq!(told.as_deref(), Some("the queue is paused: ann paused it: release"));
    assert!(holds(&view).iter().all(|hold| hold.word() == "paused"));
}

#[test]
fn holds_are_said_in_words_and_by_issues() {
    let by = BTreeSet::from([TaskId::stored("12.1"), TaskId::stored("odd")]);
    let sentence = Hold::Behind { by }.sentence();
    assert_eq!(sentence, "it does not merge on top of #12, odd, which goes first");
    assert_eq!(Hold::Tested { others: 1 }.sentence(), "it is being tested with one other");
    assert!(Hold::Suspected { others: 3 }.sentence().starts_with("a test of it and 3 others failed"));
    let queue = view(Policy::Ladder, 2, "a b");
    assert_eq!(holds(&queue).iter().map(Hold::word).collect::<Vec<_>>(), ["ready", "ready"]);
}

#[test]
fn a_pause_is_read_back_with_who_asked_for_it() {
    let pause = Pause { reason: "release".into(), by: Some("ann".into()) };
    assert_eq!(Pause::stored(&pause.text()), pause);
    assert_eq!(Pause::stored("main was rewritten").sentence(), "main was rewritten");
}

fn clock(test: Span, tests: usize) -> Clock {
    let mut clock = Clock::default();
    (0..tests).for_each(|_| clock.tested(test));
    clock
}

#[test]
fn landings_are_expected_by_place_by_running_tests_and_by_the_policys_rate() {
    let now = Millis(1_000_000);
    let mut queue = view(Policy::Serial, 1, "a b c");
    let silent = outlook(&queue, &Clock::default(), now, |_| None);
    assert!(silent.landings.iter().all(|(_, at)| at.is_none()), "no test has ended yet");
    let clock = clock(Span::mins(10), 3);
    let minutes = |queue: &windlass_core::queue::View, started: Option<Millis>| -> Vec<i64> {
        let expected = outlook(queue, &clock, now, |_| started).landings;
        expected.iter().map(|(_, at)| at.expect("a test has ended").since(now).0 / 60_000).collect()
    };
    let each = 10.0 / landed_per_test(Policy::Serial, queue.rate.bad(), 1);
    assert!((each - 11.05).abs() < 0.01, "{each}");
    assert_eq!(minutes(&queue, None), [10, 21, 32]);
    queue.runs = vec![run("main", "a", RunState::Open)];
    let half = Some(Millis(now.0 - Span::mins(5).0));
    assert_eq!(minutes(&queue, half), [5, 21, 32], "half of its test is over, and it is most likely green");
    queue.policy = Policy::Ladder;
    assert!(minutes(&queue, None)[2] < 32);
    queue.paused = Some("release".into());
    assert!(outlook(&queue, &clock, now, |_| None).landings.iter().all(|(_, at)| at.is_none()));
}

#[test]
fn needed_slots_follow_arrivals_and_test_time() {
    let mut clock = clock(Span::mins(10), 5);
    clock.tested(Span::hours(9));
    assert_eq!(clock.usual_test(), Some(Span::mins(10)), "one slow test is not the rule");
    assert_eq!(clock.arrivals_per_test(Millis(0)), None);
    let minute = |n: i64| Millis(Span::mins(n).0);
    for n in 0..20 {
        clock.arrived(minute(2 * n));
        clock.arrived(minute(2 * n));
    }
    let queue = view(Policy::Ladder, 2, "a");
    let seen = outlook(&queue, &clock, minute(40), |_| None);
    assert_eq!(seen.arrivals_per_test, Some(5.0), "twenty in forty minutes, ten minutes a test");
    assert_eq!(seen.needed_slots, Some(4));
}
