//! Many writers share a commit, and a full disk breaks nothing.

use std::path::Path;
use std::sync::mpsc::channel;

use rusqlite::Connection;
use windlass_core::command::{Answer, Command};
use windlass_core::journal::{Entry, Fact, FactoryFact};
use windlass_core::time::Millis;

use super::{Job, Work, Writer};
use crate::sqlite::{LEASE, migrate};
use crate::write::{Op, Write};
use crate::{EventQuery, Mode, SqliteStore, Store, StoreError};

fn database(folder: &Path) -> Connection {
    let conn = Connection::open(folder.join("windlass.db")).unwrap();
    conn.pragma_update(None, "journal_mode", "WAL").unwrap();
    conn.pragma_update(None, "synchronous", "FULL").unwrap();
    migrate::migrate(&conn).unwrap();
    conn.execute("INSERT INTO lease VALUES (?1, 'test', 1, 0)", [LEASE]).unwrap();
    conn
}

fn line(reason: &str) -> Op {
    let fact = Fact::Factory(FactoryFact::QueuePaused { reason: reason.to_owned(), by: None });
    Op::Log(Entry { at: Millis(1), task: None, issue: None, fact })
}

fn write(ops: Vec<Op>) -> Work {
    Work::Commit(Write::from(ops))
}

/// A writer whose disk has room for so many more pages.
fn writer(folder: &Path, room: i64) -> Writer {
    let conn = Connection::open(folder.join("windlass.db")).unwrap();
    let pages: i64 = conn.pragma_query_value(None, "page_count", |row| row.get(0)).unwrap();
    conn.pragma_update(None, "max_page_count", pages.saturating_add(room).min(1_000_000)).unwrap();
    Writer::start(conn, 1).unwrap()
}

fn count(conn: &Connection, sql: &str) -> i64 {
    conn.query_row(sql, [], |row| row.get(0)).unwrap()
}

/// Frames that end a commit carry the size of the database; all others carry 0 there.
fn commits_in_wal(folder: &Path) -> usize {
    let wal = std::fs::read(folder.join("windlass.db-wal")).unwrap();
    let word = |at: usize| u32::from_be_bytes(wal[at..at + 4].try_into().unwrap());
    let (page, salt) = (word(8) as usize, (word(16), word(20)));
    (32..wal.len())
        .step_by(24 + page)
        .filter(|&at| (word(at + 8), word(at + 12)) == salt && word(at + 4) != 0)
        .count()
}

/// Hands all of it in while another program holds the lock, so that all of it waits when the writer gets its turn.
fn together(writer: &Writer, other: &Connection, works: Vec<Work>) -> Vec<Result<i64, StoreError>> {
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let jobs = writer.jobs.as_ref().unwrap();
    let waiting: Vec<_> = works
        .into_iter()
        .map(|work| {
            let (answer, answered) = channel();
            jobs.send(Job { work, answer }).unwrap();
            answered
        })
        .collect();
    other.execute_batch("ROLLBACK").unwrap();
    waiting.into_iter().map(|answered| answered.recv().unwrap()).collect()
}

#[test]
fn many_writers_share_a_commit() {
    let folder = tempfile::tempdir().unwrap();
    let other = database(folder.path());
    let writer = writer(folder.path(), i64::MAX);
    let before = commits_in_wal(folder.path());
    let works = (0..64).map(|n| write(vec![line(&n.to_string())])).collect();
    let answers: Vec<i64> = together(&writer, &other, works).into_iter().map(Result::unwrap).collect();
    assert_eq!(answers, (1..=64).collect::<Vec<_>>());
    assert_eq!(commits_in_wal(folder.path()) - before, 1);

    for _ in 0..3 {
        writer.submit(write(vec![line("alone")])).unwrap();
    }
    assert_eq!(commits_in_wal(folder.path()) - before, 4, "nobody waits for company");
}

#[test]
fn a_refused_write_leaves_its_group_alone() {
    let folder = tempfile::tempdir().unwrap();
    let other = database(folder.path());
    let writer = writer(folder.path(), i64::MAX);
    let answer = Answer::Done { what: "x".into() };
    let refused = Op::AnswerCommand { id: 9, answer, at: Millis(1) };
    let works = (0..30).map(|n| match n % 3 {
        0 => write(vec![line("lost"), refused.clone()]),
        _ => write(vec![line("kept")]),
    });
    let answers = together(&writer, &other, works.collect());
    let refusals =
        answers.iter().filter(|answer| matches!(answer, Err(StoreError::NotWaiting { .. }))).count();
    let kept = count(&other, "SELECT count(*) FROM event WHERE data LIKE '%kept%'");
    assert_eq!((refusals, kept, count(&other, "SELECT count(*) FROM event")), (10, 20, 20));
}

#[test]
fn a_full_disk_is_told_and_survived() {
    let folder = tempfile::tempdir().unwrap();
    let other = database(folder.path());
    other
        .execute_batch("CREATE TABLE ballast (bytes BLOB); INSERT INTO ballast VALUES (zeroblob(400000))")
        .unwrap();
    let writer = writer(folder.path(), 20);

    let long = "x".repeat(5_000);
    let mut kept = 0;
    let error = loop {
        match writer.submit(write(vec![line(&long)])) {
            Ok(seq) => kept = seq,
            Err(error) => break error,
        }
    };
    assert!(matches!(error, StoreError::Full { .. }) && error.is_transient(), "{error:?}");
    assert!((1..100).contains(&kept), "{kept}");
    let whole: String = other.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(whole, "ok");

    other.execute("DELETE FROM ballast", []).unwrap();
    assert_eq!(writer.submit(write(vec![line(&long)])).unwrap(), kept + 1);
    drop(writer);
    let mode = Mode::Daemon { holder: "test".into(), now: Millis(2) };
    let store = SqliteStore::open(folder.path(), mode).unwrap();
    assert_eq!(store.events(&EventQuery::default()).unwrap().len(), usize::try_from(kept).unwrap() + 1);
}

#[test]
fn a_full_disk_breaks_no_word_that_was_given() {
    let folder = tempfile::tempdir().unwrap();
    let other = database(folder.path());
    let writer = writer(folder.path(), 10);
    // One of them alone is too much, and takes the transaction of all with it.
    let works = (0..20).map(|n| write(vec![line(&"x".repeat(if n == 10 { 100_000 } else { 10 }))]));
    let answers = together(&writer, &other, works.collect());
    assert!(answers.iter().all(|answer| matches!(answer, Err(StoreError::Full { .. }))), "{answers:?}");
    assert_eq!(count(&other, "SELECT count(*) FROM event"), 0);
    assert_eq!(writer.submit(write(vec![line("small")])).unwrap(), 1);
}

#[test]
fn a_writer_that_is_locked_out_says_so_and_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let other = database(folder.path());
    let conn = Connection::open(folder.path().join("windlass.db")).unwrap();
    conn.busy_timeout(std::time::Duration::ZERO).unwrap();
    let writer = Writer::start(conn, 1).unwrap();
    let post = || Work::Post { command: Command::Pause { reason: None }, by: "ann".into(), at: Millis(1) };

    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let busy = writer.submit(post()).unwrap_err();
    assert!(matches!(busy, StoreError::Busy { .. }) && busy.is_transient(), "{busy:?}");
    other.execute_batch("ROLLBACK").unwrap();
    assert_eq!(writer.submit(post()).unwrap(), 1);
}
