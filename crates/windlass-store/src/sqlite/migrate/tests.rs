//! A database of every older version becomes one of today, with all that is in it.

use std::path::Path;

use rusqlite::Connection;
use windlass_core::command::{Answer, Command};
use windlass_core::id::{EffectKey, IssueNumber};
use windlass_core::time::Millis;

use super::{STEPS, known, version};
use crate::{EventQuery, Mode, SqliteStore, Store, StoreError};

fn version_1(folder: &Path) -> Connection {
    let conn = Connection::open(folder.join("windlass.db")).unwrap();
    conn.execute_batch(STEPS[0]).unwrap();
    conn.execute_batch(include_str!("version_1.sql")).unwrap();
    conn.pragma_update(None, "user_version", 1).unwrap();
    conn
}

fn daemon(folder: &Path) -> Result<SqliteStore, StoreError> {
    SqliteStore::open(folder, Mode::Daemon { holder: "new".into(), now: Millis(200) })
}

#[test]
fn version_1_is_brought_up_to_date() {
    let folder = tempfile::tempdir().unwrap();
    let old = version_1(folder.path());
    let store = daemon(folder.path()).unwrap();
    assert_eq!(version(&old).unwrap(), known());
    assert_eq!(store.epoch(), Some(4));
    let task = store.newest_task_of(IssueNumber(1)).unwrap().unwrap();
    assert_eq!((task.value.title.as_str(), task.version), ("Say hello", 1));
    assert_eq!(store.events(&EventQuery::default()).unwrap().len(), 1);
    assert_eq!(store.pending_effects().unwrap()[0].key, EffectKey::new("1.1/1"));
    let answered = store.command(1).unwrap().unwrap();
    assert_eq!(answered.answer, Some(Answer::Done { what: "paused".into() }));
    assert_eq!(answered.answered_at, Some(Millis(90)));
    let waiting = store.command(2).unwrap().unwrap();
    assert_eq!((waiting.command, waiting.answered_at), (Command::Resume, None));
    let number: i64 = old.query_row("SELECT last_number FROM forge_meta", [], |row| row.get(0)).unwrap();
    assert_eq!(number, 7);
}

#[test]
fn a_step_that_fails_leaves_the_version_before_it() {
    let folder = tempfile::tempdir().unwrap();
    let old = version_1(folder.path());
    // In the way of the last thing that step 2 makes.
    old.execute_batch("CREATE TABLE usage_by_time (x)").unwrap();
    assert!(matches!(daemon(folder.path()), Err(StoreError::Sql { .. })));
    assert_eq!(version(&old).unwrap(), 1);
    old.execute_batch("DROP TABLE usage_by_time").unwrap();
    assert_eq!(
        daemon(folder.path())
            .unwrap()
            .task(&windlass_core::id::TaskId::stored("1.1"))
            .unwrap()
            .unwrap()
            .version,
        1
    );
}

#[test]
fn a_client_migrates_only_where_no_daemon_is_at_work() {
    let folder = tempfile::tempdir().unwrap();
    drop(version_1(folder.path()));
    let looked = SqliteStore::open(folder.path(), Mode::ReadOnly);
    assert!(matches!(looked, Err(StoreError::Older { found: 1, holder: None, .. })), "{looked:?}");

    // A daemon of the older program: it holds the lock, and its database has the older version.
    let lock = std::fs::File::create(folder.path().join("daemon.lock")).unwrap();
    std::fs::write(folder.path().join("daemon.lock"), "4711\n").unwrap();
    lock.lock().unwrap();
    let refused = SqliteStore::open(folder.path(), Mode::Client);
    assert!(matches!(refused, Err(StoreError::Older { found: 1, holder: Some(4711), .. })), "{refused:?}");

    lock.unlock().unwrap();
    let client = SqliteStore::open(folder.path(), Mode::Client).unwrap();
    assert_eq!(client.post_command(&Command::Pause { reason: None }, "ann", Millis(1)).unwrap(), 3);
}
