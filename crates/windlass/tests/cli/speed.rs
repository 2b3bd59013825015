//! `status` on a factory with a long past. Run it with `cargo test --release -- --ignored`.

use std::time::{Duration, Instant};

use windlass_core::journal::{Entry, Fact, FactoryFact};
use windlass_core::task::State;
use windlass_core::time::{Millis, Span};
use windlass_store::{Op, Store, Write};

use crate::common::Machine;
use crate::memory::{daemon, now, sha, task};

const TASKS: u64 = 10_000;
const EVENTS: usize = 1_000_000;
const LIVE: u64 = 9;

#[test]
#[ignore = "writes a million events, and means something in release only"]
fn status_is_fast_after_a_million_events() {
    let machine = Machine::with_project();
    let store = daemon(&machine);
    let old = Millis(now().0 - Span::days(30).0);
    let insert = |issue: u64| {
        let running = issue > TASKS - LIVE;
        let state = if running { State::Running { heard: None } } else { State::Merged { commit: sha('a') } };
        let mut task = task(issue, state);
        task.since = if running { now() } else { old };
        Op::InsertTask { task, wake_at: None }
    };
    store.commit(Write::from((1..=TASKS).map(insert).collect::<Vec<_>>())).unwrap();
    let event =
        || Op::Log(Entry { at: old, task: None, issue: None, fact: Fact::Factory(FactoryFact::Paused) });
    for _ in 0..EVENTS / 10_000 {
        store.commit(Write::from((0..10_000).map(|_| event()).collect::<Vec<_>>())).unwrap();
    }
    assert_eq!(machine.json(&["status"])["working"]["tasks"].as_array().unwrap().len() as u64, LIVE);
    let times: Vec<Duration> = (0..5)
        .map(|_| {
            let begun = Instant::now();
            assert_eq!(machine.run(&["status"]).code, 0);
            begun.elapsed()
        })
        .collect();
    let best = times.iter().min().unwrap();
    println!("status: {times:?}");
    assert!(*best <= Duration::from_millis(50), "{times:?}");
}
