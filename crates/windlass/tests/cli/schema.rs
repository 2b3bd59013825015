//! Every object that a command prints is one of the registry, with all its fields and no others.

use std::collections::BTreeSet;

use serde_json::Value;
use windlass_adapters::forge::{Durability, EmbeddedForge, Forge, NewChange, NewReview};
use windlass_core::forge::ReviewDecision;
use windlass_core::id::EffectKey;
use windlass_core::journal::{Entry, Fact};
use windlass_core::session::IdentityStatus;
use windlass_core::task::{AbandonReason, Crash, Event, Feedback, State};
use windlass_core::time::{Millis, Span};
use windlass_core::verdict::{Category, Finding, FindingStatus, Severity};
use windlass_store::{Op, SqliteStore, UsageRow};

use crate::common::Machine;
use crate::common::fits::{fits, fits_as};
use crate::init::path_with;
use crate::memory::{self, now, sha};
use crate::queue;

/// What was seen: the names of the schemas, and which lists ever had something in them.
#[derive(Default)]
struct Seen {
    names: BTreeSet<String>,
    filled: BTreeSet<String>,
    empty: BTreeSet<String>,
}

impl Seen {
    fn view(&mut self, view: &Value) {
        let name = fits(view);
        self.lists(&name, view);
        self.names.insert(name);
    }

    /// Every line of a stream.
    fn lines(&mut self, machine: &Machine, args: &[&str]) {
        let ran = machine.run(&[args, &["--json"]].concat());
        let lines: Vec<Value> = ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert!(ran.code == 0 && !lines.is_empty(), "{args:?}: {ran:?}");
        lines.iter().for_each(|line| self.view(line));
    }

    fn lists(&mut self, place: &str, value: &Value) {
        for (name, field) in value.as_object().into_iter().flatten() {
            self.lists(&format!("{place}.{name}"), field);
        }
        if let Some(items) = value.as_array() {
            let known = if items.is_empty() { &mut self.empty } else { &mut self.filled };
            known.insert(place.to_owned());
            items.iter().for_each(|item| self.lists(place, item));
        }
    }
}

/// A project before anybody has worked on it.
fn fresh(seen: &mut Seen) {
    let machine = Machine::new();
    let mut init = machine.command(&["init", "--dry-run", "--json"]);
    let found = init.env("PATH", path_with(&machine, &["claude"])).output().unwrap();
    seen.view(&serde_json::from_slice(&found.stdout).unwrap());
    for args in [
        &["init", "--yes", "--ci", "true", "--agent", "demo"][..],
        &["new", "one", "--body", "text"],
        &["comment", "1", "x"],
        &["issues"],
        &["show", "1"],
        &["status"],
        &["agents"],
        &["queue"],
        &["why", "1"],
        &["plan"],
        &["inbox"],
        &["cost"],
        &["gc", "--dry-run"],
        &["schedule"],
        &["report"],
        &["--set", "guards.min_free_memory_mb=0", "--set", "guards.min_free_disk_mb=0", "doctor", "--quick"],
        &["tell", "1", "x"],
        &["config", "check"],
        &["config", "show"],
        &["config", "defaults"],
        &["service", "show"],
        &["down"],
    ] {
        // Nobody is there to be told.
        let code = if args[0] == "tell" { 5 } else { 0 };
        seen.view(&machine.json_with(args, code));
    }
    let ran = machine.run(&["show", "99", "--json"]);
    seen.view(&serde_json::from_str(&ran.err).unwrap());
    let exported = machine.run(&["export"]);
    let mut lines = exported.out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    seen.view(&lines.next().unwrap());
    lines.for_each(|line| fits_as("windlass.export/1", &line));
}

/// What hangs on tasks that were worked on: money, words, a change with its review, and what is left of old work.
fn more(machine: &Machine, store: &SqliteStore) {
    let forge = EmbeddedForge::open(&machine.state().join("windlass.db"), Durability::Full).unwrap();
    let mut reviewed = memory::task(6, State::AwaitingCi { head: sha('a'), tree: sha('b') });
    let change = NewChange {
        branch: reviewed.branch.clone(),
        base: "main".into(),
        head: sha('a'),
        title: reviewed.title.clone(),
        body: "text".into(),
        issue: Some(reviewed.issue),
    };
    let change = forge.open_change(&change, now()).unwrap();
    let review = NewReview {
        key: EffectKey::new("review"),
        head: sha('a'),
        decision: ReviewDecision::ChangesRequested,
        body: "not yet".into(),
    };
    forge.post_review(change.number, &review, now()).unwrap();
    reviewed.change = Some(change.number);
    reviewed.findings = vec![Finding {
        id: "f1".into(),
        status: FindingStatus::Open,
        severity: Severity::Sev1,
        category: Category::Correctness,
        file: Some("a.rs".into()),
        line: Some(3),
        message: "it is wrong".into(),
    }];
    let mut old = memory::task(8, State::Abandoned { reason: AbandonReason::CiExhausted });
    old.since = Millis(now().0 - Span::days(60).0);
    let mut ended = memory::identity(&old);
    (ended.last_seen, ended.status) = (old.since, IdentityStatus::Terminated);
    let usage = |model: &str| UsageRow {
        session: reviewed.session.clone(),
        task: reviewed.id.clone(),
        issue: reviewed.issue,
        at: now(),
        input: 10,
        cache_write: 20,
        cache_read: 30,
        output: 40,
        model: model.into(),
        cost_micro_usd: 5_000,
    };
    let first = memory::task(1, State::Dispatched);
    let crashed = Event::AgentCrashed { session: first.session, how: Crash::Killed { signal: 9 } };
    let crashed =
        Entry { at: now(), task: Some(first.id), issue: Some(first.issue), fact: Fact::Task(crashed) };
    let mut ops = vec![Op::AddUsage(usage("m")), Op::AddUsage(usage("n")), Op::SaveIdentity(ended)];
    ops.push(Op::Log(crashed));
    let told = Feedback::Told { by: "ann".into(), text: "go on".into() };
    let goes_on = memory::task(9, State::AwaitingSlot { feedback: told });
    ops.extend([reviewed, old, goes_on].map(|task| Op::InsertTask { task, wake_at: None }));
    memory::save(store, ops);
    for folder in ["sessions/dev-1.1-1", "sessions/dev-8.1-1"] {
        let folder = machine.state().join(folder);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("transcript.jsonl"), "{\"type\":\"text\",\"text\":\"one\"}\n").unwrap();
    }
}

fn worked_on(seen: &mut Seen) {
    let machine = Machine::with_project();
    let store = memory::filled(&machine);
    assert_eq!(machine.run(&["comment", "3", "a word"]).code, 0);
    assert_eq!(machine.run(&["new", "later", "--body", "Depends on #1"]).code, 0);
    more(&machine, &store);
    for args in [
        &["status"][..],
        &["agents"],
        &["issues", "--all"],
        &["show", "3"],
        &["show", "6"],
        &["gc", "--dry-run"],
        &["--set", "ci.env={ A = \"env:A\" }", "service", "show"],
        &["why", "1"],
        &["why", "4"],
        &["why", "7"],
        &["--set", "guards.min_free_memory_mb=0", "--set", "guards.min_free_disk_mb=0", "plan"],
        &["inbox"],
        &["cost"],
        &["cost", "--by", "role"],
        &["cost", "--by", "day"],
        &["cost", "--by", "iteration"],
        &["cost", "--by", "model"],
        &["queue"],
        &["up"],
    ] {
        seen.view(&machine.json(args));
    }
    seen.lines(&machine, &["events"]);
    seen.lines(&machine, &["logs", "1"]);
    let ran = machine.run(&["run", "1", "--watch", "--timeout", "1s", "--json"]);
    assert_eq!(ran.code, 8, "{ran:?}");
    seen.view(&serde_json::from_str(ran.out.lines().last().unwrap()).unwrap());
    drop(store);
}

fn queued(seen: &mut Seen) {
    let machine = Machine::with_project();
    let store = queue::filled(&machine);
    for args in [&["queue"][..], &["status"], &["why", "1"], &["why", "3"], &["inbox"]] {
        seen.view(&machine.json(args));
    }
    drop(store);
}

#[test]
fn what_commands_print_is_what_their_schemas_say() {
    let mut seen = Seen::default();
    fresh(&mut seen);
    worked_on(&mut seen);
    queued(&mut seen);
    // A demo needs a factory that runs; its report is checked where one does.
    seen.names.insert("windlass.demo/1".into());
    let known: BTreeSet<String> = windlass::schemas().keys().map(|name| (*name).to_owned()).collect();
    assert_eq!(seen.names, known);
    let never: Vec<&String> = seen.empty.difference(&seen.filled).collect();
    // The first three are values that are empty lists by default, and a build that runs has not failed yet. What is kept
    // looks as what is not, and the last is of a factory at work.
    let nothing_to_see = [
        "windlass.config-defaults/1.keys.default",
        "windlass.config-defaults/1.keys.example",
        "windlass.config-show/1.values.value",
        "windlass.gc/1.kept",
        "windlass.queue/1.builds.failing",
        "windlass.status/1.config.waiting",
    ];
    assert_eq!(never, nothing_to_see, "lists that were never seen with anything in them");
}
