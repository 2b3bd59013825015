//! `windlass init`: what it finds, writes, keeps and refuses.

use std::os::unix::fs::PermissionsExt;

use crate::common::{Machine, Ran, listing, search_path};

#[test]
fn a_checkout_becomes_a_project_and_only_one_file_is_written_there() {
    let machine = Machine::new();
    machine.write("Cargo.toml", "");
    let before = listing(&machine.repo());
    let view = machine.json(&["init", "--agent", "command:my-agent -p"]);
    assert_eq!(view["schema"], "windlass.init/1");
    assert_eq!((&view["branch"], &view["ci"]), (&"main".into(), &"cargo test".into()));
    let mut after = listing(&machine.repo());
    after.retain(|(path, _)| !path.ends_with("windlass.toml"));
    assert_eq!(after, before, "nothing else of the checkout was touched");

    let state = machine.state();
    assert_eq!(view["state_dir"], state.display().to_string());
    assert_eq!(std::fs::metadata(&state).unwrap().permissions().mode() & 0o777, 0o700);
    assert!(state.join("windlass.db").is_file() && state.join("repo.git/HEAD").is_file());
    let head = machine.git(&["rev-parse", "main"]);
    let kept = std::fs::read_to_string(state.join("repo.git/refs/heads/main")).unwrap();
    assert_eq!(kept, head);
    assert_eq!(machine.run(&["config", "check"]).code, 0);
}

#[test]
fn a_remote_is_named_and_its_credentials_never() {
    let machine = Machine::new();
    machine.git(&["remote", "add", "origin", "https://ann:hush-hush@forge.example/ann/thing.git"]);
    let ran = machine.run(&["init", "--yes", "--ci", "true", "--agent", "demo"]);
    assert!(ran.out.contains("forge    embedded; remote https://forge.example/ann/thing.git\n"), "{ran:?}");
    let said = format!("{}{}", ran.out, ran.err);
    assert!(!said.contains("hush-hush") && !said.contains("ann:"), "{said}");
    let alone = Machine::new();
    let view = alone.json(&["init", "--yes", "--ci", "true", "--agent", "demo"]);
    assert_eq!((&view["forge"], &view["remote"]), (&"embedded".into(), &serde_json::Value::Null));
    let clone = Machine::new();
    clone.git(&["remote", "add", "origin", "git@forge.example:ann/thing.git"]);
    let view = clone.json(&["init", "--yes", "--ci", "true", "--agent", "demo"]);
    assert_eq!(view["remote"], "git@forge.example:ann/thing.git");
}

/// A search path with git and a shell, and these programs besides.
pub fn path_with(machine: &Machine, programs: &[&str]) -> String {
    let folder = machine.path("bin");
    std::fs::create_dir_all(&folder).unwrap();
    for name in ["git", "sh"] {
        let real = search_path()
            .split(':')
            .map(|folder| std::path::Path::new(folder).join(name))
            .find(|p| p.exists());
        std::os::unix::fs::symlink(real.unwrap(), folder.join(name)).unwrap();
    }
    for name in programs {
        std::fs::write(folder.join(name), "#!/bin/sh\necho 2.1.325 made up\n").unwrap();
        std::fs::set_permissions(folder.join(name), std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    folder.display().to_string()
}

#[test]
fn an_installed_agent_is_found_and_its_key_is_named_and_never_written() {
    let machine = Machine::new();
    let path = path_with(&machine, &["claude"]);
    let with = |args: &[&str], key: Option<&str>| {
        let mut command = machine.command(args);
        command.env("PATH", &path);
        if let Some(key) = key {
            command.env("CLAUDE_CODE_OAUTH_TOKEN", key);
        }
        Ran::from(command.output().unwrap())
    };
    let ran = with(&["init", "--yes", "--ci", "true"], Some("hush-hush"));
    assert!(ran.out.contains("claude-code, key from CLAUDE_CODE_OAUTH_TOKEN"), "{ran:?}");
    let file = std::fs::read_to_string(machine.repo().join("windlass.toml")).unwrap();
    assert!(file.contains("\"env:CLAUDE_CODE_OAUTH_TOKEN\"") && !file.contains("hush-hush"), "{file}");
    assert_eq!(with(&["config", "check"], Some("hush-hush")).code, 0);
    let missing = with(&["up"], None);
    assert_eq!(missing.code, 4, "the file is good, the login is not: {missing:?}");
    assert!(missing.err.contains("`env:CLAUDE_CODE_OAUTH_TOKEN`, and that is not there"), "{}", missing.err);
    assert!(missing.err.contains("export CLAUDE_CODE_OAUTH_TOKEN="), "{}", missing.err);
    let doctor = with(&["doctor", "--quick"], None).out;
    let agent =
        doctor.lines().find(|line| line.split_whitespace().nth(1) == Some("agent")).unwrap_or_default();
    assert!(agent.starts_with("FAIL") && agent.contains("`env:CLAUDE_CODE_OAUTH_TOKEN`"), "{doctor}");
    let doctor = with(&["doctor", "--quick"], Some("hush-hush"));
    assert!(doctor.out.contains("2.1.325 made up, key from CLAUDE_CODE_OAUTH_TOKEN"), "{}", doctor.out);
    assert!(!doctor.out.contains("hush-hush"));
}

#[test]
fn every_installed_agent_is_named_with_its_version_and_whether_there_is_a_key() {
    let machine = Machine::new();
    let path = path_with(&machine, &["claude", "codex"]);
    let with = |args: &[&str], keys: &[&str]| {
        let mut command = machine.command(args);
        command.env("PATH", &path).envs(keys.iter().map(|key| (*key, "hush-hush")));
        Ran::from(command.output().unwrap())
    };
    let dry = ["init", "--yes", "--dry-run", "--json", "--ci", "true"];
    let view = |ran: &Ran| serde_json::from_str::<serde_json::Value>(&ran.out).unwrap();
    let none = view(&with(&dry, &[]));
    assert_eq!(none["agent"], "claude-code, no key found");
    let claude = serde_json::json!({
        "kind": "claude-code",
        "program": machine.path("bin/claude"),
        "command": null,
        "version": "2.1.325 made up",
        "login": "missing",
        "key": null,
    });
    assert_eq!((&none["agents"][0], &none["agents"][1]["kind"]), (&claude, &"codex".into()));
    let next = none["next"][0].as_str().unwrap();
    assert!(next.starts_with("export ANTHROPIC_API_KEY=…") && next.contains("no key found"), "{next}");
    assert!(next.contains("CLAUDE_CODE_OAUTH_TOKEN"), "{next}");
    let ran = with(&dry, &["CODEX_API_KEY"]);
    assert_eq!(view(&ran)["agents"][1]["key"], "CODEX_API_KEY");
    assert_eq!(view(&ran)["agents"][1]["login"], "key");
    assert!(!ran.out.contains("hush-hush"), "{ran:?}");
    let asked = [&dry[..], &["--agent", "codex"]].concat();
    assert_eq!(view(&with(&asked, &["CODEX_API_KEY"]))["agent"], "codex, key from CODEX_API_KEY");
    let ran = with(&["init", "--yes", "--ci", "true", "--agent", "claude-code"], &["ANTHROPIC_AUTH_TOKEN"]);
    assert!(ran.out.contains("claude-code, key from ANTHROPIC_AUTH_TOKEN"), "{ran:?}");
    assert!(ran.out.contains("2.1.325 made up, a key is in ANTHROPIC_AUTH_TOKEN\nfound    codex"), "{ran:?}");
    assert!(ran.out.contains("no key found") && !ran.out.contains("next     export"), "{ran:?}");
    std::fs::remove_dir_all(machine.path("state")).unwrap();
    let clone = with(&["init"], &[]);
    assert!(clone.out.contains("next     export ANTHROPIC_AUTH_TOKEN=…"), "{clone:?}");
}

#[test]
fn codex_is_taken_where_there_is_no_claude_code() {
    let machine = Machine::new();
    let path = path_with(&machine, &["codex"]);
    let with = |args: &[&str]| {
        let mut command = machine.command(args);
        command.env("PATH", &path).env("OPENAI_API_KEY", "hush-hush");
        Ran::from(command.output().unwrap())
    };
    let ran = with(&["init", "--yes", "--ci", "true"]);
    assert!(ran.out.contains("codex, key from OPENAI_API_KEY"), "{ran:?}");
    let doctor = with(&["doctor", "--quick"]);
    let said = "2.1.325 made up, tells no cost (of [budget] only the tokens hold it), key from CODEX_API_KEY";
    assert!(doctor.out.contains(said), "{}", doctor.out);
    assert!(!doctor.out.contains("hush-hush"));
}

#[test]
fn an_agent_of_the_protocol_is_taken_where_there_is_no_other() {
    for (name, command) in
        [("goose", ["goose", "acp"]), ("gemini", ["gemini", "--acp"]), ("opencode", ["opencode", "acp"])]
    {
        let machine = Machine::new();
        let path = path_with(&machine, &[name]);
        let with = |args: &[&str]| Ran::from(machine.command(args).env("PATH", &path).output().unwrap());
        let ran = with(&["init", "--yes", "--ci", "true", "--json"]);
        let view: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
        let agent = serde_json::json!({
            "kind": "acp",
            "program": machine.path("bin").join(name),
            "command": command,
            "version": "2.1.325 made up",
            "login": "unknown",
            "key": null,
        });
        assert_eq!(
            (&view["agents"], &view["agent"]),
            (&serde_json::json!([agent]), &command.join(" ").into())
        );
        crate::common::fits::fits(&view);
        assert!(view["next"][0].as_str().unwrap().contains("in `env` of [agent.dev]"), "{view}");
        let config = with(&["config", "show", "--json"]);
        let config: serde_json::Value = serde_json::from_str(&config.out).unwrap();
        let of_agent = |key: &str| {
            let row = config["values"].as_array().unwrap().iter().find(|row| row["key"] == key);
            row.map(|row| row["value"].clone())
        };
        assert_eq!(of_agent("agent.dev.kind"), Some("acp".into()));
        assert_eq!(of_agent("agent.dev.command"), Some(command.to_vec().into()), "the program, not a shell");
        assert_eq!(with(&["config", "check"]).code, 0);
    }
}

#[test]
fn all_agents_are_named_in_the_order_in_which_they_are_taken() {
    let machine = Machine::new();
    let path = path_with(&machine, &["opencode", "gemini", "goose", "codex", "claude"]);
    let silent = machine.path("bin/gemini");
    std::fs::write(&silent, "#!/bin/sh\nexit 1\n").unwrap();
    let ran: Ran =
        machine.command(&["init", "--yes", "--dry-run"]).env("PATH", &path).output().unwrap().into();
    let found: Vec<&str> = ran.out.lines().filter_map(|line| line.strip_prefix("found    ")).collect();
    let folder = machine.path("bin").display().to_string();
    let expected = [
        format!("claude-code: {folder}/claude, 2.1.325 made up, no key found"),
        format!("codex: {folder}/codex, 2.1.325 made up, no key found"),
        format!("acp: {folder}/goose, 2.1.325 made up, whether it is logged in is unknown"),
        format!("acp: {folder}/gemini, does not say its version, whether it is logged in is unknown"),
        format!("acp: {folder}/opencode, 2.1.325 made up, whether it is logged in is unknown"),
    ];
    assert_eq!(found, expected, "{ran:?}");
    assert!(ran.out.contains("agent    claude-code"), "{ran:?}");
}

#[test]
fn what_cannot_be_guessed_is_left_open_and_said() {
    let machine = Machine::new();
    let path = path_with(&machine, &[]);
    let ran: Ran = machine.command(&["init"]).env("PATH", path).output().unwrap().into();
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.out.contains("set `command` in [ci]") && ran.out.contains("set [agent.dev]"), "{}", ran.out);
    assert_eq!(machine.run(&["new", "an issue"]).code, 0, "issues can be written before all is set");
    let check = machine.fails(&["config", "check"], "config", 9);
    assert!(check.err.contains("`ci.command` is not set"), "{}", check.err);
    machine.fails(&["up"], "config", 9);
    machine.fails(&["up", "--foreground"], "config", 9);
}

#[test]
fn regression_without_a_test_command_the_factory_does_not_start() {
    let machine = Machine::new();
    assert_eq!(machine.run(&["init", "--yes", "--agent", "demo"]).code, 0);
    for command in ["", "[ci]\ncommand = \" \"\n"] {
        machine.write("windlass.toml", &format!("[agent.dev]\nkind = \"demo\"\n{command}"));
        let refused = machine.fails(&["up"], "config", 9);
        assert!(refused.err.contains("`ci.command` is not set"), "{}", refused.err);
    }
}

#[test]
fn nothing_is_overwritten() {
    let machine = Machine::with_project();
    let before = std::fs::read_to_string(machine.repo().join("windlass.toml")).unwrap();
    machine.fails(&["init"], "exists", 1);
    machine.fails(&["init", "--yes", "--ci", "make"], "exists", 1);
    assert_eq!(std::fs::read_to_string(machine.repo().join("windlass.toml")).unwrap(), before);
}

#[test]
fn a_clone_with_the_file_gets_its_own_state() {
    let machine = Machine::with_project();
    assert_eq!(machine.run(&["new", "one"]).code, 0);
    std::fs::remove_dir_all(machine.path("state")).unwrap();
    machine.fails(&["issues"], "no-state", 3);
    machine.fails(&["init", "--ci", "other"], "exists", 1);
    assert_eq!(machine.run(&["init"]).code, 0);
    assert_eq!(machine.json(&["issues"])["issues"], serde_json::json!([]));
}

#[test]
fn it_works_from_below_and_finds_the_main_branch() {
    let machine = Machine::new();
    machine.write("deep/er/file", "x");
    machine.git(&["checkout", "-q", "-b", "feature"]);
    let view = machine.json(&["-C", "deep/er", "init"]);
    assert_eq!(view["branch"], "main", "the branch that is checked out is not the main one");
    assert_eq!(view["root"], machine.repo().display().to_string());
    let found = machine.json(&["-C", "deep", "issues"]);
    assert_eq!(found["issues"], serde_json::json!([]));

    let trunk = Machine::without_git();
    trunk.git(&["init", "-q", "-b", "trunk"]);
    trunk.git(&["commit", "-q", "--allow-empty", "-m", "begin"]);
    assert_eq!(trunk.json(&["init"])["branch"], "trunk");
}

#[test]
fn what_is_no_usable_checkout_is_refused_and_left_alone() {
    let machine = Machine::without_git();
    machine.fails(&["init"], "not-git", 3);
    machine.fails(&["-C", "no/such/folder", "init"], "no-folder", 3);
    machine.git(&["init", "-q", "-b", "main"]);
    machine.fails(&["init"], "no-commits", 3);
    machine.fails(&["init", "--branch", "main"], "no-commits", 3);
    machine.git(&["checkout", "-q", "-b", "other"]);
    machine.git(&["commit", "-q", "--allow-empty", "-m", "begin"]);
    machine.fails(&["init", "--branch", "main"], "no-branch", 3);
    machine.git(&["checkout", "-q", "--detach"]);
    machine.fails(&["init"], "no-branch", 3);
    assert!(!machine.repo().join("windlass.toml").exists());
    assert_eq!(machine.run(&["init", "--branch", "other"]).code, 0);
}

#[test]
fn an_agent_that_is_neither_is_a_wrong_command_line() {
    let machine = Machine::new();
    let ran = machine.run(&["init", "--agent", "claude"]);
    assert!(ran.code == 2 && ran.err.contains("command:"), "{ran:?}");
    assert!(!machine.repo().join("windlass.toml").exists());
}

#[test]
fn a_git_variable_of_somebody_else_does_not_lead_us_astray() {
    let machine = Machine::new();
    let other = Machine::new();
    let ran =
        machine.command(&["init", "--json"]).env("GIT_DIR", other.repo().join(".git")).output().unwrap();
    assert!(ran.status.success());
    assert!(machine.repo().join("windlass.toml").is_file() && !other.repo().join("windlass.toml").exists());
}
