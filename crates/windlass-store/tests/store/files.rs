//! The file and its folder: who may open them, and what is said when something is wrong with them.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command as Program;

use rusqlite::Connection;
use windlass_core::command::Command;
use windlass_core::time::Millis;
use windlass_store::{Mode, SqliteStore, Store, StoreError};

use crate::common::{commit, daemon, paused, test_child, test_state};

const WAYS: [fn() -> Mode; 3] =
    [|| Mode::Daemon { holder: "test".into(), now: Millis(1) }, || Mode::Client, || Mode::ReadOnly];

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn raw(state: &Path) -> Connection {
    Connection::open(state.join("windlass.db")).unwrap()
}

#[test]
fn a_second_daemon_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let first = daemon(folder.path()).unwrap();
    let second = daemon(folder.path());
    let ours = std::process::id();
    assert!(matches!(second, Err(StoreError::HeldBy { pid: Some(pid), .. }) if pid == ours), "{second:?}");
    commit(&first, vec![paused(1)]).unwrap();
    assert_eq!(first.epoch(), Some(1));
    drop(first);
    assert_eq!(daemon(folder.path()).unwrap().epoch(), Some(2));
}

#[test]
fn a_daemon_that_was_replaced_is_fenced() {
    let folder = tempfile::tempdir().unwrap();
    let zombie = daemon(folder.path()).unwrap();
    // Somebody clears the lock away, as people do.
    fs::remove_file(folder.path().join("daemon.lock")).unwrap();
    let heir = daemon(folder.path()).unwrap();
    let fenced = commit(&zombie, vec![paused(1)]);
    assert!(matches!(fenced, Err(StoreError::Fenced { ours: 1, found: 2 })), "{fenced:?}");
    let fenced = zombie.post_command(&Command::Pause { reason: None }, "zombie", Millis(1));
    assert!(matches!(fenced, Err(StoreError::Fenced { .. })));
    assert_eq!(commit(&heir, vec![paused(2)]).unwrap(), 1);
    assert_eq!(zombie.last_seq().unwrap(), 1, "it may still look");
}

#[test]
fn a_client_reads_and_posts_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("a/b/state");
    let client = SqliteStore::open(&state, Mode::Client).unwrap();
    let refused = commit(&client, vec![paused(1)]);
    assert!(matches!(refused, Err(StoreError::ClientOnly { .. })));
    assert_eq!(client.epoch(), None);

    let daemon = daemon(&state).unwrap();
    let other = SqliteStore::open(&state, Mode::Client).unwrap();
    client.post_command(&Command::Pause { reason: None }, "ann", Millis(1)).unwrap();
    other.post_command(&Command::Resume, "bob", Millis(2)).unwrap();
    assert_eq!(daemon.waiting_commands().unwrap().len(), 2);
    commit(&daemon, vec![paused(1)]).unwrap();
    assert_eq!(other.last_seq().unwrap(), 1);

    let looking = SqliteStore::open(&state, Mode::ReadOnly).unwrap();
    assert_eq!(looking.last_seq().unwrap(), 1);
    let refused = looking.post_command(&Command::Pause { reason: None }, "eve", Millis(3));
    assert!(matches!(refused, Err(StoreError::ReadOnly { .. })));
}

#[test]
fn a_log_line_is_never_changed() {
    let folder = tempfile::tempdir().unwrap();
    commit(&daemon(folder.path()).unwrap(), vec![paused(1), paused(2)]).unwrap();
    let conn = raw(folder.path());
    for sql in
        ["UPDATE event SET at = 9 WHERE seq = 1", "DELETE FROM event WHERE seq = 2", "DELETE FROM event"]
    {
        let refused = conn.execute(sql, []).unwrap_err();
        assert_eq!(refused.to_string(), "the event log is append-only", "{sql}");
    }
    let left: i64 = conn.query_row("SELECT sum(at) FROM event", [], |row| row.get(0)).unwrap();
    assert_eq!(left, 3);
}

#[test]
fn a_newer_database_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    drop(daemon(folder.path()).unwrap());
    raw(folder.path()).pragma_update(None, "user_version", 99).unwrap();
    for way in WAYS {
        let opened = SqliteStore::open(folder.path(), way());
        assert!(matches!(opened, Err(StoreError::Newer { found: 99, known: 3, .. })), "{opened:?}");
    }
}

type Harm = fn(&mut Vec<u8>);

#[test]
fn a_damaged_database_is_told_and_kept() {
    let harm: [(&str, Harm); 3] = [
        ("not a database", |bytes| bytes.fill(b'x')),
        ("truncated", |bytes| bytes.truncate(bytes.len() / 2)),
        ("a page of the log overwritten", |bytes| {
            let at = bytes.len() - 3 * 4096;
            bytes[at..at + 4096].fill(0xff);
        }),
    ];
    for (what, harm) in harm {
        let folder = tempfile::tempdir().unwrap();
        commit(&daemon(folder.path()).unwrap(), (0..2_000).map(paused).collect()).unwrap();
        let path = folder.path().join("windlass.db");
        let mut bytes = fs::read(&path).unwrap();
        harm(&mut bytes);
        fs::write(&path, &bytes).unwrap();

        let opened = daemon(folder.path());
        assert!(
            matches!(&opened, Err(StoreError::Corrupt { path: told, .. }) if *told == path),
            "{what}: {opened:?}"
        );
        assert!(opened.unwrap_err().hint().unwrap().contains("nothing was deleted"));
        assert!(fs::read(&path).unwrap() == bytes, "{what}: the file was changed");
    }
}

#[test]
fn a_copy_takes_the_place_of_a_damaged_database_which_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let (state, copy, aside) =
        (folder.path().join("state"), folder.path().join("copy.db"), folder.path().join("aside"));
    let store = daemon(&state).unwrap();
    commit(&store, vec![paused(1)]).unwrap();
    store.backup(&copy).unwrap();
    let held = SqliteStore::restore(&state, &copy, &aside);
    assert!(matches!(held, Err(StoreError::HeldBy { .. })), "{held:?}");
    commit(&store, vec![paused(2)]).unwrap();
    drop(store);
    let path = state.join("windlass.db");
    let mut damaged = fs::read(&path).unwrap();
    damaged[..4096].fill(0xff);
    fs::write(&path, &damaged).unwrap();

    let broken = folder.path().join("broken.db");
    fs::write(&broken, &damaged).unwrap();
    let refused = SqliteStore::restore(&state, &broken, &aside);
    assert!(matches!(refused, Err(StoreError::Corrupt { .. })), "{refused:?}");
    assert!(
        !aside.exists() && fs::read(&path).unwrap() == damaged,
        "a copy that is not whole changes nothing"
    );

    SqliteStore::restore(&state, &copy, &aside).unwrap();
    assert!(fs::read(aside.join("windlass.db")).unwrap() == damaged);
    assert_eq!(mode(&path), 0o600);
    let store = daemon(&state).unwrap();
    assert_eq!(store.last_seq().unwrap(), 1, "as when the copy was made");
    commit(&store, vec![paused(3)]).unwrap();
    // One that is gone altogether comes back, too.
    drop(store);
    fs::remove_file(&path).unwrap();
    let aside = folder.path().join("aside-2");
    SqliteStore::restore(&state, &copy, &aside).unwrap();
    assert_eq!(daemon(&state).unwrap().last_seq().unwrap(), 1);
}

#[test]
fn nothing_is_made_by_looking() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state");
    let opened = SqliteStore::open(&state, Mode::ReadOnly);
    assert!(matches!(opened, Err(StoreError::NotFound { .. })), "{opened:?}");
    assert!(!state.exists());
}

#[test]
fn a_folder_that_others_can_write_is_refused() {
    for open_to in [0o770, 0o702, 0o1777] {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), Permissions::from_mode(open_to)).unwrap();
        for way in &WAYS[..2] {
            let opened = SqliteStore::open(folder.path(), way());
            assert!(
                matches!(&opened, Err(StoreError::Permissions { mode, .. }) if *mode == open_to),
                "{open_to:o}: {opened:?}"
            );
        }
        assert!(!folder.path().join("windlass.db").exists());
    }
}

#[test]
fn all_is_private_whatever_the_umask() {
    for umask in ["000", "777"] {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().join("state");
        let child = test_child("files::child_opens_and_lists_modes", &state);
        let said = run(after(&format!("umask {umask}"), &child));
        for line in
            ["state 700", "windlass.db 600", "windlass.db-wal 600", "windlass.db-shm 600", "daemon.lock 600"]
        {
            assert!(said.contains(line), "umask {umask}: no `{line}` in {said}");
        }
    }
}

/// The same child, from a shell that did something first.
fn after(first: &str, child: &Program) -> Program {
    let mut shell = Program::new("sh");
    shell
        .args(["-c", &format!("{first}; exec \"$@\""), "sh"])
        .arg(child.get_program())
        .args(child.get_args())
        .envs(child.get_envs().filter_map(|(key, value)| Some((key, value?))));
    shell
}

fn run(mut child: Program) -> String {
    let done = child.output().expect("the program is installed");
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(
        done.status.success() && said.contains("1 passed"),
        "{said}{}",
        String::from_utf8_lossy(&done.stderr)
    );
    said
}

#[test]
#[ignore = "a child process of another test"]
fn child_opens_and_lists_modes() {
    let Some(state) = test_state() else { return };
    let store = daemon(&state).unwrap();
    commit(&store, vec![paused(1)]).unwrap();
    println!("\nstate {:o}", mode(&state));
    for name in ["windlass.db", "windlass.db-wal", "windlass.db-shm", "daemon.lock"] {
        println!("{name} {:o}", mode(&state.join(name)));
    }
}

#[test]
fn a_database_that_was_open_to_others_is_closed() {
    let folder = tempfile::tempdir().unwrap();
    raw(folder.path()).execute_batch("CREATE TABLE forge_thing (x)").unwrap();
    let path = folder.path().join("windlass.db");
    fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
    drop(daemon(folder.path()).unwrap());
    assert_eq!(mode(&path), 0o600);
    raw(folder.path()).execute("INSERT INTO forge_thing VALUES (1)", []).unwrap();
}

#[test]
fn a_folder_that_cannot_be_written_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state");
    drop(daemon(&state).unwrap());
    for leftover in ["windlass.db-wal", "windlass.db-shm"] {
        assert!(!state.join(leftover).exists(), "{leftover} is cleared away when the last one leaves");
    }
    fs::set_permissions(&state, Permissions::from_mode(0o500)).unwrap();
    run(without_privileges(test_child("files::child_is_refused_everywhere", &state)));
}

/// Root may write everywhere; the same user without its capabilities may not.
fn without_privileges(child: Program) -> Program {
    if !rustix::process::geteuid().is_root() {
        return child;
    }
    let mut plain = Program::new("setpriv");
    plain
        .args(["--bounding-set=-all", "--inh-caps=-all", "--"])
        .arg(child.get_program())
        .args(child.get_args())
        .envs(child.get_envs().filter_map(|(key, value)| Some((key, value?))));
    plain
}

#[test]
#[ignore = "a child process of another test"]
fn child_is_refused_everywhere() {
    let Some(state) = test_state() else { return };
    for way in WAYS {
        let opened = SqliteStore::open(&state, way());
        assert!(matches!(opened, Err(StoreError::ReadOnly { .. })), "{:?}: {opened:?}", way());
    }
}

#[test]
fn a_write_beyond_the_limit_of_the_process_is_told_and_survived() {
    let folder = tempfile::tempdir().unwrap();
    let child = test_child("files::child_writes_until_full", folder.path());
    let said = run(after("trap '' XFSZ; ulimit -f 4000", &child));
    let kept: i64 = said.lines().find_map(|line| line.strip_prefix("kept ")).unwrap().parse().unwrap();
    let whole: String = raw(folder.path()).query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(whole, "ok");
    let store = daemon(folder.path()).unwrap();
    assert_eq!(store.last_seq().unwrap(), kept);
    assert_eq!(commit(&store, vec![paused(1)]).unwrap(), kept + 1);
}

#[test]
#[ignore = "a child process of another test"]
fn child_writes_until_full() {
    let Some(state) = test_state() else { return };
    let store = daemon(&state).unwrap();
    let mut kept = 0;
    let error = loop {
        match commit(&store, (0..500).map(paused).collect()) {
            Ok(seq) => kept = seq,
            Err(error) => break error,
        }
    };
    println!("\nkept {kept}");
    assert!(matches!(error, StoreError::Full { .. }), "{error:?}");
    assert_eq!(store.last_seq().unwrap(), kept, "what was written before can be read");
}
