//! What is kept, cleared away, started by the system, and handed to others.

use std::os::unix::fs::PermissionsExt;

use serde_json::Value;
use windlass_core::build::{Build, BuildOutcome, BuildStatus};
use windlass_core::id::{BuildId, Recipe};
use windlass_core::journal::{Entry, Fact, FactoryFact};
use windlass_core::session::IdentityStatus;
use windlass_core::task::{AbandonReason, BuildLane, State, Task};
use windlass_core::time::{Millis, Span};
use windlass_store::{Op, Store, Write as Page};

use crate::common::{Machine, Ran};
use crate::memory::{daemon, identity, now, sha, task};

fn ago(days: i64) -> Millis {
    Millis(now().0 - Span::days(days).0)
}

fn build(id: &str, task: &Task, status: BuildStatus, ended: Option<Millis>) -> Op {
    Op::SaveBuild(Build {
        id: BuildId::stored(id),
        commit: sha('a'),
        tree: sha('b'),
        recipe: Recipe(id.into()),
        lane: BuildLane::Branch,
        task: task.id.clone(),
        nth: 1,
        status,
        queued_at: ago(90),
        slot_at: None,
        started_at: None,
        ended_at: ended,
    })
}

#[test]
fn only_what_ended_long_ago_is_cleared_away() {
    let machine = Machine::with_project();
    let state = machine.state();
    let mut old = task(1, State::Abandoned { reason: AbandonReason::CiExhausted });
    old.since = ago(60);
    let live = task(2, State::Running { heard: None });
    let fresh = task(3, State::Merged { commit: sha('c') });
    let session = |task: &Task, at: Millis, status: IdentityStatus| {
        let mut identity = identity(task);
        (identity.last_seen, identity.status) = (at, status);
        Op::SaveIdentity(identity)
    };
    let ended = || BuildStatus::Ended { outcome: BuildOutcome::Cancelled };
    let mut ops: Vec<Op> =
        [&old, &live, &fresh].map(|task| Op::InsertTask { task: task.clone(), wake_at: None }).into();
    ops.push(session(&old, ago(60), IdentityStatus::Terminated));
    ops.push(session(&live, ago(60), IdentityStatus::Active));
    ops.push(session(&fresh, ago(1), IdentityStatus::Terminated));
    ops.push(build("b-old", &old, ended(), Some(ago(60))));
    ops.push(build("b-fresh", &fresh, ended(), Some(ago(1))));
    ops.push(build("b-waits", &live, BuildStatus::Waiting, None));
    daemon(&machine).commit(Page::from(ops)).unwrap();
    let folders = ["sessions/dev-1.1-1", "sessions/dev-2.1-1", "sessions/dev-3.1-1", "builds/b-old"];
    for folder in folders.iter().chain(&["builds/b-fresh", "builds/b-waits", "builds/b-unknown"]) {
        std::fs::create_dir_all(state.join(folder)).unwrap();
        std::fs::write(state.join(folder).join("log"), "x".repeat(5_000)).unwrap();
    }
    let repo = state.join("repo.git");
    let git = |args: &[&str]| machine.git(&[&["--git-dir", repo.to_str().unwrap()], args].concat());
    git(&["update-ref", "refs/windlass/rescue/1.1", "main"]);
    git(&["update-ref", "refs/windlass/rescue/2.1", "main"]);
    let names = |args: &[&str]| -> Vec<String> {
        let view = machine.json(&[&["gc"], args].concat());
        let items = view["items"].as_array().unwrap().clone();
        items.iter().map(|item| item["name"].as_str().unwrap().to_owned()).collect()
    };
    let expected = ["dev-1.1-1", "b-old", "refs/windlass/rescue/1.1"];
    assert_eq!(names(&["--dry-run", "--rescued"]), expected);
    assert!(folders.iter().all(|folder| state.join(folder).is_dir()), "nothing was removed yet");
    assert_eq!(names(&[]), expected[..2], "saved work goes only when it is asked for");
    assert_eq!(names(&["--rescued"]), expected[2..]);
    assert_eq!(names(&["--rescued"]), [""; 0], "and once");
    let left: Vec<&str> = folders.iter().copied().filter(|folder| state.join(folder).is_dir()).collect();
    assert_eq!(left, ["sessions/dev-2.1-1", "sessions/dev-3.1-1"]);
    assert!(["b-fresh", "b-waits", "b-unknown"].iter().all(|name| state.join("builds").join(name).is_dir()));
    assert!(git(&["for-each-ref", "refs/windlass/rescue"]).contains("rescue/2.1"));
}

/// Each fetch leaves a pack, and git looks into all of them.
#[test]
fn packs_are_joined_and_nothing_is_lost() {
    let machine = Machine::with_project();
    daemon(&machine);
    let repo = machine.state().join("repo.git");
    let git = |args: &[&str]| machine.git(&[&["--git-dir", repo.to_str().unwrap()], args].concat());
    for nth in 0..20 {
        let commit = git(&["commit-tree", "-p", "main", "-m", &nth.to_string(), "main^{tree}"]);
        git(&["update-ref", &format!("refs/windlass/work/{nth}"), commit.trim()]);
        git(&["repack", "-q"]);
    }
    let unnamed = git(&["commit-tree", "-m", "a workspace may need it", "main^{tree}"]);
    let packs = || {
        let files = std::fs::read_dir(repo.join("objects/pack")).unwrap().map(|entry| entry.unwrap().path());
        files.filter(|path| path.extension().is_some_and(|kind| kind == "pack")).count()
    };
    let (before, refs) = (packs(), git(&["for-each-ref"]));
    assert!(before >= 20, "{before}");
    machine.json(&["gc", "--dry-run"]);
    assert_eq!(packs(), before);
    machine.json(&["schedule", "run", "gc"]);
    assert!(packs() < 5, "{} of {before}", packs());
    assert_eq!(git(&["for-each-ref"]), refs);
    git(&["fsck", "--connectivity-only"]);
    git(&["cat-file", "-e", unnamed.trim()]);
}

#[test]
fn a_service_gets_its_keys_from_a_file_and_stops_where_a_start_cannot_help() {
    let machine = Machine::with_project();
    machine.commit_config(
        "[ci]\ncommand = \"true\"\n[agent.dev]\nkind = \"claude-code\"\n\
         env = { ANTHROPIC_API_KEY = \"env:ANTHROPIC_API_KEY\", OTHER = \"file:/x\", MODE = \"plain\" }\n",
    );
    let service = |args: &[&str]| {
        let mut command = machine.command(&[&["service"], args].concat());
        Ran::from(command.env("ANTHROPIC_API_KEY", "hush-hush").output().unwrap())
    };
    let file = machine.path("home/.config/windlass/windlass.env");
    let shown = service(&["show", "--kind", "systemd"]);
    assert!(shown.out.contains(&format!("\nEnvironmentFile=-{}\n", file.display())), "{shown:?}");
    assert!(shown.out.contains("\nRestartPreventExitStatus=2 3 4 9\n"), "{shown:?}");
    let install = service(&["install", "--kind", "systemd"]);
    assert!(install.err.contains("next  write ANTHROPIC_API_KEY=… into "), "{install:?}");
    assert!(!install.err.contains("OTHER") && !install.err.contains("MODE"), "{install:?}");
    let view = machine.json(&["service", "show", "--kind", "launchd"]);
    assert_eq!(view["variables"], serde_json::json!(["ANTHROPIC_API_KEY"]));
    assert_eq!(view["missing"], view["variables"]);
    assert!(view["text"].as_str().unwrap().contains("<key>ThrottleInterval</key>"), "{view}");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, "ANTHROPIC_API_KEY=hush-hush\n").unwrap();
    let install = service(&["install", "--kind", "systemd"]);
    assert!(install.code == 0 && !install.err.contains("ANTHROPIC_API_KEY"), "{install:?}");
    let all = format!("{shown:?}{install:?}{view}");
    assert!(!all.contains("hush-hush"), "{all}");
}

/// launchd has no such file of its own, so the shell reads it; what it then becomes sees the variables.
#[test]
fn the_line_for_launchd_hands_the_variables_over() {
    let machine = Machine::with_project();
    let file = machine.path("home/.config/windlass/windlass.env");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    let text = machine.run(&["service", "show", "--kind", "launchd"]).out;
    let words: Vec<String> = text
        .lines()
        .skip_while(|line| !line.contains("<array>"))
        .filter_map(|line| line.trim().strip_prefix("<string>")?.strip_suffix("</string>"))
        .take(4)
        .map(|word| word.replace("&amp;", "&").replace("&lt;", "<").replace("&gt;", ">"))
        .collect();
    let said = || {
        let mut command = std::process::Command::new(&words[0]);
        command.args(&words[1..]).args(["sh", "-c", "echo \"$A_KEY\""]).env_clear();
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    assert_eq!(said(), "\n", "without the file nothing is amiss");
    std::fs::write(&file, "A_KEY=hush\n").unwrap();
    assert_eq!(said(), "hush\n");
}

#[test]
fn a_service_is_a_file_that_is_written_only_when_asked() {
    let machine = Machine::with_project();
    let shown = machine.run(&["service", "show", "--kind", "systemd"]);
    assert_eq!(shown.code, 0, "{shown:?}");
    for part in [
        "KillMode=process",
        "\"up\" \"--foreground\" \"--unless-stopped\"",
        "Restart=on-failure",
        "WantedBy=",
    ] {
        assert!(shown.out.contains(part), "no `{part}` in {}", shown.out);
    }
    let folder = machine.path("home/.config/systemd/user");
    assert!(!folder.exists(), "showing writes nothing");
    let ran = machine.run(&["service", "install", "--kind", "systemd"]);
    assert!(ran.code == 0 && ran.err.contains("systemctl --user enable --now"), "{ran:?}");
    let files: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(std::fs::read_to_string(&files[0]).unwrap(), shown.out);
    assert_eq!(machine.run(&["service", "remove", "--kind", "systemd"]).code, 0);
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
    assert_eq!(machine.run(&["service", "remove", "--kind", "systemd"]).code, 0, "again is fine");
    let plist = machine.run(&["service", "show", "--kind", "launchd"]).out;
    assert!(
        plist.contains("<string>--unless-stopped</string>") && plist.contains("AbandonProcessGroup"),
        "{plist}"
    );
    assert_eq!(machine.run(&["down"]).code, 0);
    let kept = machine.run(&["up", "--foreground", "--unless-stopped"]);
    assert!(kept.code == 0 && kept.err.contains("a person took the factory down"), "{kept:?}");
    assert!(machine.state().join("stopped-by").is_file());
}

#[test]
fn a_report_has_what_a_bug_needs_and_no_secret() {
    let machine = Machine::with_project();
    let key = machine.path("key");
    std::fs::write(&key, "hush-hush-9\n").unwrap();
    machine
        .append_config(&format!("env = {{ API = \"hunter-two\", API_KEY = \"file:{}\" }}\n", key.display()));
    let fact =
        Fact::Factory(FactoryFact::Decided { decision: "said hunter-two to it, and hush-hush-9".into() });
    let entry = Entry { at: now(), task: None, issue: None, fact };
    daemon(&machine).commit(Page::from(vec![Op::Log(entry)])).unwrap();
    let log = format!("token=abcdef in {}/x\nAuthorization: Bearer zzz\n", machine.path("home").display());
    std::fs::write(machine.state().join("daemon.log"), log).unwrap();
    let ran = machine.run(&["report", "out.tar.gz"]);
    assert!(ran.code == 0 && ran.err.contains("read it before you send it"), "{ran:?}");
    let file = machine.repo().join("out.tar.gz");
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let parts = ["version.json", "doctor.json", "config.json", "events.jsonl", "daemon.log"]
        .map(|name| format!("windlass-report/{name}"));
    assert_eq!(tar(&["-tzf"], &file).lines().collect::<Vec<_>>(), parts);
    let folder = machine.path("unpacked");
    std::fs::create_dir(&folder).unwrap();
    tar(&["-C", folder.to_str().unwrap(), "-xzf"], &file);
    let read = |name: &str| std::fs::read_to_string(folder.join("windlass-report").join(name)).unwrap();
    let all = tar(&["-Oxzf"], &file);
    for secret in ["hunter-two", "hush-hush-9", "abcdef", "zzz", machine.path("home").to_str().unwrap()] {
        assert!(!all.contains(secret), "`{secret}` is in the report");
    }
    assert!(read("events.jsonl").contains("said [redacted] to it"), "{}", read("events.jsonl"));
    assert!(read("daemon.log").contains("in ~/x"), "{}", read("daemon.log"));
    let config: Value = serde_json::from_str(&read("config.json")).unwrap();
    assert_eq!(config["values"]["agent.dev.command"]["value"], "[set]");
    assert_eq!(config["values"]["dispatch.parallel"]["value"], 3);
    let before = std::fs::read(&file).unwrap();
    machine.fails(&["report", "out.tar.gz"], "exists", 1);
    assert_eq!(std::fs::read(&file).unwrap(), before);
    std::fs::write(machine.state().join("windlass.db"), b"broken").unwrap();
    let view = machine.json(&["report"]);
    let file = std::path::PathBuf::from(view["path"].as_str().unwrap());
    assert_eq!(view["bytes"], file.metadata().unwrap().len(), "a broken state is reported too");
    assert_eq!(view["files"], serde_json::json!(parts));
    assert_eq!(tar(&["-tzf"], &file).lines().collect::<Vec<_>>(), parts);
    let names = std::fs::read_dir(machine.repo()).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(
        !names.into_iter().any(|name| name.to_string_lossy().contains("tmp")),
        "nothing half made is left"
    );
}

/// Whoever gets a report has the real one.
fn tar(args: &[&str], file: &std::path::Path) -> String {
    let done = std::process::Command::new("tar").args(args).arg(file).output().unwrap();
    assert!(done.status.success() && done.stderr.is_empty(), "{done:?}");
    String::from_utf8(done.stdout).unwrap()
}
