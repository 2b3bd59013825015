//! `windlass doctor`: each thing that can be wrong is seen, named with its way out, and repaired where that is safe.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use serde_json::Value;
use windlass_adapters::shim::SESSION_DIR;

use crate::common::Machine;

/// Room enough on any machine.
const ROOM: [&str; 4] = ["--set", "guards.min_free_memory_mb=0", "--set", "guards.min_free_disk_mb=0"];

fn doctor(machine: &Machine, more: &[&str], code: i32) -> Value {
    machine.json_with(&[&ROOM[..], &["doctor"], more].concat(), code)
}

fn check(view: &Value, name: &str) -> Value {
    let found = view["checks"].as_array().unwrap().iter().find(|check| check["name"] == name);
    found.unwrap_or_else(|| panic!("no {name} in {view}")).clone()
}

#[test]
fn a_good_project_passes_with_one_issue_taken_from_end_to_end() {
    let machine = Machine::with_project();
    machine.git(&["add", "windlass.toml"]);
    machine.git(&["commit", "-q", "-m", "configure"]);
    let before = machine.json(&["issues", "--all"]);
    // As an earlier trial leaves it that was ended with Ctrl-C.
    let mut gone = Command::new("true").spawn().unwrap();
    gone.wait().unwrap();
    let session = machine.path(&format!("state/windlass/doctor-{}-1/state/sessions/dev-1.1-1", gone.id()));
    std::fs::create_dir_all(&session).unwrap();
    let mut left = Command::new("sleep").arg("600").env(SESSION_DIR, &session).spawn().unwrap();
    let view = doctor(&machine, &[], 0);
    assert!(left.try_wait().unwrap().is_some(), "what it left is ended");
    for name in
        ["git", "clock", "config", "agent", "memory", "disk", "ci", "state", "database", "time", "trial"]
    {
        assert_eq!(check(&view, name)["result"], "ok", "{name}: {view}");
    }
    assert!(check(&view, "trial")["says"].as_str().unwrap().contains("merged"), "{view}");
    assert_eq!((&view["failures"], &view["warnings"]), (&0.into(), &0.into()), "{view}");
    assert_eq!(machine.json(&["issues", "--all"]), before, "the made-up issue is not one of ours");
    let left = std::fs::read_dir(machine.path("state/windlass")).unwrap().count();
    assert_eq!(left, 1, "and nothing of it is left");
    let text = machine.run(&[&ROOM[..], &["doctor", "--quick"]].concat()).out;
    assert!(text.starts_with("ok") && text.contains("0 failures"), "{text}");
}

#[test]
fn tests_that_fail_on_main_and_agents_that_are_not_there_are_failures() {
    let machine = Machine::new();
    let broken = ["--ci", "echo red >&2; exit 3", "--agent", "command:no-such-agent --now"];
    assert_eq!(machine.run(&[&["init", "--yes"], &broken[..]].concat()).code, 0);
    let view = doctor(&machine, &["--quick"], 1);
    let agent = check(&view, "agent");
    assert_eq!(agent["result"], "fail");
    assert!(agent["says"].as_str().unwrap().contains("`no-such-agent`"), "{agent}");
    let ci = check(&doctor(&machine, &[], 1), "ci");
    assert!(
        ci["result"] == "fail" && ci["says"].as_str().unwrap().contains("ends with 3 on main: red"),
        "{ci}"
    );
}

#[test]
fn what_is_safe_is_repaired_when_asked() {
    let machine = Machine::with_project();
    let state = machine.state();
    std::fs::set_permissions(&state, std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::create_dir_all(state.join("workspaces/9.9")).unwrap();
    std::fs::write(state.join("workspaces/9.9/precious"), "work").unwrap();
    let session = state.join("sessions/dev-1.1-1");
    std::fs::create_dir_all(&session).unwrap();
    let mut left = Command::new("sleep").arg("600").env(SESSION_DIR, &session).spawn().unwrap();

    let view = doctor(&machine, &["--quick"], 1);
    assert_eq!(check(&view, "state")["result"], "fail");
    assert!(check(&view, "state")["remedy"].as_str().unwrap().starts_with("chmod 700 "), "{view}");
    assert_eq!(check(&view, "workspaces")["result"], "warn");
    assert_eq!(check(&view, "processes")["result"], "warn");
    assert!(state.join("workspaces/9.9/precious").is_file(), "looking changes nothing");
    assert!(left.try_wait().unwrap().is_none());

    let view = doctor(&machine, &["--quick", "--fix"], 0);
    for name in ["state", "workspaces", "processes"] {
        let check = check(&view, name);
        assert!(check["result"] == "ok" && check["fixed"].is_string(), "{check}");
    }
    left.wait().unwrap();
    assert_eq!(state.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    assert!(!state.join("workspaces/9.9").exists());
    let repo = state.join("repo.git");
    let kept = ["--git-dir", repo.to_str().unwrap(), "show", "refs/windlass/rescue/9.9:precious"];
    assert_eq!(machine.git(&kept), "work", "saved before it was removed");
    assert_eq!(check(&doctor(&machine, &["--quick"], 0), "processes")["says"], "0 left");
}

#[test]
fn what_git_cannot_save_stays_and_is_named() {
    let machine = Machine::with_project();
    let places = machine.state().join("workspaces");
    let clone = |name: &str| {
        let path = places.join(name);
        machine.git(&["clone", "-q", machine.repo().to_str().unwrap(), path.to_str().unwrap()]);
        std::fs::write(path.join("work"), name).unwrap();
        path
    };
    let git = |place: &std::path::Path, args: &[&str]| {
        machine.git(&[&["-C", place.to_str().unwrap()], args].concat())
    };
    let stashed = clone("9.1");
    git(&stashed, &["stash", "-q", "-u"]);
    // Its one commit is there, and the way to it is not.
    let broken = clone("9.2");
    git(&broken, &["add", "work"]);
    git(&broken, &["commit", "-q", "-m", "one"]);
    std::fs::write(broken.join("work"), "more").unwrap();
    git(&broken, &["commit", "-q", "-a", "-m", "two"]);
    let one = git(&broken, &["rev-parse", "HEAD~1"]);
    std::fs::remove_file(broken.join(".git/objects").join(&one[..2]).join(one[2..].trim())).unwrap();
    let shallow = clone("9.3");
    std::fs::write(shallow.join(".git/shallow"), git(&shallow, &["rev-parse", "HEAD"])).unwrap();
    let plain = clone("9.4");
    let worked = clone("9.5");
    git(&worked, &["checkout", "-q", "-b", "windlass/9-5"]);
    git(&worked, &["add", "work"]);
    git(&worked, &["commit", "-q", "-m", "half of it"]);

    let workspaces = check(&doctor(&machine, &["--quick", "--fix"], 0), "workspaces");
    assert_eq!(workspaces["result"], "warn", "{workspaces}");
    for (place, why) in [(&stashed, "refs/stash"), (&broken, "9.2"), (&shallow, "9.3")] {
        assert!(place.is_dir(), "{} is lost", place.display());
        assert!(workspaces["says"].as_str().unwrap().contains(why), "{workspaces}");
    }
    assert!(!plain.exists(), "{workspaces}");
    let repo = machine.state().join("repo.git");
    let kept = ["--git-dir", repo.to_str().unwrap(), "show", "refs/windlass/rescue/9.4:work"];
    assert_eq!(machine.git(&kept), "9.4", "saved before it was removed");
    assert!(!worked.exists(), "{workspaces}");
    let saved = ["--git-dir", repo.to_str().unwrap(), "log", "-1", "--format=%s", "refs/windlass/rescue/9.5"];
    assert_eq!(machine.git(&saved).trim(), "half of it", "commits and all");
}

#[test]
fn who_still_works_in_a_workspace_is_ended_before_it_goes() {
    let machine = Machine::with_project();
    let workspace = machine.state().join("workspaces/9.9");
    let session = machine.state().join("sessions/dev-9.9-1");
    std::fs::create_dir_all(&session).unwrap();
    let works = r#"while :; do mkdir -p "$0" && echo late >"$0/late"; done"#;
    let mut agent = Command::new("sh");
    agent.arg("-c").arg(works).arg(&workspace).env(SESSION_DIR, &session);
    let mut agent = agent.spawn().unwrap();
    while !workspace.join("late").exists() {
        std::thread::yield_now();
    }
    let view = doctor(&machine, &["--quick", "--fix"], 0);
    agent.wait().unwrap();
    assert!(!workspace.exists(), "it was removed under a living agent: {view}");
}

#[test]
fn a_damaged_database_and_a_bad_configuration_do_not_stop_the_doctor() {
    let machine = Machine::with_project();
    std::fs::write(machine.state().join("windlass.db"), b"this is no database").unwrap();
    assert_eq!(check(&doctor(&machine, &["--quick"], 1), "database")["result"], "fail");
    machine.append_config("[nonsense]\n");
    let config = check(&doctor(&machine, &["--quick"], 1), "config");
    assert!(config["result"] == "fail" && config["says"].as_str().unwrap().contains("nonsense"), "{config}");
}

#[test]
fn outside_of_a_project_the_machine_is_looked_at() {
    let machine = Machine::without_git();
    let view = machine.json(&["doctor", "--quick"]);
    assert_eq!(check(&view, "project")["result"], "warn");
    assert_eq!(check(&view, "git")["result"], "ok");
    let mut no_git = machine.command(&["doctor", "--quick", "--json"]);
    let done = no_git.env("PATH", machine.path("home")).output().unwrap();
    assert_eq!(done.status.code(), Some(1));
    let view: Value = serde_json::from_slice(&done.stdout).unwrap();
    assert!(check(&view, "git")["remedy"].as_str().unwrap().contains("install git"), "{view}");
}

#[test]
fn a_wanted_terminal_without_tmux_is_a_failure_with_a_way_out() {
    let machine = Machine::with_project();
    let wanted = "[ci]\ncommand = \"true\"\n[agent.dev]\nkind = \"claude-code\"\nterminal = \"tmux\"\n";
    machine.commit_config(wanted);
    // A place for programs with git alone.
    let programs = machine.path("programs");
    std::fs::create_dir(&programs).unwrap();
    let git = Command::new("sh").args(["-c", "command -v git"]).output().unwrap().stdout;
    let git = String::from_utf8(git).unwrap();
    std::os::unix::fs::symlink(git.trim(), programs.join("git")).unwrap();
    let mut command = machine.command(&[&ROOM[..], &["doctor", "--quick", "--json"]].concat());
    let done = command.env("PATH", &programs).output().unwrap();
    let view: Value = serde_json::from_slice(&done.stdout).unwrap();
    let tmux = check(&view, "tmux");
    assert_eq!((&tmux["result"], done.status.code()), (&"fail".into(), Some(1)), "{view}");
    assert!(tmux.to_string().contains("install tmux"), "{tmux}");
}
