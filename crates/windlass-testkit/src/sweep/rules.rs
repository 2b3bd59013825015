//! What must hold when everything has come to its end, however it came there.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use windlass_core::build::TreeResult;
use windlass_core::id::Sha;
use windlass_core::journal::{Fact, FactoryFact};
use windlass_core::task::{Event, State};
use windlass_core::verdict::Decision;
use windlass_store::{EventQuery, LoggedEvent, Store, TaskQuery, Which, replay_states, replay_tasks};

use super::Report;
use super::life::Ended;
use super::outcome::Outcome;
use super::stage::Stage;

pub fn check(stage: &mut Stage, outcome: &Outcome, report: &mut Report) {
    let mut wrong = Vec::new();
    all_ended(stage, outcome, &mut wrong);
    report.duplicates += nothing_twice(stage, &mut wrong);
    main_is_tested(stage, &mut wrong);
    the_log_tells_the_same(stage, &mut wrong);
    nothing_is_left(stage, &mut wrong);
    nothing_is_damaged(stage, &mut wrong);
    another_start_does_nothing(stage, &mut wrong);
    report.violations.extend(wrong);
}

/// Nothing is lost: every issue has a task, every task has its end, and nobody waits.
fn all_ended(stage: &Stage, outcome: &Outcome, wrong: &mut Vec<String>) {
    for (number, end) in (1..).zip(stage.scenario.ends) {
        let state = &outcome.issues[&number]["state"];
        if state != end {
            wrong.push(format!("#{number} ended as {state}, not as {end}"));
        }
    }
    let store = stage.store();
    let effects = store.pending_effects().expect("the store can be read");
    wrong.extend(effects.iter().map(|effect| format!("effect {} waits", effect.key)));
    let builds = store.open_builds().expect("the store can be read");
    wrong.extend(builds.iter().map(|build| format!("build {} is open", build.id)));
    let live = store.identities(Which::Live).expect("the store can be read");
    wrong.extend(live.iter().map(|identity| format!("{} counts as alive", identity.name)));
    let commands = store.waiting_commands().expect("the store can be read");
    wrong.extend(commands.iter().map(|command| format!("command {} has no answer", command.id)));
}

/// No outward act happened twice: by the store's keys, by the forge's changes, by what the agents' shims wrote down.
fn nothing_twice(stage: &Stage, wrong: &mut Vec<String>) -> u32 {
    let before = wrong.len();
    let mut done = BTreeMap::new();
    for event in events(stage, &["effect_done"]) {
        if let Fact::Factory(FactoryFact::EffectDone { key, .. }) = event.entry.fact {
            *done.entry(key.to_string()).or_insert(0) += 1;
        }
    }
    more_than_once("effect", &done, wrong);
    let database = rusqlite::Connection::open(stage.state().join("windlass.db")).expect("a database");
    let mut statement = database.prepare("SELECT branch FROM forge_change").expect("a table of the forge");
    let mut changes = BTreeMap::new();
    for branch in statement.query_map([], |row| row.get::<_, String>(0)).expect("rows of the forge").flatten()
    {
        *changes.entry(branch).or_insert(0) += 1;
    }
    more_than_once("a change of", &changes, wrong);
    let mut delivered = BTreeMap::new();
    for folder in entries(&stage.state().join("sessions")) {
        let facts = std::fs::read_to_string(folder.join("turns.jsonl")).unwrap_or_default();
        for line in facts.lines().filter(|line| line.contains("\"delivered\"")) {
            let fact: serde_json::Value = serde_json::from_str(line).unwrap_or_default();
            *delivered.entry(fact["message"].to_string()).or_insert(0) += 1;
        }
    }
    more_than_once("message", &delivered, wrong);
    let subjects = stage.bare(&["log", "--format=%s", "main"]);
    for number in 1..=stage.scenario.issues.len() {
        let merges = subjects.lines().filter(|line| line.starts_with(&format!("Merge #{number}: "))).count();
        if merges > 1 {
            wrong.push(format!("#{number} is on main {merges} times"));
        }
    }
    u32::try_from(wrong.len() - before).unwrap_or(u32::MAX)
}

fn more_than_once(what: &str, counts: &BTreeMap<String, u32>, wrong: &mut Vec<String>) {
    let twice = counts.iter().filter(|(_, count)| **count > 1);
    wrong.extend(twice.map(|(key, count)| format!("{what} {key} happened {count} times")));
}

/// I1, I2, I3, I6: what we put on main was tested and approved, what others put there is there, merged is on main.
fn main_is_tested(stage: &Stage, wrong: &mut Vec<String>) {
    let store = stage.store();
    let mut approved = BTreeSet::new();
    let mut ours = BTreeSet::new();
    for event in events(stage, &["verdict_given", "landed"]) {
        let task = event.entry.task.clone();
        match event.entry.fact {
            Fact::Task(Event::VerdictGiven { report }) if report.verdict == Decision::Approve => {
                approved.insert((task, report.head));
            }
            Fact::Factory(FactoryFact::Landed { commit, tree, recipe, head, .. }) => {
                let verdict = store.verdict(&tree, &recipe).expect("the store can be read");
                if verdict.is_none_or(|verdict| verdict.result != TreeResult::Pass) {
                    wrong.push(format!("{commit} landed and its tree never passed"));
                }
                if stage.bare(&["rev-parse", &format!("{commit}^{{tree}}")]) != tree.to_string() {
                    wrong.push(format!("{commit} landed and its tree is not the tested one"));
                }
                if !approved.contains(&(task, head.clone())) {
                    wrong.push(format!("{head} landed and no critic approved it"));
                }
                ours.insert(commit.to_string());
            }
            Fact::Task(_) | Fact::Factory(_) => {}
        }
    }
    let line = stage.bare(&["log", "--first-parent", "--format=%H %s", "main"]);
    for (commit, subject) in line.lines().filter_map(|line| line.split_once(' ')) {
        if !ours.contains(commit) && subject != "begin" && !subject.ends_with(" by hand") {
            wrong.push(format!("`{subject}` is on main and nobody landed it"));
        }
    }
    let main = stage.bare(&["rev-parse", "main"]);
    let holds = |commit: &Sha| stage.bare(&["merge-base", commit.as_str(), &main]) == commit.to_string();
    let all = TaskQuery { limit: 100, ..TaskQuery::default() };
    for task in store.tasks_page(&all).expect("the store can be read") {
        match &task.value.state {
            State::Merged { commit } if !holds(commit) => {
                wrong.push(format!("{} counts as merged and is not on main", task.value.id));
            }
            state if !state.is_terminal() => wrong.push(format!("{} is {}", task.value.id, state.name())),
            _ => {}
        }
    }
}

fn the_log_tells_the_same(stage: &Stage, wrong: &mut Vec<String>) {
    let store = stage.store();
    let states = replay_states(store).expect("the store can be read");
    wrong.extend(states.iter().map(|mismatch| format!("the log does not say where it stands: {mismatch:?}")));
    let policy = (stage.scenario.policy)();
    let drifts = replay_tasks(store, &policy).expect("the store can be read");
    wrong.extend(drifts.iter().map(|drift| format!("the log replayed gives another task: {drift:?}")));
}

/// No process, no lock, no half-made file, and work only of tasks whose workspaces are kept too.
fn nothing_is_left(stage: &Stage, wrong: &mut Vec<String>) {
    let state = stage.state();
    let abandoned = TaskQuery { states: vec!["ABANDONED".into()], limit: 100, ..TaskQuery::default() };
    let abandoned = stage.store().tasks_page(&abandoned).expect("the store can be read");
    let work = stage.bare(&["for-each-ref", "--format=%(refname:lstrip=3)", "refs/windlass/work"]);
    let left = work.lines().filter(|branch| !abandoned.iter().any(|task| task.value.branch == *branch));
    wrong.extend(left.map(|branch| format!("the work on `{branch}` is left, its workspace is not")));
    wrong.extend(stage.processes().iter().map(|process| format!("a process is left: {process}")));
    for folder in ["sessions", "builds", "slots"] {
        for lock in entries(&state.join(folder)).into_iter().map(|entry| entry.join("lock")) {
            let held = std::fs::File::open(&lock).is_ok_and(|file| file.try_lock_shared().is_err());
            if held {
                wrong.push(format!("{} is held", lock.display()));
            }
        }
    }
    let mut folders = vec![state.clone()];
    while let Some(folder) = folders.pop() {
        for path in entries(&folder) {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let half = ["cloning", "removing", ".tmp", "tmp-", "tmp_", "incoming-", ".new"]
                .iter()
                .any(|part| name.contains(part));
            let stale = name.ends_with(".lock") && path.starts_with(state.join("repo.git"));
            if half || stale {
                wrong.push(format!("{} is left", path.display()));
            }
            if path.is_dir() && !path.is_symlink() && name != "home" {
                folders.push(path);
            }
        }
    }
}

fn nothing_is_damaged(stage: &Stage, wrong: &mut Vec<String>) {
    let database = rusqlite::Connection::open(stage.state().join("windlass.db")).expect("a database");
    let said: String = database
        .query_row("PRAGMA integrity_check", [], |row| row.get(0))
        .expect("an answer of the database");
    if said != "ok" {
        wrong.push(format!("the database is damaged: {said}"));
    }
    let said = stage.bare(&["fsck", "--no-dangling", "--no-progress"]);
    if !said.is_empty() {
        wrong.push(format!("the repository is damaged: {said}"));
    }
}

fn another_start_does_nothing(stage: &mut Stage, wrong: &mut Vec<String>) {
    let before = stage.store().last_seq().expect("the store can be read");
    let life = stage.live(&[]);
    if life.ended != Ended::Idle {
        wrong.push(format!("another start does not come to its end: {:?}", life.ended));
        return;
    }
    let query = EventQuery { since: before, ..EventQuery::default() };
    let after = stage.store().events(&query).expect("the log can be read");
    let kinds: Vec<&str> = after.iter().map(|event| event.entry.fact.kind()).collect();
    if kinds != ["daemon_started", "daemon_stopped"] {
        wrong.push(format!("another start is not quiet: {kinds:?}"));
    }
}

fn events(stage: &Stage, kinds: &[&str]) -> Vec<LoggedEvent> {
    let kinds = kinds.iter().map(|kind| (*kind).to_owned()).collect();
    stage.store().events(&EventQuery { kinds, ..EventQuery::default() }).expect("the log can be read")
}

fn entries(folder: &Path) -> Vec<std::path::PathBuf> {
    std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}
