//! The memory, the disk and main are damaged, full or moved by others: a clear word, and nothing is lost.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Resource, Rlimit};

use crate::common::search_path;
use crate::crew::{APPROVES, READY, config, crew};
use crate::works::Works;

/// A factory that has merged one issue and is down.
fn one_merged() -> (Works, PathBuf) {
    let mut works = crew(&config("true", ""), APPROVES, &[READY]);
    works.up();
    works.log().wait_merged(1);
    works.down();
    // One file without side files, as it is after a long rest.
    let (database, whole) = (works.machine.state().join("windlass.db"), works.machine.path("whole.db"));
    works.must(&["backup", whole.to_str().unwrap()]);
    remove_side_files(&works);
    let mut bytes = std::fs::read(whole).unwrap();
    // Where SQLite keeps that a file has a write-ahead log.
    bytes[18..20].copy_from_slice(&[2, 2]);
    std::fs::write(&database, bytes).unwrap();
    (works, database)
}

fn remove_side_files(works: &Works) {
    for name in ["windlass.db-wal", "windlass.db-shm"] {
        drop(std::fs::remove_file(works.machine.state().join(name)));
    }
}

/// R19: the last copy takes its place, by itself, and nothing is deleted.
#[test]
fn a_damaged_database_gives_way_to_the_last_copy() {
    let (mut works, database) = one_merged();
    works.must(&["schedule", "run", "backup"]);
    let good = std::fs::read(&database).unwrap();
    let mut pages = good.clone();
    for byte in &mut pages[4096 * 2..4096 * 20] {
        *byte ^= 0x55;
    }
    let mut head = good;
    head[..4096].fill(0);
    for (nth, damaged) in (1..).zip([pages, head]) {
        remove_side_files(&works);
        std::fs::write(&database, &damaged).unwrap();
        let said = works.machine.run(&["up"]);
        assert_eq!(said.code, 0, "{said:?}");
        assert_eq!(works.show(1)["task"]["state"], "MERGED");
        let events = works.events();
        let restored = events.iter().rfind(|event| event["kind"] == "database_restored").unwrap();
        let aside = restored["data"]["aside"].as_str().unwrap();
        let kept = std::fs::read(PathBuf::from(aside).join("windlass.db")).unwrap();
        assert!(kept == damaged, "case {nth}: the damaged file is kept as it was");
        let another = works.new_issue("after it", "");
        works.log().wait_merged(another);
        works.down();
        works.must(&["schedule", "run", "backup"]);
    }
    assert!(works.machine.run(&["restore", "--dry-run"]).out.contains("backups"));
}

#[test]
fn a_damaged_or_newer_database_is_refused_and_kept() {
    let (mut works, database) = one_merged();
    let good = std::fs::read(&database).unwrap();
    let mut flipped = good.clone();
    for byte in &mut flipped[4096 * 2..4096 * 20] {
        *byte ^= 0x55;
    }
    let mut newer = good.clone();
    // Where SQLite keeps `user_version`.
    newer[60..64].copy_from_slice(&1_000_000_u32.to_be_bytes());
    let cases = [
        ("flipped", flipped, "store-damaged", "windlass restore"),
        ("cut", good[..good.len() / 2].to_vec(), "store-damaged", "windlass restore"),
        (
            "no database",
            b"not a database, but long enough to be read as one".repeat(100),
            "store-damaged",
            "windlass restore",
        ),
        ("newer", newer, "store-version", "newer program"),
    ];
    for (what, bytes, code, way_out) in cases {
        std::fs::write(&database, &bytes).unwrap();
        let ran = works.machine.fails(&["up", "--foreground"], code, 1);
        assert!(ran.err.contains(way_out), "{what}: {}", ran.err);
        assert!(ran.err.contains(database.to_str().unwrap()), "{what}: {}", ran.err);
        assert!(works.machine.run(&["up"]).code != 0, "{what}");
        assert!(std::fs::read(&database).unwrap() == bytes, "{what}: the file was changed");
    }
    std::fs::write(&database, &good).unwrap();
    works.up();
    let second = works.new_issue("after the damage", "");
    let mut log = works.log();
    log.wait_merged(second);
    assert!(works.is_on_main(1));
    works.down();
}

#[test]
fn a_second_daemon_and_an_open_state_folder_are_refused() {
    let mut works = crew(&config("true", ""), APPROVES, &[READY]);
    works.up();
    let mut log = works.log();
    log.wait_merged(1);
    works.machine.fails(&["up", "--foreground"], "already-running", 1);
    assert!(works.must(&["up"]).contains("the factory is up already"));
    works.down();
    let state = works.machine.state();
    let mode = |mode: u32| std::fs::set_permissions(&state, std::fs::Permissions::from_mode(mode)).unwrap();
    mode(0o777);
    let ran = works.machine.fails(&["up", "--foreground"], "store-permissions", 1);
    assert!(ran.err.contains("chmod 700 "), "{}", ran.err);
    mode(0o700);
    works.up();
    log.wait("the next start", |event| event["kind"] == "daemon_started" && event["data"]["epoch"] == 2);
    works.down();
}

/// The disk takes no more bytes for the daemon; later it does.
#[test]
fn a_full_disk_holds_the_factory_up_and_loses_nothing() {
    let mut works = crew(&config("true", ""), APPROVES, &[READY]);
    let daemon = start_that_can_be_full(&works);
    let pid = Pid::from_child(&daemon);
    works.adopt(daemon);
    let mut log = works.log();
    log.wait_merged(1);
    let full = |bytes: Option<u64>| {
        rustix::process::prlimit(Some(pid), Resource::Fsize, Rlimit { current: bytes, maximum: None })
            .unwrap()
    };
    full(Some(4096));
    let second = works.new_issue("while it is full", "");
    let until = Instant::now() + Duration::from_secs(60);
    while !works.daemon_log().contains("the disk takes no more") {
        assert!(Instant::now() < until, "{}", works.daemon_log());
        std::thread::park_timeout(Duration::from_millis(20));
    }
    assert_eq!(works.show(second)["task"], serde_json::Value::Null, "what is not written has not happened");
    full(None);
    log.wait_merged(second);
    assert!(works.is_on_main(1) && works.is_on_main(second));
    works.down();
}

/// A full disk is an error and no signal, so the signal of the limit is ignored.
fn start_that_can_be_full(works: &Works) -> Child {
    let log = std::fs::File::create(works.machine.path("daemon.log")).unwrap();
    let run = works.machine.command(&[]);
    let mut command = std::process::Command::new("sh");
    command.args(["-c", "trap '' XFSZ; exec \"$0\" up --foreground"]).arg(run.get_program());
    command.env_clear().env("PATH", search_path()).env("HOME", works.machine.path("home"));
    command.env("XDG_STATE_HOME", works.machine.path("state")).current_dir(works.machine.repo());
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().unwrap()
}

#[test]
fn main_may_be_moved_by_people_but_not_rewritten_unseen() {
    let waits = "until [ -e $here/go-$n ]; do sleep 0.02; done; approve";
    let mut works = crew(&config("true", ""), waits, &[READY]);
    works.script("go-1", "");
    works.up();
    let mut log = works.log();
    log.wait_merged(1);
    let repo = works.repo().to_string_lossy().into_owned();
    let push = |args: &[&str]| works.machine.git(&[&["push", "-q", repo.as_str()], args].concat());
    let begin = works.git(&["rev-list", "--max-parents=0", "main"]);

    let second = works.new_issue("on top", "");
    log.wait_state(second, "AWAITING_CRITIC");
    works.machine.git(&["fetch", "-q", &repo, "main"]);
    works.machine.git(&["reset", "-q", "--hard", "FETCH_HEAD"]);
    works.machine.write("by-hand", "pushed\n");
    works.machine.git(&["add", "by-hand"]);
    works.machine.git(&["commit", "-q", "-m", "by hand"]);
    let by_hand = works.machine.git(&["rev-parse", "HEAD"]).trim().to_owned();
    push(&["HEAD:main"]);
    works.script(&format!("go-{second}"), "");
    log.wait_merged(second);
    let moved = log.wait("main that moved", |event| event["kind"] == "main_moved_outside");
    assert_eq!(moved["data"]["to"], by_hand);
    assert_eq!(works.git(&["show", "main:by-hand"]), "pushed");
    assert!(works.is_on_main(1) && works.is_on_main(second));

    let third = works.new_issue("on what is left", "");
    log.wait_state(third, "AWAITING_CRITIC");
    works.machine.git(&["reset", "-q", "--hard", &begin]);
    push(&["--force", "HEAD:main"]);
    works.script(&format!("go-{third}"), "");
    let paused = log.wait("the pause", |event| event["kind"] == "queue_paused");
    assert!(paused["data"]["reason"].as_str().unwrap().contains("main was rewritten"), "{paused}");
    assert_eq!(works.git(&["rev-parse", "main"]), begin, "nothing lands on what nobody has looked at");
    assert_eq!(works.show(third)["task"]["state"], "QUEUED");
    works.must(&["resume"]);
    log.wait_merged(third);
    assert!(works.is_on_main(third));
    works.down();
}
