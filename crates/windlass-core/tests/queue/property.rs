//! Whatever the queue knows: planning ends, and planning again adds nothing.

use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any};
use proptest::{prop_assert, prop_oneof, proptest};
use windlass_core::queue::{Act, Change, History, Link, MainIs, Policy, Run, RunState, View, plan};

use crate::support::{broke, red, run, sha, view};

/// A run of some of six changes, of whom not all need to wait, on one of three mains.
fn runs() -> impl Strategy<Value = Run> {
    let state = prop_oneof![
        4 => Just(RunState::Open),
        2 => Just(RunState::Green),
        2 => Just(red("t")),
        1 => Just(red("u")),
        1 => Just(broke()),
    ];
    let base = prop_oneof![3 => Just("main"), 1 => Just("maina"), 1 => Just("old")];
    (base, any::<u8>(), state).prop_map(|(base, members, state)| {
        let names: Vec<&str> = "a b c d e f"
            .split(' ')
            .enumerate()
            .filter(|(at, _)| members >> at & 1 == 1)
            .map(|(_, n)| n)
            .collect();
        run(base, &names.join(" "), state)
    })
}

fn policies() -> impl Strategy<Value = Policy> {
    prop_oneof![Just(Policy::Serial), Just(Policy::Batch), Just(Policy::Chain), Just(Policy::Ladder)]
}

fn mains() -> impl Strategy<Value = MainIs> {
    prop_oneof![Just(MainIs::Green), Just(MainIs::Untested), Just(MainIs::Outside)]
}

/// Does what the engine does with tests; the same changes on the same main are the same candidate.
fn start(view: &mut View, changes: Vec<Change>) {
    let mut path = "new".to_owned();
    let links = changes.into_iter().map(|change| {
        path = format!("{path}{}", change.task);
        Link { candidate: sha(&path), tree: sha(&path), change, history: History::Merge }
    });
    let links = links.collect();
    view.runs.push(Run { base: view.main.clone(), links, state: RunState::Open });
}

proptest! {
    #[test]
    fn planning_again_adds_nothing_and_what_is_stopped_is_not_asked_for_again(
        policy in policies(), slots in 1usize..5, waiting in any::<u8>(), main_is in mains(), runs in vec(runs(), 0..6),
        along in any::<bool>(),
    ) {
        let names: Vec<&str> =
            "a b c d e f".split(' ').enumerate().filter(|(at, _)| waiting >> at & 1 == 1).map(|(_, n)| n).collect();
        let mut view = view(policy, slots, &names.join(" "));
        view.main_is = main_is;
        if along {
            view.main = sha("maina");
        }
        // An engine never has more tests open than slots.
        let mut open = 0;
        view.runs = runs;
        view.runs.retain(|run| {
            open += usize::from(run.state == RunState::Open);
            run.state != RunState::Open || open <= slots
        });
        let acts = plan(&view);
        if !acts.iter().all(|act| matches!(act, Act::Test { .. } | Act::Cancel { .. })) {
            return Ok(());
        }
        for act in acts {
            match act {
                Act::Cancel { run } => {
                    prop_assert!(run.state == RunState::Open);
                    let at = view.runs.iter().position(|other| *other == run);
                    view.runs.remove(at.expect("only what runs is stopped"));
                    let tip: Vec<&Change> = run.links.iter().map(|link| &link.change).collect();
                    let again = plan(&view).into_iter().any(|act| {
                        matches!(act, Act::Test { changes, .. } if changes.iter().collect::<Vec<_>>() == tip)
                            && run.base == view.main
                    });
                    prop_assert!(!again, "{run:?} would be asked for again at once");
                }
                Act::Test { changes, .. } => start(&mut view, changes),
                other => panic!("{other:?}"),
            }
        }
        let open = view.runs.iter().filter(|run| run.state == RunState::Open).count();
        prop_assert!(open <= slots, "{open} tests in {slots} slots");
        let again = plan(&view);
        prop_assert!(again.is_empty(), "{again:?}");
    }
}
