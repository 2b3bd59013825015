//! How the program speaks: errors, colours, pipes, help and exit codes.

use std::io::Read;
use std::process::Stdio;

use crate::common::Machine;

#[test]
fn outside_a_project_every_command_says_so() {
    let machine = Machine::without_git();
    for args in [
        &["status"][..],
        &["agents"],
        &["queue"],
        &["issues"],
        &["show", "1"],
        &["why", "1"],
        &["logs"],
        &["new", "x"],
        &["tell", "1", "x"],
        &["retry", "1"],
        &["abandon", "1"],
        &["pause"],
        &["resume"],
        &["comment", "1", "x"],
        &["label", "1", "+x"],
        &["close", "1"],
        &["events"],
        &["export"],
        &["backup", "x.db"],
        &["up"],
        &["up", "--foreground"],
        &["down"],
        &["config", "check"],
    ] {
        let ran = machine.fails(args, "no-project", 3);
        assert!(ran.err.contains("windlass init") && ran.err.contains("windlass demo"), "{}", ran.err);
    }
    machine.write("windlass.toml", "");
    machine.fails(&["issues"], "not-git", 3);
}

#[test]
fn a_bad_file_is_explained() {
    let machine = Machine::with_project();
    let good = std::fs::read_to_string(machine.repo().join("windlass.toml")).unwrap();
    let lines = good.lines().count();
    machine.append_config("[dispatch]\nparalel = 2\n");
    let ran = machine.fails(&["status"], "config", 9);
    assert!(ran.err.contains(&format!(", line {}", lines + 2)), "{}", ran.err);
    assert!(ran.err.contains("did you mean `parallel`?"), "{}", ran.err);
    for (text, said) in [
        ("[timeouts]\nsession = \"2 hours\"\n", "`2 hours` is not a duration"),
        ("[dispatch]\nparallel = 0\n", "`dispatch.parallel` must be at least 1"),
        ("[ci\n", "line"),
    ] {
        machine.write("windlass.toml", text);
        let ran = machine.fails(&["status"], "config", 9);
        assert!(ran.err.contains(said), "{text}: {}", ran.err);
    }
    std::fs::write(machine.repo().join("windlass.toml"), [0xff]).unwrap();
    machine.fails(&["status"], "config", 9);
}

#[test]
fn the_state_folder_can_be_anywhere_and_follows_the_checkout() {
    let machine = Machine::new();
    let at = machine.path("elsewhere");
    let given = at.to_str().unwrap();
    assert_eq!(machine.json(&["--state", given, "init"])["state_dir"], given);
    assert!(at.join("windlass.db").is_file() && !machine.path("state").exists());
    assert_eq!(machine.json(&["--state", given, "status"])["state_dir"], given);
    std::os::unix::fs::symlink(&at, machine.path("link")).unwrap();
    let link = machine.path("link");
    let seen = machine.json(&["--state", link.to_str().unwrap(), "status"]);
    assert_eq!(seen["state_dir"], given, "processes are found by this path, so it reads the same everywhere");
    machine.fails(&["issues"], "no-state", 3);
    let ran = machine.command(&["issues"]).env("WINDLASS_STATE_DIR", given).output().unwrap();
    assert!(ran.status.success());
    let ran = machine
        .command(&["issues", "--json"])
        .env_remove("XDG_STATE_HOME")
        .env_remove("HOME")
        .output()
        .unwrap();
    assert_eq!(ran.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&ran.stderr).contains("\"code\":\"no-home\""));
}

#[test]
fn a_folder_that_others_can_write_to_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let machine = Machine::with_project();
    std::fs::set_permissions(machine.state(), std::fs::Permissions::from_mode(0o777)).unwrap();
    let remedy = format!("chmod 700 '{}'", machine.state().display());
    for args in [&["pause"][..], &["status"], &["issues"], &["up"], &["up", "--foreground"]] {
        let ran = machine.fails(args, "store-permissions", 1);
        assert!(ran.err.contains(&remedy), "{args:?}: {}", ran.err);
    }
    let doctor = machine.run(&["doctor", "--quick"]);
    assert!(doctor.code == 1 && doctor.out.contains(&remedy), "{doctor:?}");
    let room = ["--set", "guards.min_free_memory_mb=0", "--set", "guards.min_free_disk_mb=0"];
    let mended = machine.run(&[&room[..], &["doctor", "--quick", "--fix"]].concat());
    assert_eq!(mended.code, 0, "{mended:?}");
    assert_eq!(machine.run(&["status"]).code, 0);
}

#[test]
fn a_damaged_or_newer_database_is_named() {
    let machine = Machine::with_project();
    let path = machine.state().join("windlass.db");
    let good = std::fs::read(&path).unwrap();
    std::fs::write(&path, b"this is no database, whatever its name says").unwrap();
    machine.fails(&["status"], "store-damaged", 1);
    let mut newer = good;
    newer[60..64].copy_from_slice(&9_999_u32.to_be_bytes());
    std::fs::write(&path, newer).unwrap();
    machine.fails(&["status"], "store-version", 1);
}

#[test]
fn colours_come_only_when_wanted() {
    let machine = Machine::with_project();
    let colored = |args: &[&str], env: &[(&str, &str)]| {
        let done = machine.command(args).envs(env.iter().copied()).output().unwrap();
        assert!(done.status.success());
        done.stdout.contains(&0x1b)
    };
    assert!(!colored(&["status"], &[]), "a pipe is no terminal");
    assert!(colored(&["status", "--color", "always"], &[]));
    assert!(
        colored(&["status", "--color", "always"], &[("NO_COLOR", "1")]),
        "a flag is heard before all else"
    );
    assert!(colored(&["status"], &[("CLICOLOR_FORCE", "1")]));
    assert!(!colored(&["status"], &[("CLICOLOR_FORCE", "0")]));
    assert!(!colored(&["status"], &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]));
    assert!(colored(&["status"], &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "")]), "an empty variable is none");
    assert!(!colored(&["status"], &[("CLICOLOR_FORCE", "1"), ("TERM", "dumb")]));
    assert!(!colored(&["status", "--color", "never"], &[("CLICOLOR_FORCE", "1")]));
}

#[test]
fn a_reader_that_goes_away_ends_it_quietly() {
    let machine = Machine::with_project();
    machine.write("body.md", &"x\n".repeat(1 << 19));
    assert_eq!(machine.run(&["new", "large", "--body-file", "body.md"]).code, 0);
    for args in [&["show", "1"][..], &["show", "1", "--json"], &["export"]] {
        let mut command = machine.command(args);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut first = [0; 16];
        child.stdout.take().unwrap().read_exact(&mut first).unwrap();
        let done = child.wait_with_output().unwrap();
        assert_eq!(done.status.code(), Some(0), "{args:?}");
        assert_eq!(String::from_utf8_lossy(&done.stderr), "", "{args:?}");
    }
}

#[test]
fn talk_and_results_do_not_mix() {
    let machine = Machine::with_project();
    let ran = machine.run(&["issues"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, ""));
    assert!(ran.err.contains("no issues"));
    assert_eq!(machine.run(&["-q", "issues"]).err, "");
    assert_eq!(machine.json(&["agents"])["agents"], serde_json::json!([]));
    assert_eq!(machine.run(&["config", "defaults"]).code, 0);
}

#[test]
fn a_wrong_command_line_is_exit_2_in_both_languages() {
    let machine = Machine::new();
    for args in [&["no-such-command"][..], &["show"], &["show", "x"], &["issues", "--no-such-flag"]] {
        assert_eq!(machine.run(args).code, 2, "{args:?}");
        let json = machine.run(&[&["--json"], args].concat());
        let problem: serde_json::Value = serde_json::from_str(&json.err).unwrap();
        assert_eq!((json.code, &problem["code"]), (2, &"usage".into()), "{args:?}: {problem}");
    }
    assert_eq!(machine.run(&[]).code, 2);
    let version = machine.run(&["--version"]);
    assert_eq!((version.code, version.out), (0, format!("windlass {}\n", env!("CARGO_PKG_VERSION"))));
}

#[test]
fn the_help_has_every_exit_code() {
    let machine = Machine::new();
    let help = machine.run(&["--help"]);
    assert_eq!(help.code, 0);
    for exit in windlass::Exit::ALL {
        let line = format!("  {:<4} {}\n", exit.code(), exit.meaning());
        assert!(help.out.contains(&line), "{line}");
    }
    for heading in ["Begin:", "Look:", "Act:", "Data:"] {
        assert!(help.out.contains(heading), "{}", help.out);
    }
    assert!(
        !help.out.contains("shim") && !help.out.contains("--state"),
        "what is for programs only is not shown"
    );
    assert!(machine.run(&["new", "--help"]).out.contains("Examples:"));
    let codes: Vec<u8> = windlass::Exit::ALL.iter().map(|exit| exit.code()).collect();
    assert_eq!(codes, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 130], "a promise to scripts");
}

#[test]
fn down_without_a_factory_proves_it_and_keeps_it_down() {
    let machine = Machine::with_project();
    let ran = machine.run(&["down"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "the factory is down, 0 processes left\n"), "{ran:?}");
    assert!(ran.err.contains("not running"));
    assert!(machine.state().join("stopped-by").is_file());
    let view = machine.json(&["status"]);
    assert!(view["daemon"]["stopped_by"].as_str().unwrap().starts_with("operator at "), "{view}");
}
