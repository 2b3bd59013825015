//! Whatever a program tries, nothing of it is left.

use std::fs::Permissions;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use windlass_adapters::process::ProcessId;
use windlass_adapters::shim::Framing;
use windlass_adapters::shim::client;

use crate::support::{Session, shim, until, until_dead};

#[test]
fn a_request_to_stop_is_followed_at_once() {
    let session = Session::new(Framing::Once, "echo $$ > pid; exec sleep 600");
    session.prepare().spawn();
    let process = session.process("pid");
    let before = Instant::now();
    client::request_stop(&session.folder()).unwrap();
    let exit = session.end();
    assert!(exit.stopped && exit.signal == Some(15) && before.elapsed() < Duration::from_secs(3));
    assert!(!process.is_alive());
}

#[test]
fn a_program_that_ignores_the_request_is_killed() {
    let script = "trap '' TERM HUP INT; echo $$ > pid; while :; do sleep 1; done";
    let session = Session::new(Framing::StreamJson, script).with(|launch| {
        launch.keep_warm_ms = 600_000;
        launch.term_grace_ms = 100;
    });
    session.prepare().spawn();
    let process = session.process("pid");
    client::request_stop(&session.folder()).unwrap();
    let exit = session.end();
    assert!(exit.stopped && exit.signal == Some(9));
    assert!(!process.is_alive());
}

#[test]
fn a_stop_before_the_start_starts_nothing() {
    for framing in [Framing::Once, Framing::Turns, Framing::StreamJson] {
        let session = Session::new(framing, "touch ran");
        session.prepare().say("m1", "x");
        client::request_stop(&session.folder()).unwrap();
        session.spawn();
        assert!(session.end().stopped && !session.path("ran").exists());
    }
}

/// As one that `sudo` has started. Only root can make one here.
#[test]
fn a_process_of_another_user_keeps_nobody_else_alive() {
    if !rustix::process::getuid().is_root() {
        println!("SKIPPED a_process_of_another_user: only root can start one");
        return;
    }
    let script = "./become --reuid 1 --clear-groups sleep 600 & echo $! > foreign
        until grep -q '^Uid:.1' /proc/$!/status; do sleep 0.01; done
        sleep 600 & echo $! > own; exit 7";
    let session = Session::new(Framing::Once, script);
    let path = std::env::var_os("PATH").unwrap();
    let setpriv =
        std::env::split_paths(&path).map(|folder| folder.join("setpriv")).find(|path| path.is_file());
    let Some(setpriv) = setpriv else {
        println!("SKIPPED a_process_of_another_user: there is no setpriv");
        return;
    };
    std::fs::copy(setpriv, session.path("become")).unwrap();
    std::fs::set_permissions(session.path("become"), Permissions::from_mode(0o4755)).unwrap();
    std::fs::copy(shim(), session.path("shim")).unwrap();
    session.prepare();
    give_away(&session.path(""));
    let mut command = Command::new(session.path("shim"));
    command.arg("shim").arg(session.folder()).uid(NOBODY).gid(NOBODY).stdin(Stdio::null());
    let output = command.output().unwrap();
    let foreign = session.process("foreign");
    let exit = client::exit(&session.folder()).unwrap().unwrap();
    foreign.signal(rustix::process::Signal::KILL).unwrap();
    assert_eq!((exit.error.as_deref(), exit.code), (None, Some(7)), "{output:?}");
    assert_eq!(ProcessId::of(session.read("own").trim().parse().unwrap()), None);
}

const NOBODY: u32 = 65_534;

/// Folders and private files; what everybody may read stays whose it is.
fn give_away(path: &Path) {
    let found = path.metadata().unwrap();
    if found.is_dir() || found.mode() & 0o077 == 0 {
        std::os::unix::fs::chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
    }
    for entry in std::fs::read_dir(path).into_iter().flatten() {
        give_away(&entry.unwrap().path());
    }
}

#[test]
fn a_grandchild_that_ran_away_dies_with_the_rest() {
    let script =
        "setsid sh -c 'trap \"\" TERM HUP; echo $$ > away; env -i sleep 600 & echo $! > hidden; wait' &
        while [ ! -s hidden ]; do sleep 0.01; done; exit 7";
    for framing in [Framing::Once, Framing::Turns, Framing::StreamJson] {
        let session = Session::new(framing, script);
        session.prepare().say("m1", "x").spawn();
        let exit = session.end();
        assert!(exit.code == Some(7) && exit.killed_leftovers >= 2, "{framing:?} {exit:?}");
        for name in ["away", "hidden"] {
            let pid = session.read(name).trim().parse().unwrap();
            assert_eq!(windlass_adapters::process::ProcessId::of(pid), None, "{framing:?} {name}");
        }
    }
}

#[test]
fn a_killed_shim_takes_its_program_along_and_frees_the_lock() {
    let script = "setsid sleep 600 & echo $! > away; echo $$ > pid; exec sleep 600";
    let session = Session::new(Framing::Once, script);
    session.prepare().spawn();
    let (program, away) = (session.process("pid"), session.process("away"));
    let status = std::fs::read_to_string(format!("/proc/{}/status", program.pid)).unwrap();
    let parent = status.lines().find_map(|line| line.strip_prefix("PPid:")).unwrap().trim().parse().unwrap();
    let shim = windlass_adapters::process::ProcessId::of(parent).unwrap();
    assert!(client::alive(&session.folder()).unwrap());
    assert!(shim.signal(rustix::process::Signal::KILL).unwrap());
    client::wait_gone(&session.folder()).unwrap();
    until_dead(program);
    assert!(!client::alive(&session.folder()).unwrap());
    assert_eq!(client::exit(&session.folder()).unwrap(), None, "nobody saw the end");
    // The one that had left the family is found by its environment.
    assert_eq!(client::kill_leftovers(&session.folder()).unwrap(), 1);
    until_dead(away);
    assert_eq!(client::kill_leftovers(&session.folder()).unwrap(), 0);
}

#[test]
fn work_shows_in_the_processor_time_and_idleness_costs_nothing() {
    let session = Session::new(Framing::Once, "echo $$ > pid; (while :; do :; done) & wait");
    session.prepare().spawn();
    session.process("pid");
    until("processor time of a child", || {
        client::cpu_time(&session.folder()).unwrap().is_some_and(|used| used > Duration::from_millis(50))
    });
    client::request_stop(&session.folder()).unwrap();
    session.end();
    assert_eq!(client::cpu_time(&session.folder()).unwrap(), None);
}
