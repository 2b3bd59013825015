//! The embedded forge as a file: shared by processes, killed, reopened, newer than we are, and large.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::collections::BTreeSet;
use std::error::Error;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;

use rusqlite::Connection;
use windlass_adapters::Remedy;
use windlass_adapters::forge::{
    Durability, EmbeddedForge, Forge, ForgeError, IssueFilter, IssueQuery, NewChange, NewIssue, OpenError,
    every,
};
use windlass_core::id::{EffectKey, IssueNumber, Sha};
use windlass_core::time::Millis;

const FILE: &str = "FORGE_TEST_FILE";

#[test]
fn connections_that_write_at_once_lose_nothing_and_share_no_number() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("windlass.db");
    // Opened at once as well: on a new file they race for the tables, too.
    let numbers: Vec<Vec<IssueNumber>> = thread::scope(|scope| {
        let writers: Vec<_> = (0..4)
            .map(|n| {
                let file = &file;
                scope.spawn(move || {
                    let forge = open(file);
                    (0..50).map(|i| create(&forge, &format!("{n}/{i}"))).collect()
                })
            })
            .collect();
        writers.into_iter().map(|writer| writer.join().unwrap()).collect()
    });
    let unique: BTreeSet<IssueNumber> = numbers.iter().flatten().copied().collect();
    assert_eq!(unique, (1..=200).map(IssueNumber).collect());
    assert_eq!(titles(&open(&file)).len(), 200);
}

#[test]
fn a_killed_process_loses_no_answered_write_and_its_repeat_doubles_none() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("windlass.db");
    let issue = create(&open(&file), "door");
    let mut answered = 0;
    for _ in 0..5 {
        let mut child = endless_writer(&file);
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        // Other lines come from the test harness of the child.
        let mut acks = lines.filter_map(|line| line.strip_prefix("wrote ")?.parse::<u64>().ok());
        let seen = acks.find(|n| *n > answered + 20).expect("the child writes until it is killed");
        child.kill().unwrap();
        child.wait().unwrap();
        answered = acks.fold(seen, u64::max);
        let forge = open(&file);
        for n in 0..=answered {
            assert!(forge.find_comment(issue, &key(n)).unwrap().is_some(), "comment {n} was answered");
        }
    }
    // One more may have been written whose answer was lost.
    let forge = open(&file);
    for n in 0..=answered + 1 {
        forge.comment(issue, &key(n), "again", Millis(1)).unwrap();
    }
    let comments = every(|from| forge.comments(issue, from)).unwrap();
    assert_eq!(comments.len() as u64, answered + 2);
    let check: String = raw(&file).query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(check, "ok");
}

/// The other process of the test above. It repeats what earlier children wrote, as after a lost answer.
#[test]
#[ignore = "runs only as a child that its parent kills"]
fn child_that_writes_until_it_is_killed() {
    let forge = open(Path::new(&std::env::var(FILE).unwrap()));
    for n in 0.. {
        forge.comment(IssueNumber(1), &key(n), "hello", Millis(1)).unwrap();
        println!("wrote {n}");
    }
}

#[test]
fn what_was_written_is_there_after_reopening_beside_other_tables() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("windlass.db");
    raw(&file).execute_batch("CREATE TABLE task (id TEXT); PRAGMA user_version = 7;").unwrap();
    let number = create(&open(&file), "door");
    let forge = EmbeddedForge::open(&file, Durability::Full).unwrap().acting_as("ann");
    let comment = forge.comment(number, &EffectKey::new("k"), "hello", Millis(5)).unwrap();
    assert_eq!(comment.author, "ann");
    drop(forge);
    let forge = open(&file);
    assert_eq!(forge.issue(number).unwrap().title, "door");
    assert_eq!(forge.find_comment(number, &EffectKey::new("k")).unwrap(), Some(comment));
    assert_eq!(create(&forge, "window"), IssueNumber(number.0 + 1));
    let version: i64 = raw(&file).query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap();
    assert_eq!(version, 7);
}

#[test]
fn a_newer_forge_is_refused_with_both_versions() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("windlass.db");
    create(&open(&file), "door");
    raw(&file).execute("UPDATE forge_meta SET version = version + 1", []).unwrap();
    let refused = EmbeddedForge::open(&file, Durability::Normal).unwrap_err();
    assert!(matches!(refused, OpenError::TooNew { found, known, .. } if found == known + 1), "{refused:?}");
    assert_eq!(refused.remedy(), Remedy::AskHuman);
}

#[test]
fn a_file_that_is_no_database_is_an_error_that_keeps_its_cause() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("windlass.db");
    std::fs::write(&file, "these are not the pages of a database".repeat(100)).unwrap();
    let refused = EmbeddedForge::open(&file, Durability::Normal).unwrap_err();
    assert!(matches!(refused, OpenError::Open { .. }) && refused.source().is_some(), "{refused:?}");
    let missing = EmbeddedForge::open(&folder.path().join("no/such/folder.db"), Durability::Normal);
    assert!(matches!(missing, Err(OpenError::Open { .. })), "{missing:?}");
}

#[test]
fn a_row_that_makes_no_sense_is_broken_and_not_missing() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("windlass.db");
    let forge = open(&file);
    let new = NewChange {
        branch: "fix/issue-1".into(),
        base: "main".into(),
        head: Sha::parse(&"a".repeat(40)).unwrap(),
        title: "fix the door".into(),
        body: String::new(),
        issue: None,
    };
    let number = forge.open_change(&new, Millis(1)).unwrap().number;
    raw(&file).execute("UPDATE forge_change SET head = 'main'", []).unwrap();
    for answer in [forge.change(number).err(), forge.find_change("fix/issue-1").err()] {
        assert!(matches!(answer, Some(ForgeError::Broken { .. })), "{answer:?}");
    }
}

#[test]
fn a_locked_database_is_read_from_and_asks_writers_to_try_again() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("windlass.db");
    let forge = open(&file);
    let number = create(&forge, "door");
    let other = raw(&file);
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert!(forge.issue(number).unwrap().open);
    let late = forge.close_issue(number, Millis(2)).unwrap_err();
    assert!(matches!(late, ForgeError::Unreachable { .. }), "{late:?}");
    assert_eq!(late.remedy(), Remedy::TryAgain);
    other.execute_batch("COMMIT").unwrap();
    forge.close_issue(number, Millis(3)).unwrap();
    assert!(!forge.issue(number).unwrap().open);
}

#[test]
fn a_page_of_long_bodies_ends_early_and_the_list_is_whole() {
    let folder = tempfile::tempdir().unwrap();
    let forge = open(&folder.path().join("windlass.db"));
    let body = "x".repeat(1 << 20);
    for n in 0..20 {
        let new = NewIssue { body: body.clone(), ..titled(&format!("long {n}")) };
        forge.create_issue(&new, Millis(1)).unwrap();
    }
    let first = forge.issues(&all(), None).unwrap();
    assert!(first.items.len() < 12 && first.next.is_some(), "{} items", first.items.len());
    assert_eq!(titles(&forge).len(), 20);
}

#[test]
fn ten_thousand_issues_are_listed_by_every_question() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("windlass.db");
    let forge = open(&file);
    raw(&file)
        .execute_batch(
            "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000)
             INSERT INTO forge_issue (number, title, author, created_at, updated_at, closed_at, body)
             SELECT i, 'issue ' || i, 'ann', i, i, IIF(i <= 9900, i, NULL), 'body' FROM n;
             INSERT INTO forge_label (name) VALUES ('backlog');
             INSERT INTO forge_issue_label SELECT number, 1 FROM forge_issue WHERE number % 1000 = 0;",
        )
        .unwrap();
    let open_only = IssueQuery { filter: IssueFilter::Open, ..all() };
    let labelled = IssueQuery { labels: vec!["backlog".into()], ..open_only.clone() };
    let fresh = IssueQuery { updated_since: Some(Millis(9_990)), ..all() };
    for (query, expected) in [(&all(), 10_000), (&open_only, 100), (&labelled, 1), (&fresh, 11)] {
        assert_eq!(every(|from| forge.issues(query, from)).unwrap().len(), expected);
    }
}

fn open(file: &Path) -> EmbeddedForge {
    EmbeddedForge::open(file, Durability::Normal).unwrap()
}

fn raw(file: &Path) -> Connection {
    Connection::open(file).unwrap()
}

fn all() -> IssueQuery {
    IssueQuery::default()
}

fn titled(title: &str) -> NewIssue {
    NewIssue {
        title: title.into(),
        body: "body".into(),
        labels: vec!["backlog".into()],
        author: "ann".into(),
        key: None,
    }
}

fn create(forge: &dyn Forge, title: &str) -> IssueNumber {
    forge.create_issue(&titled(title), Millis(1)).unwrap().number
}

fn titles(forge: &dyn Forge) -> BTreeSet<String> {
    every(|from| forge.issues(&all(), from)).unwrap().into_iter().map(|issue| issue.title).collect()
}

fn key(n: u64) -> EffectKey {
    EffectKey::new(format!("comment/{n}"))
}

fn endless_writer(file: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child_that_writes_until_it_is_killed", "--ignored", "--nocapture"])
        .env(FILE, file)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}
