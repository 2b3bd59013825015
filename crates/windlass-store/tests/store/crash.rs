//! Processes that write at once, and processes that are killed while they write.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write as _};
use std::path::Path;
use std::process::Stdio;

use rusqlite::Connection;
use windlass_core::command::Command;
use windlass_core::task::Effect;
use windlass_core::time::Millis;
use windlass_store::{EventQuery, Mode, SqliteStore, Store};

use crate::common::{commit, daemon, intend, paused, test_child, test_state};

const KILLS: usize = 5;
const ACKNOWLEDGED: usize = 200;

#[test]
fn what_was_acknowledged_outlives_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let mut acknowledged = BTreeSet::new();
    for round in 0..KILLS {
        let before = acknowledged.len();
        acknowledged.extend(write_until_killed(folder.path(), round));
        assert!(acknowledged.len() >= before + ACKNOWLEDGED);

        let whole: String = Connection::open(folder.path().join("windlass.db"))
            .unwrap()
            .query_row("PRAGMA integrity_check", [], |row| row.get(0))
            .unwrap();
        assert_eq!(whole, "ok");
        let store = daemon(folder.path()).expect("the lock goes with the process");
        let stored = store.pending_effects().unwrap();
        let keys: BTreeSet<String> = stored.iter().map(|effect| effect.key.to_string()).collect();
        assert_eq!(acknowledged.difference(&keys).count(), 0, "acknowledged and lost");
        let lines = store.events(&EventQuery::default()).unwrap().len();
        assert_eq!(lines, keys.len(), "each write has an effect and a line of the log, or neither");
    }
}

fn write_until_killed(state: &Path, round: usize) -> Vec<String> {
    let mut child = test_child("crash::child_writes_until_killed", state)
        .env("WINDLASS_TEST_ROUND", round.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let key = |line: String| line.strip_prefix("stored ").map(str::to_owned);
    let mut keys: Vec<String> = said.by_ref().filter_map(key).take(ACKNOWLEDGED).collect();
    child.kill().unwrap();
    keys.extend(said.filter_map(key));
    child.wait().unwrap();
    keys
}

#[test]
#[ignore = "a child process of another test"]
fn child_writes_until_killed() {
    let Some(state) = test_state() else { return };
    let round = std::env::var("WINDLASS_TEST_ROUND").unwrap();
    let store = daemon(&state).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (store, round) = (&store, &round);
            scope.spawn(move || {
                for n in 0.. {
                    let key = format!("{round}-{thread}-{n}");
                    commit(store, vec![paused(1), intend(&key, None, Effect::CloseIssue)]).unwrap();
                    // Whole lines: the pipe is cut off anywhere.
                    std::io::stdout().write_all(format!("stored {key}\n").as_bytes()).unwrap();
                }
            });
        }
    });
}

#[test]
fn a_client_and_the_daemon_write_at_once() {
    const EACH: i64 = 200;
    let folder = tempfile::tempdir().unwrap();
    let store = daemon(folder.path()).unwrap();
    let mut child =
        test_child("crash::child_posts_commands", folder.path()).stdout(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(said.any(|line| line == "ready"));
    for n in 0..EACH {
        commit(&store, vec![paused(n)]).unwrap();
    }
    assert_eq!(said.filter(|line| line == "posted").count(), 200);
    assert!(child.wait().unwrap().success());
    assert_eq!(store.last_seq().unwrap(), EACH);
    let posted: Vec<i64> = store.waiting_commands().unwrap().iter().map(|command| command.at.0).collect();
    assert_eq!(posted, (0..EACH).collect::<Vec<_>>());
}

#[test]
#[ignore = "a child process of another test"]
fn child_posts_commands() {
    let Some(state) = test_state() else { return };
    let client = SqliteStore::open(&state, Mode::Client).unwrap();
    println!("\nready");
    for n in 0..200 {
        client.post_command(&Command::Pause { reason: None }, "child", Millis(n)).unwrap();
        println!("posted");
    }
}

#[test]
fn many_open_a_new_folder_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state");
    let children: Vec<_> = (0..8)
        .map(|_| test_child("crash::child_posts_commands", &state).stdout(Stdio::piped()).spawn().unwrap())
        .collect();
    let store = daemon(&state).expect("clients never stand in a daemon's way");
    for child in children {
        let done = child.wait_with_output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stdout));
    }
    assert_eq!(store.waiting_commands().unwrap().len(), 8 * 200);
}
