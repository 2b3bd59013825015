//! One run: what it prints, how it ends, what it may use.

use std::time::{Duration, Instant, SystemTime};

use windlass_adapters::shim::{Framing, client};

use crate::support::{Session, shim, until_dead};

#[test]
fn output_and_exit_code_are_kept() {
    let session = Session::new(Framing::Once, "echo out; echo err >&2; cat; env | sort; exit 3");
    let exit = session.run();
    assert_eq!((exit.code, exit.signal, exit.timed_out, exit.killed_leftovers), (Some(3), None, false, 0));
    let log = session.read("session/log");
    let names: Vec<&str> =
        log.lines().filter_map(|line| line.split_once('=')).map(|(name, _)| name).collect();
    assert!(log.starts_with("out\nerr\n"), "{log}");
    assert_eq!(names, ["PATH", "PWD", "WINDLASS_SESSION_DIR"], "nothing is inherited");
    assert_eq!(session.story(), "started exited");
}

/// What is given to a shim reaches its program, overrules nothing, and is in no file.
#[test]
fn a_secret_reaches_the_program_and_no_file() {
    let script = "test ${#A_KEY} = 9 && test -z \"$WINDLASS_GIVEN\" && ls / > /dev/null";
    let session = Session::new(Framing::Once, script);
    let given = [("A_KEY", "hush-hush"), ("PATH", "/nowhere"), ("LD_PRELOAD", "/nowhere.so")];
    let given = given.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    session.prepare();
    client::spawn(&shim(), &session.folder(), &given).unwrap();
    let exit = client::wait_gone(&session.folder()).and_then(|()| client::exit(&session.folder()));
    assert_eq!(exit.unwrap().unwrap().code, Some(0), "{}", session.read("session/log"));
    for entry in std::fs::read_dir(session.folder()).unwrap() {
        let path = entry.unwrap().path();
        let text = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned();
        assert!(!text.contains("hush-hush"), "{}", path.display());
    }
    assert_eq!(session.read("session/shim.log"), "", "nothing of it means anything to the shim");
}

#[test]
fn nothing_of_ours_is_open_in_the_program() {
    let session = Session::new(Framing::Once, "exec ls -l /proc/self/fd");
    session.run();
    let log = session.read("session/log");
    let folder = session.folder();
    assert!(!log.contains(folder.to_str().unwrap()) && !log.contains("anon_inode"), "{log}");
    assert_eq!(log.matches(" -> pipe:").count(), 2, "{log}");
}

/// R21: a machine without memory loses an agent or a build, and not the daemon.
#[test]
fn where_memory_ends_the_program_goes_first() {
    let session = Session::new(Framing::Once, "sh -c 'cat /proc/self/oom_score_adj'");
    session.run();
    assert_eq!(session.read("session/log"), "800\n");
}

#[test]
fn a_signal_is_not_an_exit_code() {
    let exit = Session::new(Framing::Once, "kill -SEGV $$").run();
    assert_eq!((exit.code, exit.signal), (None, Some(11)));
}

#[test]
fn a_missing_program_is_127_and_a_bad_folder_is_not_a_hang() {
    let session = Session::new(Framing::Once, "").with(|launch| launch.argv = vec!["no-such-program".into()]);
    let exit = session.run();
    assert_eq!(exit.code, Some(127));
    assert!(exit.error.is_some());
    let exit = Session::new(Framing::Once, "true").with(|launch| launch.cwd = "/no/such/folder".into()).run();
    assert!(exit.code == Some(127) && exit.error.is_some());
    let exit = Session::new(Framing::Once, "").with(|launch| launch.argv = vec!["/etc/passwd".into()]).run();
    assert_eq!(exit.code, Some(126));
}

#[test]
fn the_wall_limit_ends_it() {
    let script = "trap '' TERM; echo $$ > pid; while :; do sleep 1; done";
    let session = Session::new(Framing::Once, script).with(|launch| {
        launch.wall_limit_ms = Some(300);
        launch.term_grace_ms = 100;
    });
    session.prepare().spawn();
    let process = session.process("pid");
    let exit = session.end();
    assert!(exit.timed_out && !exit.stopped && exit.signal == Some(9), "{exit:?}");
    until_dead(process);
}

#[test]
fn output_is_cut_at_its_limit_while_the_program_runs_on() {
    let script = "head -c 300000 /dev/zero | tr '\\0' x; echo; head -c 50000000 /dev/zero; exit 5";
    let session = Session::new(Framing::Once, script).with(|launch| launch.max_output_bytes = 100_000);
    assert_eq!(session.run().code, Some(5));
    let log = session.read("session/log");
    assert!(log.len() < 100_200 && log.starts_with("xxx") && log.matches("is not kept").count() == 1);
}

#[test]
fn the_end_is_written_within_milliseconds() {
    let mut best = Duration::MAX;
    for _ in 0..5 {
        let session = Session::new(Framing::Once, "date +%s%N");
        session.run();
        let printed: u64 = session.read("session/log").trim().parse().unwrap();
        let printed = SystemTime::UNIX_EPOCH + Duration::from_nanos(printed);
        let written = std::fs::metadata(session.folder().join("exit.json")).unwrap().modified().unwrap();
        best = best.min(written.duration_since(printed).unwrap_or_default());
    }
    assert!(best < Duration::from_millis(100), "{best:?}");
}

#[test]
fn a_flood_does_not_keep_the_stop_from_coming() {
    let session = Session::new(Framing::Once, "yes").with(|launch| {
        launch.max_output_bytes = 1000;
        launch.wall_limit_ms = Some(300);
    });
    let before = Instant::now();
    let exit = session.run();
    assert!(exit.timed_out && before.elapsed() < Duration::from_secs(10));
}
