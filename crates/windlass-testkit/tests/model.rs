//! Every state that the models can reach keeps the promises, and without each guard some promise breaks.

use windlass_testkit::model::Searched;
use windlass_testkit::model::landing::{Guard, Landing};
use windlass_testkit::model::machine::Machine;

fn landing() -> Landing {
    Landing { changes: 3, bad: 1, crashes: 2, pushes: 1, zombies: 1, without: None }
}

#[track_caller]
fn holds(searched: &Searched) {
    assert_eq!(searched.broken, [], "{} states", searched.states);
    assert!(searched.unseen.is_empty(), "never seen: {:?}", searched.unseen);
    assert!(searched.states > 1_000, "{} states are no search", searched.states);
}

#[track_caller]
fn breaks(guard: Guard, promise: &str) {
    let searched = Landing { without: Some(guard), ..landing() }.search();
    let broken: Vec<&str> = searched.broken.iter().map(|broken| broken.promise).collect();
    assert!(broken.contains(&promise), "{broken:?}");
}

#[test]
fn the_landing_protocol_keeps_its_promises() {
    holds(&landing().search());
}

#[test]
fn without_the_swap_a_direct_push_is_lost() {
    breaks(Guard::CompareAndSwap, "a direct push is never lost");
}

#[test]
fn without_containment_a_change_lands_twice() {
    breaks(Guard::Containment, "no change lands twice");
}

#[test]
fn without_recovery_work_is_stuck() {
    breaks(Guard::Recovery, "when nothing can be done any more, everything is settled");
}

#[test]
fn without_the_verdict_a_failing_change_is_on_main() {
    breaks(Guard::Verdict, "no failing change is on main");
}

#[test]
fn the_task_machine_keeps_its_promises() {
    let searches = Machine::worlds().into_iter().map(Machine::search);
    holds(&searches.reduce(Searched::and).unwrap());
}
