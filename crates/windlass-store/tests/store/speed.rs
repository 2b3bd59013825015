//! How fast the store answers when it has become large. Measured by hand, in a release build.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use windlass_core::task::State;
use windlass_store::{EventQuery, Op, Store};

use crate::common::{commit, daemon, in_state, insert, moved, sha, task};

fn timed<T>(what: &str, run: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    let done = run();
    let took = start.elapsed();
    println!("{what}: {took:?}");
    (done, took)
}

#[test]
#[ignore = "measures; run it in a release build"]
fn ten_thousand_tasks_are_counted_in_milliseconds() {
    let folder = tempfile::tempdir().unwrap();
    let store = daemon(folder.path()).unwrap();
    let all: Vec<Op> = (1..=10_000)
        .map(|issue| {
            if issue <= 50 {
                task(issue, 1)
            } else {
                in_state(task(issue, 1), State::Merged { commit: sha('a') }, 1)
            }
        })
        .map(|task| insert(&task))
        .collect();
    commit(&store, all).unwrap();
    store.counts_by_state().unwrap();
    let (counts, took) = timed("counts_by_state", || store.counts_by_state().unwrap());
    assert_eq!(counts["MERGED"], 9_950);
    assert!(took < Duration::from_millis(5), "{took:?}");
    let (live, took) = timed("live_tasks", || store.live_tasks().unwrap());
    assert_eq!(live.len(), 50);
    assert!(took < Duration::from_millis(5), "{took:?}");
}

#[test]
#[ignore = "measures; run it in a release build"]
fn a_million_events_stream_fast() {
    const EVENTS: usize = 1_000_000;
    let folder = tempfile::tempdir().unwrap();
    let store = daemon(folder.path()).unwrap();
    let task = task(1, 1);
    for _ in 0..EVENTS / 10_000 {
        commit(&store, (0..10_000).map(|_| moved(&task, "RUNNING", "AWAITING_CI")).collect()).unwrap();
    }
    for kinds in [vec![], vec!["task_moved".to_owned()], vec!["task_moved".to_owned(), "paused".to_owned()]] {
        let mut seen = 0;
        let query = EventQuery { kinds, ..EventQuery::default() };
        let each = &mut |_| {
            seen += 1;
            ControlFlow::Continue(())
        };
        let (_, took) = timed("a million events", || store.for_each_event(&query, each).unwrap());
        assert_eq!(seen, EVENTS);
        assert!(took < Duration::from_secs(10), "{took:?}");
    }
}

#[test]
#[ignore = "measures; run it in a release build"]
fn writers_share_commits() {
    let folder = tempfile::tempdir().unwrap();
    let store = daemon(folder.path()).unwrap();
    let task = task(1, 1);
    for writers in [1, 4, 16, 64] {
        let each = 3_200 / writers;
        timed(&format!("3200 commits by {writers} writers"), || {
            std::thread::scope(|scope| {
                for _ in 0..writers {
                    scope.spawn(|| {
                        for _ in 0..each {
                            commit(&store, vec![moved(&task, "A", "B")]).unwrap();
                        }
                    });
                }
            });
        });
    }
    assert_eq!(store.last_seq().unwrap(), 4 * 3_200);
}
