//! Places and inputs that nobody would choose: each is refused clearly or works, and nothing is lost.

use std::os::unix::fs::chown;
use std::path::Path;
use std::process::{Command, Stdio};

use windlass_testkit::faketime;

use crate::common::{Machine, Ran, listing, search_path};
use crate::memory::daemon;

fn git(folder: &Path, args: &[&str]) {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=T", "-c", "user.email=t@localhost", "-c", "protocol.file.allow=always"]);
    command.args(args).current_dir(folder).env_clear().env("PATH", search_path());
    let done = command.env("GIT_CONFIG_GLOBAL", "/dev/null").output().unwrap();
    assert!(done.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&done.stderr));
}

fn init(machine: &Machine, folder: &Path) -> Ran {
    let mut command = machine.command(&["init", "--yes", "--ci", "true", "--agent", "demo"]);
    command.current_dir(folder).output().unwrap().into()
}

#[test]
fn a_shallow_clone_is_refused_and_a_bare_one_too() {
    let machine = Machine::new();
    machine.git(&["commit", "-q", "--allow-empty", "-m", "more"]);
    let source = format!("file://{}", machine.repo().display());
    git(&machine.path(""), &["clone", "-q", "--depth", "1", &source, "shallow"]);
    let ran = init(&machine, &machine.path("shallow"));
    assert!(ran.code == 1 && ran.err.contains("error[shallow]"), "{ran:?}");
    assert!(ran.err.contains("git fetch --unshallow") && !machine.path("state").exists(), "{ran:?}");
    git(&machine.path("shallow"), &["fetch", "-q", "--unshallow"]);
    assert_eq!(init(&machine, &machine.path("shallow")).code, 0, "the way out is one");
    git(&machine.path(""), &["clone", "-q", "--bare", &source, "bare.git"]);
    let ran = init(&machine, &machine.path("bare.git"));
    assert!(ran.code == 3 && ran.err.contains("bare repository") && ran.err.contains("git clone"), "{ran:?}");
}

#[test]
fn a_dirty_checkout_with_submodules_and_pointers_of_lfs_stays_as_it_is() {
    let machine = Machine::new();
    git(&machine.path(""), &["init", "-q", "-b", "main", "library"]);
    git(&machine.path("library"), &["commit", "-q", "--allow-empty", "-m", "begin"]);
    git(
        &machine.repo(),
        &["submodule", "--quiet", "add", machine.path("library").to_str().unwrap(), "library"],
    );
    machine.write(".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n");
    machine.write("large.bin", "version https://git-lfs.github.com/spec/v1\noid sha256:aa\nsize 5\n");
    machine.git(&["add", ".gitattributes", "large.bin", "library"]);
    machine.git(&["commit", "-q", "-m", "more"]);
    machine.write("large.bin", "changed and not committed");
    machine.write("untracked", "x");
    let before: Vec<_> =
        listing(&machine.repo()).into_iter().filter(|(path, _)| !path.ends_with("index")).collect();
    let ran = machine.run(&["init", "--yes", "--ci", "true", "--agent", "demo"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let mut after = listing(&machine.repo());
    after.retain(|(path, _)| !path.ends_with("windlass.toml") && !path.ends_with("index"));
    assert_eq!(after, before);
    assert_eq!(machine.run(&["status"]).code, 0);
}

#[test]
fn a_path_with_blanks_and_other_letters_works_throughout() {
    let machine = Machine::new();
    let folder = machine.path("mein Prøjekt „ö“ $x");
    git(&machine.path(""), &["clone", "-q", machine.repo().to_str().unwrap(), folder.to_str().unwrap()]);
    assert_eq!(init(&machine, &folder).code, 0);
    let run = |args: &[&str]| -> Ran { machine.command(args).current_dir(&folder).output().unwrap().into() };
    assert_eq!(run(&["new", "öffne es"]).code, 0);
    assert!(run(&["status"]).out.contains("mein-Pr-jekt"));
    let up = run(&["up"]);
    assert_eq!(up.code, 0, "{up:?}");
    let down = run(&["down"]);
    assert!(down.code == 0 && down.out.contains("0 processes left"), "{down:?}");
}

#[test]
fn a_home_that_cannot_hold_a_state_is_named_with_a_way_out() {
    let machine = Machine::new();
    let no_folder = machine.path("home/file");
    std::fs::write(&no_folder, "").unwrap();
    for home in [no_folder.as_path(), Path::new("/proc/no-such-folder")] {
        let mut command = machine.command(&["init", "--yes"]);
        let ran: Ran = command.env("HOME", home).env("XDG_STATE_HOME", home).output().unwrap().into();
        assert_eq!(ran.code, 1, "{ran:?}");
        assert!(ran.err.contains("WINDLASS_STATE_DIR"), "{ran:?}");
    }
    assert!(!machine.repo().join("windlass.toml").exists(), "the checkout is as it was");
}

#[test]
fn the_state_of_another_user_is_left_alone() {
    let machine = Machine::with_project();
    if !rustix::process::geteuid().is_root() {
        println!("only root can make a folder that belongs to somebody else");
        return;
    }
    let before = listing(&machine.state());
    chown(machine.state(), Some(12_345), None).unwrap();
    for args in [&["status"][..], &["pause"], &["up"], &["up", "--foreground"]] {
        let ran = machine.fails(args, "store-permissions", 1);
        assert!(
            ran.err.contains("belongs to user 12345") && ran.err.contains("WINDLASS_STATE_DIR"),
            "{}",
            ran.err
        );
    }
    assert_eq!(listing(&machine.state()), before);
    let view = machine.json_with(&["doctor", "--quick"], 1);
    assert!(view.to_string().contains("belongs to user 12345"), "{view}");
}

#[test]
fn flags_that_contradict_each_other_are_a_wrong_command_line() {
    let machine = Machine::with_project();
    for args in [
        &["logs", "1", "--ci", "--critic"][..],
        &["logs", "--ci"],
        &["demo", "--clean", "--yes"],
        &["new", "x", "--body", "a", "--body-file", "b"],
        &["man", "status", "--dir", "x"],
        &["schedule", "run", "gc", "--due"],
        &["status", "--color", "blue"],
    ] {
        let ran = machine.run(args);
        assert_eq!(ran.code, 2, "{args:?}: {ran:?}");
        assert!(ran.err.contains("error:") && ran.out.is_empty(), "{args:?}: {ran:?}");
    }
}

/// Every error names a way out; `fails` asks for it.
#[test]
fn what_is_empty_or_not_there_has_a_way_out() {
    let machine = Machine::with_project();
    assert_eq!(machine.run(&["new", "something"]).code, 0);
    for (args, code, exit) in [
        (&["new", ""][..], "invalid", 2),
        (&["new", "x", "--label", ""], "invalid", 2),
        (&["new", "x", "--body-file", "nowhere"], "not-found", 3),
        (&["tell", "1", ""], "invalid", 2),
        (&["comment", "1", ""], "invalid", 2),
        (&["-C", "/nonexist", "status"], "no-folder", 3),
        (&["-C", "windlass.toml", "status"], "no-folder", 3),
        (&["import", "/nonexist"], "not-found", 3),
        (&["export", "/nonexist/x"], "io", 1),
        (&["config", "schema", "--output", "nope"], "not-found", 3),
        (&["run", "1", "--timeout", "1s"], "usage", 2),
    ] {
        let ran = machine.fails(args, code, exit);
        assert!(ran.err.contains("\n  next  "), "{args:?}: {}", ran.err);
    }
}

#[test]
fn a_closed_stdout_and_a_narrow_terminal_are_no_reason_to_fall_over() {
    let machine = Machine::with_project();
    assert_eq!(machine.run(&["new", "a title that is far wider than twenty columns"]).code, 0);
    for args in ["status", "issues --json", "--help", "events --json"] {
        let mut shell = Command::new("sh");
        let line = format!("exec '{}' {args} >&-", env!("CARGO_BIN_EXE_windlass"));
        shell.args(["-c", &line]).current_dir(machine.repo()).env_clear().env("PATH", search_path());
        shell.env("HOME", machine.path("home")).env("XDG_STATE_HOME", machine.path("state"));
        let ran: Ran = shell.stdin(Stdio::null()).output().unwrap().into();
        assert!(!ran.err.contains("panicked") && [0, 1].contains(&ran.code), "{args}: {ran:?}");
        let mut narrow = machine.command(&args.split(' ').collect::<Vec<_>>());
        let ran: Ran = narrow.env("COLUMNS", "20").env("TERM", "dumb").output().unwrap().into();
        assert_eq!(ran.code, 0, "{args}: {ran:?}");
    }
    let mut narrow = machine.command(&["--help"]);
    let help: Ran = narrow.env("COLUMNS", "20").output().unwrap().into();
    assert!(help.out.contains("status") && help.out.contains("Exit codes"), "{}", help.out);
}

#[test]
fn a_daemon_of_another_version_is_named() {
    use windlass_core::journal::{Entry, Fact, FactoryFact};
    use windlass_store::{Op, Store, Write as Page};
    let machine = Machine::with_project();
    let store = daemon(&machine);
    let started = FactoryFact::DaemonStarted { epoch: 1, pid: std::process::id(), version: "0.0.7".into() };
    let entry = Entry { at: windlass_engine::now(), task: None, issue: None, fact: Fact::Factory(started) };
    store.commit(Page::from(vec![Op::Log(entry)])).unwrap();
    assert_eq!(machine.json(&["status"])["daemon"]["version"], "0.0.7");
    let said = machine.run(&["status"]).out;
    assert!(
        said.contains("it is version 0.0.7, this is") && said.contains("windlass down && windlass up"),
        "{said}"
    );
    drop(store);
    // Locks that a killed daemon left behind hold nobody up.
    assert!(machine.state().join("daemon.lock").is_file());
    assert_eq!(machine.json(&["status"])["daemon"]["state"], "down");
    assert_eq!(machine.run(&["up"]).code, 0);
    assert_eq!(machine.run(&["down"]).code, 0);
}

/// Deadlines, ages and names are made of a clock that says 1970: nothing falls over, and the doctor names it.
#[test]
fn a_clock_in_1970_is_named_and_nothing_is_lost_by_it() {
    let Some(library) = faketime::library() else { return };
    let machine = Machine::new();
    let back_then = |args: &[&str]| -> Ran {
        let mut command = machine.command(args);
        command.env("LD_PRELOAD", &library).env("FAKETIME", "@1970-01-02 00:00:00");
        command.env("FAKETIME_DONT_FAKE_MONOTONIC", "1").output().unwrap().into()
    };
    for args in [
        &["init", "--yes", "--ci", "true", "--agent", "demo"][..],
        &["new", "written long ago"],
        &["status"],
        &["issues"],
        &["why", "1"],
        &["schedule", "run", "backup"],
        &["gc"],
        &["events", "--json"],
    ] {
        let ran = back_then(args);
        assert_eq!(ran.code, 0, "{args:?}: {ran:?}");
    }
    assert!(
        back_then(&["show", "1", "--json"]).out.contains("\"1970-01-0"),
        "the clock must be the other one"
    );
    let doctor = back_then(&["doctor", "--quick"]);
    assert_eq!(doctor.code, 1, "{doctor:?}");
    assert!(
        doctor.out.contains("it is said to be 1970-01-0") && doctor.out.contains("set the clock"),
        "{doctor:?}"
    );
    assert_eq!(
        machine.json(&["issues"])["issues"][0]["title"],
        "written long ago",
        "today it is still there"
    );
}
