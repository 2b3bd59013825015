//! Crash cycles without end, and a machine that is full, read-only, locked, damaged or doubled.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use windlass_store::{EventQuery, Store};
use windlass_testkit::faketime;
use windlass_testkit::sweep::{Ended, Scenario, Stage, calm, settled, soak};

use crate::sweep::proof_program;

/// Far above what anything needs: it only ends a test that would hang.
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn crash_cycles_leave_nothing_behind() {
    let Some(program) = proof_program() else { return };
    let cycles = if std::env::var_os("WINDLASS_PROOF_LONG").is_some() { 500 } else { 60 };
    let begun = Instant::now();
    let soaked = soak(&program, cycles, 7);
    println!(
        "{} kills over {} issues in {} s: {} files, {} KiB, {} refs, {} rows",
        soaked.kills,
        soaked.issues,
        begun.elapsed().as_secs(),
        soaked.last.files,
        soaked.last.bytes / 1024,
        soaked.last.refs,
        soaked.last.rows.values().sum::<u64>()
    );
    assert!(soaked.violations.is_empty(), "{:#?}", soaked.violations);
    assert!(soaked.kills >= cycles);
}

/// Starts a daemon that ends by itself when all is done.
fn start(stage: &Stage) -> Child {
    start_with(stage, &[])
}

fn start_with(stage: &Stage, env: &[(&str, &Path)]) -> Child {
    let log = std::fs::File::options().create(true).append(true).open(stage.path("daemon.log")).unwrap();
    let mut command = stage.command(&["up", "--foreground"]);
    command.envs(env.iter().copied());
    command.env("WINDLASS_UNTIL_IDLE", "1").stdout(Stdio::null()).stderr(log).spawn().unwrap()
}

fn wait(what: &str, mut done: impl FnMut() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !done() {
        assert!(Instant::now() < until, "waited for {what} in vain");
        std::thread::park_timeout(Duration::from_millis(5));
    }
}

fn log(stage: &Stage) -> String {
    std::fs::read_to_string(stage.path("daemon.log")).unwrap_or_default()
}

/// R22: a daemon that stands still keeps others out; one that was replaced all the same writes nothing any more.
#[test]
fn a_daemon_that_was_asleep_while_another_took_over_is_fenced() {
    let Some(program) = proof_program() else { return };
    let scenario = Scenario::named("direct_push");
    let calm = calm(&program, scenario);
    let mut stage = Stage::new(&program, scenario);
    let mut asleep = start(&stage);
    // Until the critic is there, the daemon holds the lock of its checkout, and would keep it in its sleep.
    wait("the critic", || stage.noted("heard-review-1"));
    let pid = Pid::from_child(&asleep);
    kill_process(pid, Signal::STOP).unwrap();
    let second = stage.command(&["up", "--foreground"]).output().unwrap();
    let said = String::from_utf8_lossy(&second.stderr).into_owned();
    assert!(!second.status.success() && said.contains("up already"), "{said}");
    // Somebody who knows better takes the lock away.
    std::fs::remove_file(stage.state().join("daemon.lock")).unwrap();
    let last = stage.live(&[]);
    assert_eq!(last.ended, Ended::Idle, "{}", stage.story());
    let before = stage.json(&["show", "1"])["task"].clone();
    assert_eq!(before["state"], "MERGED");
    kill_process(pid, Signal::CONT).unwrap();
    // It finds out when it next has something to write.
    stage.file_another();
    wait("the end of the first daemon", || asleep.try_wait().unwrap().is_some());
    assert!(!asleep.wait().unwrap().success());
    assert!(log(&stage).contains("another daemon"), "{}", log(&stage));
    assert_eq!(stage.json(&["show", "1"])["task"], before);
    stage.must(&["close", "3"]);
    let last = stage.live(&[]);
    let report = settled(&mut stage, &calm, &last);
    assert!(report.violations.is_empty(), "{:#?}", report.violations);
}

/// The machine's clock jumps two hours ahead and half an hour back while a critic reads: nobody is ended or late for it,
/// and the same comes of it.
#[test]
fn a_clock_that_jumps_changes_nothing() {
    let Some(program) = proof_program() else { return };
    let Some(library) = faketime::library() else { return };
    let scenario = Scenario::named("direct_push");
    let calm = calm(&program, scenario);
    let mut stage = Stage::new(&program, scenario);
    let clock = stage.path("clock");
    std::fs::write(&clock, "+0").unwrap();
    let fake = [
        ("LD_PRELOAD", library.as_path()),
        ("FAKETIME_TIMESTAMP_FILE", clock.as_path()),
        ("FAKETIME_NO_CACHE", Path::new("1")),
        ("FAKETIME_DONT_FAKE_MONOTONIC", Path::new("1")),
    ];
    let mut daemon = start_with(&stage, &fake);
    wait("the critic", || stage.is(1, "AWAITING_CRITIC"));
    for (jump, minutes) in [("+120m", 120), ("-30m", -30)] {
        std::fs::write(&clock, jump).unwrap();
        // Whatever it is told makes it look at everything.
        stage.must(&["pause"]);
        stage.must(&["resume"]);
        let off = (minutes_of_newest_event(&stage) - minutes).abs();
        assert!(off < 10, "the daemon's clock must have jumped by {minutes} minutes, it is {off} off");
    }
    stage.push_by_hand("by-hand");
    stage.note("pushed");
    wait("the end", || daemon.try_wait().unwrap().is_some());
    assert!(daemon.wait().unwrap().success(), "{}", log(&stage));
    stage.people_have_acted();
    let last = stage.live(&[]);
    let report = settled(&mut stage, &calm, &last);
    assert!(report.violations.is_empty(), "{:#?}", report.violations);
}

/// How far the time of the newest event is from ours.
fn minutes_of_newest_event(stage: &Stage) -> i64 {
    let query = EventQuery { limit: Some(1), newest_first: true, ..EventQuery::default() };
    let newest = stage.store().events(&query).unwrap().remove(0).entry.at;
    (newest.0 - windlass_engine::now().0) / 60_000
}

/// R18: somebody holds the database for longer than we wait for it; nothing is lost.
#[test]
fn a_locked_database_is_waited_for() {
    let Some(program) = proof_program() else { return };
    let scenario = Scenario::named("direct_push");
    let calm = calm(&program, scenario);
    let mut stage = Stage::new(&program, scenario);
    let mut daemon = start(&stage);
    wait("the critic", || stage.is(1, "AWAITING_CRITIC"));
    let other = rusqlite::Connection::open(stage.state().join("windlass.db")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    // The critic's verdict comes while nobody can write it down.
    stage.push_by_hand("by-hand");
    stage.note("pushed");
    wait("a word about it", || log(&stage).contains("cannot write, waiting"));
    let freed = Instant::now();
    other.execute_batch("ROLLBACK").unwrap();
    drop(other);
    wait("the end", || daemon.try_wait().unwrap().is_some());
    println!("done {} ms after the database was free again", freed.elapsed().as_millis());
    assert!(daemon.wait().unwrap().success(), "{}", log(&stage));
    stage.people_have_acted();
    let last = stage.live(&[]);
    let report = settled(&mut stage, &calm, &last);
    assert!(report.violations.is_empty(), "{:#?}", report.violations);
}

/// R19: what was only in the write-ahead log is gone with it. The rest is whole: the work is done again, or a person is
/// asked about what git already holds; nothing is overwritten, and nothing lands twice.
#[test]
fn a_write_ahead_log_of_zeros_costs_what_was_in_it_and_no_more() {
    let Some(program) = proof_program() else { return };
    for at in [30, 60, 90, 110] {
        let mut stage = Stage::new(&program, Scenario::named("happy"));
        stage.forget_store();
        let life = stage.live(&[("WINDLASS_CRASH_AT", &at.to_string())]);
        assert_eq!(life.ended, Ended::Killed);
        let main = stage.bare(&["rev-parse", "main"]);
        let log = stage.state().join("windlass.db-wal");
        let zeros = vec![0; usize::try_from(log.metadata().unwrap().len()).unwrap()];
        assert!(!zeros.is_empty(), "there must be something to lose");
        std::fs::write(&log, zeros).unwrap();
        let mut daemon = start(&stage);
        stage.remember_store();
        wait("an end or a question", || {
            ["MERGED", "CLOSED", "AWAITING_HUMAN"].iter().any(|state| stage.is(1, state))
        });
        stage.must(&["down"]);
        daemon.wait().unwrap();
        stage.must(&["backup", &stage.path("copy.db").to_string_lossy()]);
        is_whole(&stage.path("copy.db"));
        assert_eq!(stage.bare(&["fsck", "--no-dangling", "--no-progress"]), "");
        assert_eq!(stage.bare(&["merge-base", &main, "main"]), main, "at {at}: main went back");
        let merges = stage.bare(&["log", "--format=%s", "main"]);
        assert!(merges.lines().filter(|line| line.starts_with("Merge #1")).count() <= 1, "at {at}: {merges}");
    }
}

/// Runs a script where it may mount what it likes, with its state on such a disk; `None` where nobody may.
fn in_private_mounts(stage: &Stage, disk: &str, script: &str) -> Option<String> {
    let allowed = Command::new("unshare").args(["-Urm", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]).output();
    if !allowed.is_ok_and(|done| done.status.success()) {
        assert!(may_skip("mounts"), "nothing can be mounted here, and nothing may be skipped");
        println!("SKIPPED: nothing can be mounted here; a full disk is also tested by a limit on file sizes");
        return None;
    }
    let path = stage.path("script.sh");
    std::fs::write(&path, format!("{}{script}", HELPERS.replace("OPTIONS", disk))).unwrap();
    let mut command = stage.command(&[]);
    let program = command.get_program().to_owned();
    let mut private = Command::new("unshare");
    private.args(["-Urm", "sh", "-eu"]).arg(&path).arg(program).arg(stage.path(""));
    private.env_clear().current_dir(stage.path("repo"));
    for (name, value) in command.env("HOME", stage.path("home")).get_envs() {
        private.env(name, value.unwrap_or_default());
    }
    let done = private.output().unwrap();
    let said = format!(
        "{}{}\n{}",
        String::from_utf8_lossy(&done.stdout),
        String::from_utf8_lossy(&done.stderr),
        log(stage)
    );
    assert!(done.status.success(), "{said}");
    Some(said)
}

/// With CI=true only what ./check has said that it skips.
fn may_skip(what: &str) -> bool {
    let named = std::env::var("WINDLASS_MAY_SKIP").unwrap_or_default();
    std::env::var("CI").is_err() || named.split(' ').any(|word| word == what)
}

const SMALL: &str = "size=24m";
/// Room for more files than the guard wants, and for far more bytes than they have.
const FEW_FILES: &str = "size=64m,nr_inodes=16000";

/// The state lies on a small disk of its own; everything else does not.
const HELPERS: &str = r#"
windlass=$1; here=${2%/}
disk=$here/disk; mkdir $disk; mount -t tmpfs -o OPTIONS tmpfs $disk
export XDG_STATE_HOME=$disk/state
$windlass init --yes > /dev/null
daemon=
trap '[ -z "$daemon" ] || $windlass down > /dev/null 2>&1' EXIT
up() { $windlass up --foreground --quiet > /dev/null 2>> $here/daemon.log & daemon=$!; }
is() { $windlass show $1 --json | grep -q "\"state\": *\"$2\""; }
wait_until() { n=0; until "$@"; do n=$((n + 1)); [ $n -lt 1500 ] || { echo "in vain: $*"; exit 1; }; sleep 0.02; done; }
end() { $windlass down > /dev/null; wait $daemon; $windlass backup $here/copy.db > /dev/null; }
"#;

fn is_whole(copy: &Path) {
    let copy = rusqlite::Connection::open(copy).unwrap();
    let said: String = copy.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(said, "ok");
}

/// R07: a disk of 24 MB is filled while an agent is at work. What cannot be written has not happened, and is made up
/// for when there is room again.
#[test]
fn a_full_disk_stops_nothing_for_good() {
    let Some(program) = proof_program() else { return };
    let stage = Stage::new(&program, Scenario::named("happy"));
    let agent = "if [ $WINDLASS_TURN = 1 ]; then work; touch $here/working; wait_for full; fi; ready\n";
    std::fs::write(stage.path("1.sh"), agent).unwrap();
    let script = r#"
$windlass new "issue 1" > /dev/null
up
wait_until test -e $here/working
dd if=/dev/zero of=$disk/ballast bs=64k 2> /dev/null || true
dd if=/dev/zero of=$disk/crumbs bs=1 2> /dev/null || true
touch $here/full
if $windlass new "while it is full" 2> $here/refused; then echo "took an issue on a full disk"; exit 1; fi
wait_until grep -q "disk" $here/refused
sleep 2
kill -0 $daemon
rm $disk/ballast $disk/crumbs
freed=$(date +%s%N)
wait_until is 1 MERGED
echo "merged $((($(date +%s%N) - freed) / 1000000)) ms after there was room"
$windlass new "issue 2" > /dev/null
echo ready > $here/3.sh
wait_until is 3 MERGED
end
"#;
    if let Some(said) = in_private_mounts(&stage, SMALL, script) {
        println!("{}", said.lines().next().unwrap_or_default());
        is_whole(&stage.path("copy.db"));
    }
}

/// R08: the disk has bytes, but cannot hold one more file, while an agent is at work. Who is told to go on then could
/// write nothing and would be given up; so nobody is, and nothing new begins, until files fit again.
#[test]
fn a_disk_without_inodes_stops_nothing_for_good() {
    let Some(program) = proof_program() else { return };
    let stage = Stage::new(&program, Scenario::named("happy"));
    let agent =
        "if [ $WINDLASS_TURN = 1 ]; then touch $here/working; wait_for full; work; else ready; fi; true\n";
    std::fs::write(stage.path("1.sh"), agent).unwrap();
    let settings = std::fs::read_to_string(stage.path("repo/windlass.toml")).unwrap();
    let settings = settings.replace("min_free_disk_mb = 0", "min_free_disk_mb = 1");
    std::fs::write(stage.path("repo/windlass.toml"), settings).unwrap();
    let script = r#"
$windlass new "issue 1" > /dev/null
up
wait_until test -e $here/working
mkdir $disk/crumbs
(cd $disk/crumbs; seq 16000 | xargs touch) 2> /dev/null || true
if touch $disk/crumb 2> /dev/null; then echo "there is room for a file"; exit 1; fi
touch $here/full
wait_until grep -q "files fit on the disk" $here/daemon.log
$windlass new "issue 2" > /dev/null
$windlass why 2 | grep "files fit on the disk"
$windlass doctor --quick > $here/doctor || true
grep "files fit on the disk" $here/doctor
kill -0 $daemon
is 1 RUNNING
echo ready > $here/2.sh
rm -r $disk/crumbs
freed=$(date +%s%N)
wait_until is 1 MERGED
echo "merged $((($(date +%s%N) - freed) / 1000000)) ms after there was room"
wait_until is 2 MERGED
end
"#;
    if let Some(said) = in_private_mounts(&stage, FEW_FILES, script) {
        println!("{said}");
        is_whole(&stage.path("copy.db"));
    }
}

/// R08: nothing is taken and no daemon starts on a state that is read-only; looking works; later it goes on.
#[test]
fn a_read_only_state_can_be_read_and_is_named() {
    let Some(program) = proof_program() else { return };
    let stage = Stage::new(&program, Scenario::named("happy"));
    let script = r#"
$windlass new "issue 1" > /dev/null
up
wait_until is 1 MERGED
$windlass down > /dev/null
mount -o remount,ro $disk
refused() { ! "$@" > /dev/null 2> $here/refused && grep -qi "read-\?only" $here/refused; }
refused $windlass new "while it is read-only" || { cat $here/refused; exit 1; }
refused $windlass up --foreground || { cat $here/refused; exit 1; }
$windlass status > /dev/null
$windlass events > /dev/null
is 1 MERGED
mount -o remount,rw $disk
echo ready > $here/3.sh
$windlass new "issue 2" > /dev/null
up
wait_until is 3 MERGED
end
"#;
    if in_private_mounts(&stage, SMALL, script).is_some() {
        is_whole(&stage.path("copy.db"));
    }
}
