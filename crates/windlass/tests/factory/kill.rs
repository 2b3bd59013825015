//! SIGKILL at random moments: what comes out is what comes out of a run that nobody disturbed.

use std::collections::BTreeMap;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime};

use serde_json::Value;
use windlass_store::{Mode, SqliteStore, Store};

use crate::common::{Machine, search_path};

const KILLS: u32 = 40;

#[test]
fn forty_kills_of_the_daemon_change_nothing() {
    let calm = {
        let machine = Machine::without_git();
        machine.json(&["demo", "--yes", "--in", "todo", "--pace", "5", "--quiet"]);
        outcome(&machine)
    };
    let mut chance = Chance::new();
    let machine = Machine::without_git();
    let demo = spawn(machine.command(&["demo", "--yes", "--in", "todo", "--pace", "60"]));
    wait_until_filed(&machine);
    kill_after(demo, chance.up_to(900));
    let mut told = false;
    for _ in 1..KILLS {
        kill_after(spawn(up(&machine)), chance.up_to(250));
        told = told || answer(&machine);
    }
    let mut daemon = spawn(up(&machine));
    wait_until_settled(&machine, told);
    let said = machine.run(&["-C", "todo", "down"]);
    assert!(said.out.contains("0 processes left"), "{said:?}");
    assert!(daemon.wait().unwrap().success());
    let disturbed = outcome(&machine);
    let other = disturbed.iter().filter(|(number, seen)| calm.get(number) != Some(seen));
    let stories: Vec<String> = other.map(|(number, _)| story(&machine, *number)).collect();
    assert_eq!(disturbed, calm, "seed {}\n{}", chance.seed, stories.join("\n"));
    nothing_is_left_over(&machine);
}

/// What people see in the end, without times, hashes and the order of two that conflict.
fn outcome(machine: &Machine) -> BTreeMap<u64, Value> {
    let issues = machine.json(&["-C", "todo", "issues", "--all"]);
    let numbers = issues["issues"].as_array().unwrap().iter().map(|issue| issue["number"].as_u64().unwrap());
    let seen = numbers.map(|number| {
        let shown = machine.json(&["-C", "todo", "show", &number.to_string()]);
        let comments = shown["comments"].as_array().unwrap();
        let mut words: Vec<String> = comments
            .iter()
            .map(|comment| comment["body"].as_str().unwrap().split_whitespace().next().unwrap().to_owned())
            .collect();
        words.sort();
        let landed = machine.run(&[
            "-C",
            "todo",
            "events",
            "--json",
            "--kind",
            "landed",
            "--issue",
            &number.to_string(),
        ]);
        let value = serde_json::json!({
            "title": shown["title"], "open": shown["open"], "labels": shown["labels"],
            "state": shown["task"]["state"], "comments": words, "landings": landed.out.lines().count(),
            "change": shown["change"]["state"],
        });
        (number, value)
    });
    seen.collect()
}

/// Every event of an issue, to see where it went another way.
fn story(machine: &Machine, number: u64) -> String {
    machine.run(&["-C", "todo", "events", "--json", "--issue", &number.to_string()]).out
}

fn nothing_is_left_over(machine: &Machine) {
    let state = state(machine);
    // Only the refused issue keeps its workspace, for a person to look at.
    assert_eq!(crate::works::names(&state.join("workspaces")), ["8.1"]);
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let environ = std::fs::read(entry.path().join("environ")).unwrap_or_default();
        let ours = String::from_utf8_lossy(&environ).contains(&*state.to_string_lossy());
        assert!(!ours, "process {} is left", entry.path().display());
    }
    let locks =
        std::fs::read_dir(state.join("sessions")).unwrap().flatten().map(|entry| entry.path().join("lock"));
    for lock in locks.filter(|lock| lock.exists()) {
        let file = std::fs::File::open(&lock).unwrap();
        assert!(file.try_lock_shared().is_ok(), "{} is held", lock.display());
    }
    let repository = state.join("repo.git");
    let at = repository.to_str().unwrap();
    assert_eq!(machine.git(&["--git-dir", at, "fsck", "--no-dangling", "--no-progress"]), "");
    let branches = machine.git(&["--git-dir", at, "for-each-ref", "--format=%(refname)", "refs/heads"]);
    assert_eq!(branches.trim(), "refs/heads/main");
    assert_eq!(
        machine.git(&["--git-dir", at, "for-each-ref", "refs/windlass/run"]),
        "",
        "a candidate is held"
    );
    let keys = repeated_effects(machine);
    assert!(keys.is_empty(), "done twice: {keys:?}");
}

/// No outward act has ended twice under one key.
fn repeated_effects(machine: &Machine) -> Vec<String> {
    let done = machine.run(&["-C", "todo", "events", "--json", "--kind", "effect_done"]);
    let mut counts: BTreeMap<String, u32> = BTreeMap::new();
    for line in done.out.lines() {
        let event: Value = serde_json::from_str(line).unwrap();
        *counts.entry(event["data"]["key"].as_str().unwrap().to_owned()).or_default() += 1;
    }
    assert!(counts.len() > 50, "{counts:?}");
    counts.into_iter().filter(|(_, count)| *count > 1).map(|(key, _)| key).collect()
}

fn state(machine: &Machine) -> std::path::PathBuf {
    let folders = std::fs::read_dir(machine.path("state/windlass")).unwrap().flatten();
    let mut found = folders.map(|entry| entry.path()).filter(|path| path.join("windlass.db").exists());
    found.next().expect("a state folder")
}

/// The question is answered once, as the person at the demo would.
fn answer(machine: &Machine) -> bool {
    let shown = machine.run(&["-C", "todo", "show", "7", "--json"]);
    let Ok(shown) = serde_json::from_str::<Value>(&shown.out) else { return false };
    if shown["task"]["state"] != "AWAITING_HUMAN" {
        return false;
    }
    // Heard at once, or stored for the next daemon: whoever says it twice is asked twice.
    [0, 5, 8].contains(&machine.run(&["-C", "todo", "tell", "7", "Use ISO dates."]).code)
}

/// Until the demo has filed its issues: before that there is nothing to lose, and nothing to go on with.
fn wait_until_filed(machine: &Machine) {
    let started = std::time::Instant::now();
    let filed = || -> Option<usize> {
        let listed = machine.run(&["-C", "todo", "issues", "--all", "--json"]);
        serde_json::from_str::<Value>(&listed.out).ok()?["issues"].as_array().map(Vec::len)
    };
    while filed() != Some(8) {
        assert!(started.elapsed() < Duration::from_secs(60), "the demo files no issues");
        std::thread::park_timeout(Duration::from_millis(10));
    }
}

/// Until every issue has ended and no effect is pending.
fn wait_until_settled(machine: &Machine, mut told: bool) {
    let store = SqliteStore::open(&state(machine), Mode::ReadOnly).unwrap();
    let started = std::time::Instant::now();
    loop {
        told = told || answer(machine);
        let counts = store.counts_by_state().unwrap();
        let ended: u64 = ["MERGED", "ABANDONED"].iter().filter_map(|state| counts.get(*state)).sum();
        if ended == 8 && store.pending_effects().unwrap().is_empty() {
            return;
        }
        assert!(started.elapsed() < Duration::from_secs(120), "not settled: {counts:?}");
        std::thread::park_timeout(Duration::from_millis(50));
    }
}

fn up(machine: &Machine) -> Command {
    machine.command(&["-C", "todo", "up", "--foreground"])
}

fn spawn(mut command: Command) -> Child {
    assert!(!search_path().is_empty());
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

fn kill_after(mut child: Child, wait: Duration) {
    std::thread::park_timeout(wait);
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Moments that differ from run to run and can be had again: the seed is shown when the test fails.
struct Chance {
    seed: u64,
    state: u64,
}

impl Chance {
    fn new() -> Self {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
        let seed = std::env::var("WINDLASS_KILL_SEED").ok().and_then(|text| text.parse().ok());
        let seed = seed.unwrap_or(now.as_secs() ^ u64::from(now.subsec_nanos()));
        Self { seed, state: seed | 1 }
    }

    fn up_to(&mut self, millis: u64) -> Duration {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        Duration::from_millis(self.state % millis)
    }
}
