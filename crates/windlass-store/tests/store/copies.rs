//! Backups and exports, taken while work goes on.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::atomic::{AtomicBool, Ordering};

use rusqlite::Connection;
use serde_json::Value;
use windlass_core::command::Command;
use windlass_core::task::Effect;
use windlass_core::time::Millis;
use windlass_store::{Op, SqliteStore, Store, StoreError};

use crate::common::{commit, daemon, insert, intend, paused, task, usage};

#[test]
fn a_backup_is_whole_while_work_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let store = daemon(&folder.path().join("state")).unwrap();
    let before = commit(&store, (0..3_000).map(paused).collect()).unwrap();
    let to = folder.path().join("copy/windlass.db");
    fs::create_dir(to.parent().unwrap()).unwrap();
    let stop = AtomicBool::new(false);
    let after = std::thread::scope(|scope| {
        let writing = scope.spawn(|| {
            let mut last = 0;
            while !stop.load(Ordering::Relaxed) {
                last = commit(&store, vec![paused(1)]).unwrap();
            }
            last
        });
        store.backup(&to).unwrap();
        stop.store(true, Ordering::Relaxed);
        writing.join().unwrap()
    });

    assert_eq!(fs::metadata(&to).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::read_dir(to.parent().unwrap()).unwrap().count(), 1, "one file, and nothing beside it");
    // Byte 18 of a SQLite file says what it needs to be opened: 1 the file alone, 2 a log beside it.
    assert_eq!(fs::read(&to).unwrap()[18], 1);
    let whole: String =
        Connection::open(&to).unwrap().query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(whole, "ok");
    fs::set_permissions(to.parent().unwrap(), fs::Permissions::from_mode(0o700)).unwrap();
    let copy = daemon(to.parent().unwrap()).unwrap();
    assert!((before..=after).contains(&copy.last_seq().unwrap()));
}

#[test]
fn a_backup_never_overwrites() {
    let folder = tempfile::tempdir().unwrap();
    let store = daemon(&folder.path().join("state")).unwrap();
    let to = folder.path().join("copy.db");
    fs::write(&to, "precious").unwrap();
    assert!(matches!(store.backup(&to), Err(StoreError::Exists { path }) if path == to));
    assert_eq!(fs::read(&to).unwrap(), b"precious");
    let nowhere = store.backup(&folder.path().join("none/copy.db"));
    assert!(matches!(nowhere, Err(StoreError::Io { .. })), "{nowhere:?}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
}

#[test]
fn an_export_has_every_row() {
    let folder = tempfile::tempdir().unwrap();
    let store = daemon(folder.path()).unwrap();
    let other = Connection::open(folder.path().join("windlass.db")).unwrap();
    other
        .execute_batch(
            "CREATE TABLE forge_thing (x, y); INSERT INTO forge_thing VALUES (x'00ff', 1.5), (NULL, 'a\"b')",
        )
        .unwrap();
    fill(&store);
    let (head, rows) = exported(&store);
    assert_eq!((&head["schema"], &head["version"]), (&Value::from("windlass.export/1"), &Value::from(3)));
    let mut told = 0;
    for table in head["tables"].as_array().unwrap().iter().map(|table| table.as_str().unwrap()) {
        let stored: u32 =
            other.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap();
        let lines = rows.iter().filter(|row| row["table"] == table).count();
        assert_eq!(lines, stored as usize, "{table}");
        told += lines;
    }
    assert_eq!(told, rows.len());
    let things: Vec<&Value> =
        rows.iter().filter(|row| row["table"] == "forge_thing").map(|row| &row["row"]).collect();
    assert_eq!(*things[0], serde_json::json!({ "x": { "hex": "00ff" }, "y": 1.5 }));
    assert_eq!(*things[1], serde_json::json!({ "x": null, "y": "a\"b" }));
    let task = rows.iter().find(|row| row["table"] == "task").unwrap();
    assert_eq!((&task["row"]["id"], &task["row"]["version"]), (&Value::from("1.1"), &Value::from(1)));
}

#[test]
fn a_store_in_memory_is_copied_too() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open_in_memory().unwrap();
    fill(&store);
    store.backup(&folder.path().join("windlass.db")).unwrap();
    assert_eq!(exported(&daemon(folder.path()).unwrap()).1.len(), exported(&store).1.len());
}

fn fill(store: &SqliteStore) {
    let task = task(1, 1);
    let ops = vec![
        insert(&task),
        paused(1),
        paused(2),
        intend("k", Some(&task), Effect::CloseIssue),
        Op::AddUsage(usage(1, 1, 1)),
        Op::SetControl { key: "a".into(), value: Some("b".into()) },
    ];
    commit(store, ops).expect("an empty store takes all of it");
    store
        .post_command(&Command::Pause { reason: None }, "ann", Millis(1))
        .expect("an empty store takes a command");
}

fn exported(store: &SqliteStore) -> (Value, Vec<Value>) {
    let mut out = Vec::new();
    store.export(&mut out).expect("memory is never full");
    let text = String::from_utf8(out).expect("JSON is text");
    let mut lines = text.lines().map(|line| serde_json::from_str(line).expect("each line is JSON"));
    let head = lines.next().expect("the head comes first");
    let mut rows: Vec<Value> = lines.collect();
    let end = rows.pop().expect("the end comes last");
    assert_eq!(end, serde_json::json!({ "end": true, "rows": rows.len() }));
    (head, rows)
}
