//! What the factory does by the clock.

use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;
use std::time::{Duration, Instant, UNIX_EPOCH};

use serde_json::json;
use windlass_adapters::process::ProcessId;

use crate::common::{Machine, search_path};

fn copies(machine: &Machine) -> Vec<String> {
    let all = std::fs::read_dir(machine.state().join("backups")).into_iter().flatten().flatten();
    let mut names: Vec<String> = all.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn jobs_are_listed_with_their_times_and_how_they_went() {
    let machine = Machine::with_project();
    let view = machine.json(&["schedule"]);
    let names: Vec<_> = view["jobs"].as_array().unwrap().iter().map(|job| job["name"].clone()).collect();
    assert_eq!(names, [json!("gc"), json!("backup")]);
    assert!(view["jobs"][0]["next_at"].as_str().unwrap().ends_with("T03:00:00.000Z"), "{view}");
    assert_eq!((&view["jobs"][1]["last"], &view["timezone"]), (&json!(null), &json!("UTC")));
    let said = machine.run(&["schedule", "run", "backup"]);
    assert!(said.out.contains("copied to") && said.code == 0, "{said:?}");
    let view = machine.json(&["schedule", "list"]);
    assert_eq!(view["jobs"][1]["last"]["failed"], false, "{view}");
    assert_eq!(view["jobs"][1]["last"]["by"], "operator");
    let copy = machine.state().join("backups").join(&copies(&machine)[0]);
    let found = rusqlite::Connection::open(copy).unwrap();
    let check: String = found.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(check, "ok");
    let off = machine.json(&["schedule", "--set", "schedule.gc=off"]);
    assert_eq!(off["jobs"][0]["next_at"], json!(null));
    assert!(machine.run(&["schedule", "--set", "schedule.gc=off"]).out.contains("never"));
}

#[test]
fn as_many_copies_are_kept_as_wanted() {
    let machine = Machine::with_project();
    for _ in 0..4 {
        let ran = machine.run(&["schedule", "run", "backup", "--set", "keep.backups=2"]);
        assert_eq!(ran.code, 0, "{ran:?}");
    }
    assert_eq!(copies(&machine).len(), 2, "{:?}", copies(&machine));
    std::fs::write(machine.state().join("backups/mine.db"), "kept by hand").unwrap();
    std::fs::write(machine.state().join("backups/windlass-before-upgrade.db"), "kept by hand").unwrap();
    std::fs::write(machine.state().join("backups/windlass-2026.db.part-7"), "cut off").unwrap();
    assert_eq!(machine.run(&["schedule", "run", "backup", "--set", "keep.backups=1"]).code, 0);
    let kept = copies(&machine);
    assert_eq!(kept.len(), 3, "what is not ours stays: {kept:?}");
    assert!(kept.contains(&"windlass-before-upgrade.db".to_owned()), "{kept:?}");
    assert!(kept.iter().any(|name| name.starts_with("windlass-20")), "the new one stays: {kept:?}");
}

#[test]
fn what_is_due_is_done_once_and_a_missed_time_is_made_up_for() {
    let machine = Machine::with_project();
    let due = |set: &str| machine.run(&["schedule", "run", "--due", "--set", set]);
    assert_eq!(due("schedule.backup=off").out, "nothing is due\n", "the first look only begins to wait");
    let ledger = machine.state().join("schedule/backup.json");
    let known = std::fs::read_to_string(&ledger).unwrap();
    let since = known.split("\"since\":").nth(1).unwrap().split([',', '}']).next().unwrap();
    let long_ago = since.trim().parse::<i64>().unwrap() - 3 * 24 * 3_600_000;
    std::fs::write(&ledger, known.replace(since, &long_ago.to_string())).unwrap();
    let ran = due("schedule.gc=off");
    assert!(ran.out.starts_with("backup: copied to"), "{ran:?}");
    assert_eq!(due("schedule.gc=off").out, "nothing is due\n");
    assert_eq!(copies(&machine).len(), 1);
    assert_eq!(machine.json(&["schedule"])["jobs"][1]["last"]["by"], "clock");
}

#[test]
fn the_clock_copies_only_what_has_changed() {
    let machine = Machine::with_project();
    let due = || machine.run(&["schedule", "run", "--due", "--set", "schedule.gc=off"]).out;
    let ledger = machine.state().join("schedule/backup.json");
    let forget = || std::fs::write(&ledger, "{\"since\":0,\"last\":null}").unwrap();
    due();
    forget();
    assert!(due().starts_with("backup: copied to"));
    forget();
    assert_eq!(due(), "backup: nothing has changed since the last copy\n");
    assert_eq!(machine.run(&["new", "something"]).code, 0);
    forget();
    assert!(due().starts_with("backup: copied to"));
    assert_eq!(copies(&machine).len(), 2);
}

/// A copy holds what was there when copying began, and copying a large database takes its time.
#[test]
fn what_is_written_while_a_copy_is_made_is_not_in_it() {
    let machine = Machine::with_project();
    let due = || machine.run(&["schedule", "run", "--due", "--set", "schedule.gc=off"]).out;
    let forget = || {
        std::fs::create_dir_all(machine.state().join("schedule")).unwrap();
        std::fs::write(machine.state().join("schedule/backup.json"), "{\"since\":0,\"last\":null}").unwrap();
    };
    forget();
    assert!(due().starts_with("backup: copied to"));
    let copy = machine.state().join("backups").join(&copies(&machine)[0]);
    let name = copy.file_name().unwrap().to_str().unwrap().to_owned();
    // Its content is of the time in its name, whenever its last byte was written.
    let modified = copy.metadata().unwrap().modified().unwrap();
    let millis = modified.duration_since(UNIX_EPOCH).unwrap().as_millis();
    let stamp = format!("{:.3}", jiff::Timestamp::from_millisecond(i64::try_from(millis).unwrap()).unwrap());
    assert!(name.contains(&stamp.replace(':', "")), "{name} is of {stamp}");
}

/// After a clock that was ahead the jobs go on, and the copy that was made last counts as the newest.
#[test]
fn a_clock_that_was_ahead_stops_no_job_for_ever() {
    let machine = Machine::with_project();
    let schedule = machine.state().join("schedule");
    std::fs::create_dir_all(&schedule).unwrap();
    let ahead = "{\"at\":9000000000000,\"took_ms\":1,\"by\":\"clock\",\"failed\":false,\"says\":\"copied\"}";
    let known = format!("{{\"since\":0,\"last\":{ahead}}}");
    std::fs::write(schedule.join("backup.json"), known).unwrap();
    let due = || {
        let sets = ["--set", "schedule.gc=off", "--set", "schedule.backup=every 1s"];
        machine.run(&[&["schedule", "run", "--due"], &sets[..]].concat()).out
    };
    due();
    let until = Instant::now() + Duration::from_secs(30);
    while copies(&machine).is_empty() {
        assert!(Instant::now() < until, "it is never due again");
        std::thread::park_timeout(Duration::from_millis(50));
        due();
    }
    // A copy of the time when the clock was ahead is older than one that is made now.
    let backups = machine.state().join("backups");
    let future = backups.join("windlass-2255-03-14T160000.000Z.db");
    std::fs::rename(backups.join(&copies(&machine)[0]), &future).unwrap();
    let ahead = UNIX_EPOCH + Duration::from_millis(9_000_000_000_000);
    std::fs::File::options().write(true).open(&future).unwrap().set_modified(ahead).unwrap();
    machine.run(&["new", "something"]);
    assert_eq!(machine.run(&["schedule", "run", "backup"]).code, 0);
    let restored = machine.run(&["restore", "--dry-run"]).out;
    assert!(!restored.contains("windlass-2255"), "{restored}");
}

#[test]
fn a_job_that_fails_says_so_until_it_has_gone_well() {
    let machine = Machine::with_project();
    std::fs::write(machine.state().join("backups"), "in the way").unwrap();
    assert_ne!(machine.run(&["schedule", "run", "backup"]).code, 0);
    let view = machine.json(&["schedule"]);
    assert_eq!(view["jobs"][1]["last"]["failed"], true, "{view}");
    let inbox = machine.run(&["inbox"]).out;
    assert!(inbox.contains("`backup` failed") && inbox.contains("windlass schedule run backup"), "{inbox}");
    std::fs::remove_file(machine.state().join("backups")).unwrap();
    assert_eq!(machine.run(&["schedule", "run", "backup"]).code, 0);
    assert!(!machine.run(&["inbox"]).out.contains("backup"));
}

#[test]
fn times_that_mean_nothing_are_refused() {
    let machine = Machine::with_project();
    for (set, said) in [
        ("schedule.gc=daily", "`daily` is neither `off`, nor `every 20m`"),
        ("schedule.backup=every 0s", "`every 0s` never ends"),
        ("schedule.timezone=Atlantis", "`Atlantis`"),
        ("keep.backups=0", "must be at least 1"),
    ] {
        let ran = machine.fails(&["schedule", "--set", set], "config", 9);
        assert!(ran.err.contains(said), "{set}: {}", ran.err);
    }
    assert_eq!(machine.run(&["schedule", "run"]).code, 2);
    assert_eq!(machine.run(&["schedule", "run", "gc", "--due"]).code, 2);
    assert_eq!(machine.run(&["schedule", "run", "gardener"]).code, 2);
}

/// A running factory does what is due by itself, by the schedule as it is now.
#[test]
fn the_daemon_keeps_the_schedule() {
    let machine = Machine::with_project();
    assert_eq!(machine.run(&["up"]).code, 0);
    machine.append_config("[schedule]\nbackup = \"every 1s\"\n");
    let until = std::time::Instant::now() + std::time::Duration::from_secs(60);
    let mut view = machine.json(&["schedule"]);
    while view["jobs"][1]["last"].is_null() && std::time::Instant::now() < until {
        std::thread::park_timeout(std::time::Duration::from_millis(50));
        view = machine.json(&["schedule"]);
    }
    let down = machine.run(&["down"]);
    assert_eq!(view["jobs"][1]["last"]["by"], "clock", "{view}");
    assert!(!copies(&machine).is_empty());
    assert!(down.out.contains("0 processes left"), "{down:?}");
}

/// A job removes files: it must not go on when nobody knows of it any more.
#[test]
fn the_jobs_of_a_daemon_that_is_killed_end_with_it() {
    let machine = Machine::with_project();
    let (bin, note) = (machine.path("bin"), machine.path("worker"));
    std::fs::create_dir(&bin).unwrap();
    // The first thing that a job asks hangs.
    let hangs = format!(
        "#!/bin/sh\nPATH='{path}'\nif tr '\\0' ' ' < /proc/$PPID/cmdline | grep -q 'schedule run --due'; then\n\
         echo $PPID > {note}.tmp; mv {note}.tmp {note}; exec sleep 30\nfi\nexec git \"$@\"\n",
        path = search_path(),
        note = note.display()
    );
    std::fs::write(bin.join("git"), hangs).unwrap();
    std::fs::set_permissions(bin.join("git"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut daemon = machine.command(&["up", "--foreground", "--set", "schedule.backup=every 1s"]);
    daemon.env("PATH", format!("{}:{}", bin.display(), search_path()));
    let mut daemon = daemon.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let until = Instant::now() + Duration::from_secs(60);
    while !note.exists() {
        assert!(Instant::now() < until, "no job was begun");
        std::thread::park_timeout(Duration::from_millis(10));
    }
    let pid = std::fs::read_to_string(&note).unwrap().trim().parse().unwrap();
    let worker = ProcessId::of(pid).expect("it hangs");
    let known = machine.json(&["doctor", "--quick"])["checks"].to_string();
    assert!(known.contains("1 at work"), "{known}");
    daemon.kill().unwrap();
    daemon.wait().unwrap();
    while worker.is_alive() {
        assert!(Instant::now() < until, "the job outlives its daemon");
        std::thread::park_timeout(Duration::from_millis(10));
    }
    assert!(machine.run(&["down"]).out.contains("0 processes left"));
}
