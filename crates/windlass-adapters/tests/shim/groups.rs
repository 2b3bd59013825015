//! Control groups: nobody gets away, and all processes of a program together have limits. Where the system gives us no groups
//! there is nothing to test here; that nobody gets away without them is tested in `ends`.

use windlass_adapters::process::{GroupLimits, Means, means};
use windlass_adapters::shim::Framing;
use windlass_adapters::shim::client;

use crate::support::{Session, until_dead};

fn can(what: &str, wanted: impl Fn(Means) -> bool) -> bool {
    let means = means(std::process::id());
    if !wanted(means) {
        println!("SKIPPED {what}: the system lets us have {means:?}");
    }
    wanted(means)
}

/// Its environment is empty, its parent is gone, and so is the shim: only the group still knows it.
#[test]
fn a_process_that_has_hidden_everything_is_found_after_its_shim_was_killed() {
    if !can("a_process_that_has_hidden_everything", |means| means.groups) {
        return;
    }
    let script = "setsid env -i sh -c 'sleep 600 & echo $! > hidden' ; echo $PPID > shim; exec sleep 600";
    let session = Session::new(Framing::Once, script);
    session.prepare().spawn();
    let (hidden, shim) = (session.process("hidden"), session.process("shim"));
    assert!(shim.signal(rustix::process::Signal::KILL).unwrap());
    client::wait_gone(&session.folder()).unwrap();
    assert!(hidden.is_alive(), "it has left the family");
    assert!(client::kill_leftovers(&session.folder()).unwrap() >= 1);
    until_dead(hidden);
    assert_eq!(client::kill_leftovers(&session.folder()).unwrap(), 0);
}

#[test]
fn too_many_processes_are_refused_to_one_program_and_to_no_other() {
    if !can("too_many_processes", |means| means.processes) {
        return;
    }
    let script = "n=0; while [ $n -lt 60 ]; do sleep 600 2>/dev/null & n=$((n+1)); done; true";
    let limits = GroupLimits { processes: Some(20), ..GroupLimits::default() };
    let session = Session::new(Framing::Once, script).with(|launch| launch.limits = limits);
    let exit = session.run();
    assert!(exit.killed_leftovers < 20, "{exit:?}");
    let free = Session::new(Framing::Once, script).run();
    assert_eq!((free.code, free.killed_leftovers), (Some(0), 60), "{free:?}");
}

#[test]
fn a_program_that_wants_too_much_memory_is_ended() {
    if !can("a_program_that_wants_too_much_memory", |means| means.memory) {
        return;
    }
    // A text that doubles until somebody says no.
    let script = "x=x; while :; do x=$x$x; done";
    let limits = GroupLimits { memory_bytes: Some(64 << 20), ..GroupLimits::default() };
    let session = Session::new(Framing::Once, script).with(|launch| launch.limits = limits);
    let exit = session.run();
    assert_eq!((exit.signal, exit.timed_out), (Some(9), false), "{exit:?}");
}

#[test]
fn nothing_is_left_of_a_group() {
    if !can("nothing_is_left_of_a_group", |means| means.groups) {
        return;
    }
    let limits = GroupLimits { processes: Some(500), memory_bytes: Some(1 << 30) };
    for framing in [Framing::Once, Framing::Turns, Framing::StreamJson] {
        let session = Session::new(
            framing,
            "cat /proc/self/cgroup > groups; cp $WINDLASS_SESSION_DIR/cgroup.json written",
        )
        .with(|launch| launch.limits = limits);
        session.prepare().say("m1", "x").say("m2", "y").spawn();
        session.end();
        let written = session.read("written");
        let folders: Vec<&str> = written.split('"').filter(|part| part.starts_with('/')).collect();
        let name = folders[0].rsplit('/').next().unwrap();
        assert!(session.read("groups").contains(name), "{framing:?}: it ran in {}", session.read("groups"));
        for folder in folders {
            assert!(!std::path::Path::new(folder).exists(), "{framing:?}: {folder}");
        }
    }
}

/// Who may write into a group may make others in it: its members are found there, too, and a good end stays one.
#[test]
fn a_group_that_a_program_made_in_its_own_is_ended_with_it() {
    if !can("a_group_that_a_program_made_in_its_own", |means| means.groups) {
        return;
    }
    let script = "group=$(grep -o '\"/[^\"]*' $WINDLASS_SESSION_DIR/cgroup.json | head -1 | tr -d '\"'); mkdir $group/inner
        setsid env -i PATH=$PATH sh -c \"echo 0 > $group/inner/cgroup.procs; sleep 600 & echo \\$! > hidden\"; exit 0";
    let session = Session::new(Framing::Once, script);
    let exit = session.run();
    assert_eq!((exit.code, exit.error.as_deref()), (Some(0), None), "{exit:?}");
    let pid = session.read("hidden").trim().parse().unwrap();
    assert_eq!(windlass_adapters::process::ProcessId::of(pid), None);
}
