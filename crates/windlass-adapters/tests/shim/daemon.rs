//! Daemons come and go; there is one shim.

use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use windlass_adapters::shim::Framing;
use windlass_adapters::shim::client::{self, Spawned};

use crate::support::{NOTHING, Session, shim, until};

#[test]
fn a_started_shim_is_alive_and_is_not_started_twice() {
    let session = Session::new(Framing::Once, "while [ ! -e go ]; do sleep 0.01; done; echo once >> runs");
    session.prepare();
    assert!(!client::alive(&session.folder()).unwrap());
    session.spawn();
    assert!(client::alive(&session.folder()).unwrap());
    for _ in 0..20 {
        assert_eq!(client::spawn(&shim(), &session.folder(), &NOTHING).unwrap(), Spawned::Running);
        assert_eq!(client::respawn(&shim(), &session.folder(), &NOTHING).unwrap(), Spawned::Running);
    }
    std::fs::write(session.path("go"), "").unwrap();
    session.end();
    assert_eq!(client::spawn(&shim(), &session.folder(), &NOTHING).unwrap(), Spawned::Ended);
    assert_eq!(session.read("runs"), "once\n");
}

#[test]
fn the_shim_goes_on_when_its_daemon_is_killed() {
    let session =
        Session::new(Framing::Once, "echo $$ > pid; while [ ! -e go ]; do sleep 0.01; done; echo done");
    session.prepare();
    // A daemon of one line: it starts the shim as a child and waits, until its whole group is killed.
    let script = format!("setsid {} shim {} & wait", shim().display(), session.folder().display());
    let mut daemon =
        Command::new("sh").args(["-c", &script]).stdin(Stdio::null()).process_group(0).spawn().unwrap();
    let program = session.process("pid");
    windlass_adapters::process::kill_group(daemon.id().cast_signed(), rustix::process::Signal::KILL).unwrap();
    daemon.wait().unwrap();
    assert!(program.is_alive() && client::alive(&session.folder()).unwrap());
    std::fs::write(session.path("go"), "").unwrap();
    assert_eq!(session.end().code, Some(0));
    assert_eq!(session.read("session/log"), "done\n");
}

#[test]
fn a_shim_that_waited_for_the_lock_does_not_run_it_again() {
    let session = Session::new(Framing::Once, "echo once >> runs; while [ ! -e go ]; do sleep 0.01; done");
    session.prepare().spawn();
    let mut second =
        Command::new(shim()).arg("shim").arg(session.folder()).stdin(Stdio::null()).spawn().unwrap();
    until("the first run", || session.read("runs") == "once\n");
    std::fs::write(session.path("go"), "").unwrap();
    assert!(second.wait().unwrap().success());
    assert_eq!(session.read("runs"), "once\n");
}

#[test]
fn a_second_shim_gives_up_with_75() {
    let session = Session::new(Framing::Once, "exec sleep 600");
    session.prepare().spawn();
    let second =
        Command::new(shim()).arg("shim").arg(session.folder()).stdin(Stdio::null()).status().unwrap();
    assert_eq!(second.code(), Some(75));
    assert!(client::alive(&session.folder()).unwrap());
}

#[test]
fn a_launch_that_cannot_be_read_ends_with_an_error() {
    let session = Session::new(Framing::Once, "true");
    session.prepare();
    std::fs::write(session.folder().join("launch.json"), "{").unwrap();
    session.spawn();
    client::wait_gone(&session.folder()).unwrap();
    let exit = client::exit(&session.folder()).unwrap().unwrap();
    assert!(exit.code.is_none() && exit.error.unwrap().contains("launch.json"));
}

#[test]
fn many_who_ask_do_not_keep_a_shim_from_starting() {
    let session = Session::new(Framing::Once, "true");
    session.prepare();
    let folder = session.folder();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // Also when an assertion fails: the scope waits for its threads.
        let _stops = SetOnDrop(&stop);
        for _ in 0..2 {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    client::alive(&folder).unwrap();
                }
            });
        }
        for _ in 0..10 {
            assert_eq!(client::respawn(&shim(), &folder, &NOTHING).unwrap(), Spawned::Started);
            client::wait_gone(&folder).unwrap();
        }
    });
}

struct SetOnDrop<'a>(&'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
