//! The queue's plan on small cases: what others shipped as bugs, and the rules that the simulation cannot show.

use std::collections::{BTreeMap, BTreeSet};

use windlass_core::id::TaskId;
use windlass_core::queue::rate::{self, Rate};
use windlass_core::queue::{Act, Flake, MainIs, Policy, RunState, Stand, forget, plan};
use windlass_core::time::Millis;

use crate::support::{broke, change, red, run, sha, view, words};

#[test]
fn the_oldest_goes_first_and_nothing_is_tested_twice() {
    let mut serial = view(Policy::Serial, 4, "a b c");
    assert_eq!(words(&serial), ["test a"]);
    serial.runs.push(run("main", "a", RunState::Open));
    assert_eq!(words(&serial), [""; 0]);
    serial.runs[0].state = RunState::Green;
    assert_eq!(words(&serial), ["land a"]);
    assert_eq!(words(&view(Policy::Chain, 3, "a b c d")), ["test a", "test a b", "test a b c"]);
    assert_eq!(words(&view(Policy::Batch, 3, "a b c d")), ["test a b c d"]);
}

#[test]
fn regression_newest_first_does_not_starve_the_oldest() {
    for slots in [1, 2, 4, 8] {
        let acts = plan(&view(Policy::Ladder, slots, "a b c d e f g h"));
        let Act::Test { changes, .. } = &acts[0] else { panic!("{acts:?}") };
        assert_eq!(changes[0].task.as_str(), "a", "{slots} slots");
    }
}

#[test]
fn regression_the_lowest_numbered_change_does_not_starve_behind_batches() {
    let mut late = view(Policy::Ladder, 4, "a b c d e f");
    late.entries[0].passed = 3;
    late.runs.push(run("main", "a b", red("t")));
    let first = words(&late).remove(0);
    assert_eq!(first, "test a", "of those suspected with it, only half");
}

#[test]
fn a_green_prefix_lands_whatever_was_red_below_it() {
    let mut chain = view(Policy::Chain, 2, "a b c");
    chain.runs = vec![run("main", "a", red("flaky")), run("main", "a b", RunState::Green)];
    assert_eq!(words(&chain), ["land a b"]);
    forget(&mut chain, Millis(5));
    forget(&mut chain, Millis(9));
    let flake = Flake { count: 1, first: Millis(5), last: Millis(5), tree: sha("maina") };
    let ledger = BTreeMap::from([("flaky".to_owned(), flake)]);
    assert_eq!(*chain.flaky.tests(), ledger, "its red is no reason, so the test is flaky; counted once");
}

#[test]
fn a_longer_run_still_lands_when_main_went_along_it() {
    let mut chain = view(Policy::Chain, 2, "b");
    chain.main = sha("maina");
    chain.landed.insert(change("a"));
    chain.runs = vec![run("main", "a b", RunState::Green)];
    assert_eq!(words(&chain), ["land b"]);
    chain.main = sha("elsewhere");
    assert!(!words(&chain).iter().any(|word| word.starts_with("land")), "tested on another main");
}

#[test]
fn a_run_with_somebody_who_left_never_lands() {
    let mut gone = view(Policy::Ladder, 1, "b");
    gone.runs = vec![run("main", "a b", RunState::Green)];
    assert_eq!(words(&gone), ["test b"], "b passed, but not in a tree that may land");
}

#[test]
fn a_single_red_is_tested_again_before_anybody_is_blamed() {
    let mut once = view(Policy::Ladder, 2, "a");
    once.runs = vec![run("main", "a", red("t"))];
    assert_eq!(words(&once), ["again a"]);
    once.runs.push(run("main", "a", red("t")));
    assert_eq!(words(&once), ["eject a"]);
}

#[test]
fn the_same_failing_tests_as_the_group_that_suspected_it_are_enough() {
    let mut same = view(Policy::Ladder, 2, "a b");
    same.runs = vec![run("main", "a b", red("t")), run("main", "a", red("t"))];
    assert_eq!(words(&same), ["eject a"]);
    same.runs[1] = run("main", "a", red("other"));
    assert!(!words(&same).contains(&"eject a".to_owned()));
    same.flaky.note(&sha("x"), &["t".into()], Millis(0));
    same.runs[1] = run("main", "a", red("t"));
    assert!(!words(&same).contains(&"eject a".to_owned()), "that test fails without a reason");
}

#[test]
fn two_reds_with_nothing_in_common_are_chance() {
    let mut chance = view(Policy::Serial, 1, "a");
    chance.runs = vec![run("main", "a", red("t")), run("main", "a", red("u"))];
    assert_eq!(words(&chance), ["again a"]);
    chance.runs.push(run("main", "a", red("v")));
    assert_eq!(words(&chance), ["eject a"]);
}

#[test]
fn a_red_that_is_explained_by_an_ejected_entry_blames_nobody_else() {
    let mut explained = view(Policy::Serial, 1, "b");
    explained.runs = vec![run("main", "a b", red("t"))];
    assert_eq!(words(&explained), ["test b"]);
}

#[test]
fn what_could_not_run_blames_nobody_and_three_in_a_row_pause() {
    let mut infra = view(Policy::Serial, 1, "a");
    infra.runs = vec![run("main", "a", broke()), run("main", "a", broke())];
    assert_eq!(words(&infra), ["test a"]);
    infra.runs.push(run("main", "a", broke()));
    assert_eq!(words(&infra), ["pause: tests could not run 3 times in a row: no disk"]);
    infra.runs.insert(1, run("main", "a", red("t")));
    assert_eq!(words(&infra), ["again a"], "not in a row");
}

#[test]
fn regression_a_head_that_never_gets_a_test_does_not_block_those_behind_it() {
    let mut stuck = view(Policy::Ladder, 2, "a b c");
    stuck.runs = vec![run("main", "a", RunState::Open)];
    assert!(words(&stuck).iter().any(|word| word.contains('b') && word.contains('c')), "{:?}", words(&stuck));
}

#[test]
fn main_itself_is_tested_before_somebody_is_blamed_on_an_unknown_main() {
    let mut unknown = view(Policy::Serial, 1, "a");
    unknown.main_is = MainIs::Untested;
    unknown.runs = vec![run("main", "a", red("t")), run("main", "a", red("t"))];
    assert_eq!(words(&unknown)[0], "test ");
    unknown.runs.push(run("main", "", red("t")));
    assert_eq!(words(&unknown)[0], "again ");
    unknown.runs.push(run("main", "", red("t")));
    assert_eq!(words(&unknown), ["pause: main's own tests fail"]);
    unknown.runs.truncate(2);
    unknown.runs.push(run("main", "", RunState::Green));
    assert_eq!(words(&unknown), ["eject a"]);
}

/// Found by the simulator: the answer was known at once, was written down as one more red, and was asked for again.
#[test]
fn regression_who_is_blamed_is_not_tested_again_while_main_is() {
    for policy in Policy::ALL {
        let mut view = view(policy, 2, "a");
        view.main_is = MainIs::Untested;
        view.runs = vec![run("main", "a", red("t")), run("main", "a", red("t"))];
        assert_eq!(words(&view), ["test "], "{policy:?}");
        view.runs.push(run("main", "", RunState::Open));
        assert_eq!(words(&view), Vec::<String>::new(), "{policy:?}");
    }
}

/// Two that pass alone and fail together: one build that fails is one doubt, however often its answer is read.
#[test]
fn a_proven_entry_that_fails_on_the_new_main_is_tested_anew() {
    let mut view = view(Policy::Ladder, 3, "b");
    view.main = sha("olda");
    view.landed.insert(change("a"));
    view.runs = vec![run("old", "a b", red("t")), run("old", "b", RunState::Green)];
    assert_eq!(words(&view), ["test b"]);
    view.runs.push(run("olda", "b", red("t")));
    assert_eq!(words(&view), ["again b"]);
    view.runs.push(run("olda", "b", red("t")));
    assert_eq!(words(&view), ["eject b"]);
}

#[test]
fn after_two_ejections_in_a_row_main_is_the_suspect() {
    let mut row = view(Policy::Serial, 1, "c");
    row.rate.ejected();
    row.rate.ejected();
    row.runs = vec![run("main", "c", red("t")), run("main", "c", red("t"))];
    assert_eq!(words(&row)[0], "again ");
}

#[test]
fn conflicting_and_contained_entries_leave_and_held_ones_wait_apart() {
    let mut stands = view(Policy::Batch, 1, "a b c");
    stands.entries[0].stand = Stand::Conflict { files: vec!["x".into()], commits: Vec::new() };
    stands.entries[1].stand = Stand::Contained;
    assert_eq!(words(&stands), ["return a", "settle b"]);
    let mut held = view(Policy::Batch, 1, "a b c");
    held.entries[1].stand = Stand::Held { by: BTreeSet::from([TaskId::stored("a")]) };
    assert_eq!(words(&held), ["test a c"]);
}

#[test]
fn entries_that_fail_only_together_are_told_apart() {
    let mut both = view(Policy::Ladder, 1, "a b");
    both.runs = vec![
        run("old", "a", RunState::Green),
        run("old", "b", RunState::Green),
        run("main", "a b", red("t")),
        run("main", "a b", red("t")),
    ];
    assert_eq!(words(&both), ["test a"], "proven no longer, they are halved");
}

#[test]
fn regression_two_at_once_never_push_over_each_other() {
    let mut landing = view(Policy::Ladder, 2, "a b");
    landing.runs = vec![run("main", "a", RunState::Green), run("main", "b", RunState::Green)];
    assert_eq!(plan(&landing).len(), 1, "one landing at a time");
    landing.landing = true;
    assert_eq!(plan(&landing), []);
    landing.landing = false;
    landing.paused = Some("main was rewritten".into());
    assert_eq!(plan(&landing), []);
}

#[test]
fn the_bad_rate_follows_what_is_seen() {
    let mut rate = Rate::default();
    assert!((rate.bad() - 0.05).abs() < 1e-9, "the prior: one in twenty");
    (0..200).for_each(|_| rate.landed());
    assert!(rate.bad() < 0.01);
    (0..200).for_each(|_| rate.ejected());
    assert!(rate.bad() > 0.9, "older outcomes are forgotten");
}

#[test]
fn a_queue_that_has_seen_nothing_but_bad_changes_goes_on() {
    for slots in [1, 2, 8] {
        let mut gloomy = view(Policy::Ladder, slots, "a b");
        (0..200).for_each(|_| gloomy.rate.ejected());
        assert!(!words(&gloomy).is_empty(), "{slots} slots");
    }
}

#[test]
fn needed_slots_and_expected_waits_follow_the_bound() {
    assert!((rate::bound(0.05, 1) - 3.317).abs() < 0.001);
    assert_eq!(rate::needed_slots(0.1, 0.05), 1);
    assert_eq!(rate::needed_slots(5.3, 0.05), 4);
    assert_eq!(rate::needed_slots(21.0, 0.05), 13);
    let ladder = |slots| rate::landed_per_test(Policy::Ladder, 0.05, slots);
    assert!(ladder(4) < ladder(8) && rate::landed_per_test(Policy::Serial, 0.05, 8) < ladder(1));
}

#[test]
fn a_test_whose_members_have_all_left_is_stopped() {
    let mut gone = view(Policy::Ladder, 1, "c");
    gone.runs = vec![run("main", "a b", RunState::Open)];
    assert_eq!(words(&gone), ["cancel a b", "test c"], "its slot is used at once");
    gone.runs = vec![run("main", "a c", RunState::Open)];
    assert_eq!(words(&gone), [""; 0], "if it is green, c has passed");
}

#[test]
fn a_test_of_what_has_landed_or_passed_elsewhere_is_stopped() {
    let mut landed = view(Policy::Ladder, 2, "b");
    landed.main = sha("maina");
    landed.landed.insert(change("a"));
    landed.runs = vec![run("main", "a", RunState::Open)];
    assert_eq!(words(&landed)[0], "cancel a");
    let mut moved = view(Policy::Ladder, 1, "a b");
    moved.main = sha("elsewhere");
    moved.runs = vec![run("main", "a b", RunState::Open)];
    assert_eq!(words(&moved), [""; 0], "it cannot land, but it tells whether they are good");
    moved.runs.insert(0, run("main", "a b c", RunState::Green));
    moved.landed.insert(change("c"));
    assert_eq!(words(&moved), ["cancel a b", "test a b"], "that is known; where main is now they can land");
}

#[test]
fn a_test_of_an_earlier_main_is_stopped_and_one_of_this_main_goes_on() {
    let mut moved = view(Policy::Serial, 2, "a");
    moved.runs = vec![run("old", "", RunState::Open), run("main", "", RunState::Open)];
    let acts = plan(&moved);
    assert!(matches!(&acts[0], Act::Cancel { run } if run.base == sha("old")), "{acts:?}");
    assert_eq!(acts.iter().filter(|act| matches!(act, Act::Cancel { .. })).count(), 1);
}

#[test]
fn a_main_that_somebody_else_made_is_tested_when_a_slot_is_spare() {
    let mut outside = view(Policy::Serial, 2, "a");
    outside.main_is = MainIs::Outside;
    assert_eq!(words(&outside), ["test a", "test "], "after everybody else");
    outside.slots = 1;
    assert_eq!(words(&outside), ["test a"], "no slot is spare");
    outside.slots = 2;
    outside.runs = vec![run("main", "a", RunState::Open), run("main", "", red("t"))];
    assert_eq!(words(&outside), ["again "], "main may fail once without a reason, as everybody may");
    outside.runs.push(run("main", "", red("t")));
    assert_eq!(words(&outside), ["pause: main's own tests fail"]);
    outside.runs = vec![run("main", "a", RunState::Open), run("main", "", RunState::Green)];
    assert_eq!(words(&outside), [""; 0]);
    outside.runs.truncate(1);
    outside.main_is = MainIs::Untested;
    assert_eq!(words(&outside), [""; 0], "the main that we began with is left alone");
}
