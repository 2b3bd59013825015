//! Ctrl-C in a command that follows: it lets go, and nothing else ends.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};
use windlass_core::journal::{Entry, Fact, FactoryFact};
use windlass_store::{Op, Store, Write as Page};

use crate::common::Machine;
use crate::memory::{daemon, now};

#[test]
fn a_follower_lets_go_and_says_so() {
    let machine = Machine::with_project();
    let store = daemon(&machine);
    let fact = Fact::Factory(FactoryFact::Paused);
    store.commit(Page::from(vec![Op::Log(Entry { at: now(), task: None, issue: None, fact })])).unwrap();
    std::fs::write(machine.state().join("daemon.log"), "a line\n").unwrap();
    for args in [&["events", "--follow", "--json"][..], &["logs", "--follow"]] {
        let mut command = machine.command(args);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // A second line comes only when it follows already.
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        lines.next().unwrap().unwrap();
        let pid = Pid::from_raw(child.id().cast_signed()).unwrap();
        kill_process(pid, Signal::INT).unwrap();
        let done = child.wait_with_output().unwrap();
        assert_eq!(done.status.code(), Some(130), "{args:?}: {}", String::from_utf8_lossy(&done.stderr));
        assert_eq!(String::from_utf8_lossy(&done.stderr), "", "{args:?}");
    }
    drop(store);
}
