//! The README's way for an own repository: every command of it runs, in its order, with an agent that does a little.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::common::{Machine, search_path};

const AGENT: &str = r#"#!/bin/sh
case $WINDLASS_SESSION in
review-*) printf '{"head":"%s","verdict":"APPROVE"}' "$(git rev-parse HEAD)" > "$WINDLASS_VERDICT_FILE" ;;
*) echo done > work; git add --all; git commit -q -m work; printf 'PHASE:awaiting_ci\n' > "$WINDLASS_PHASE_FILE" ;;
esac
"#;

/// Lines of the first block of commands below the heading.
fn commands() -> Vec<String> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md");
    let text = std::fs::read_to_string(path).unwrap();
    let part = text.split("## On your own repository").nth(1).unwrap();
    let block = part.split("```sh\n").nth(1).unwrap().split("```").next().unwrap();
    let line = |line: &str| line.split("  #").next().unwrap().trim().to_owned();
    block.lines().map(line).filter(|line| !line.is_empty()).collect()
}

#[test]
fn every_command_of_the_readme_runs() {
    let machine = Machine::new();
    let programs = machine.path("bin");
    std::fs::create_dir(&programs).unwrap();
    let agent = programs.join("my-agent");
    std::fs::write(&agent, AGENT).unwrap();
    std::fs::set_permissions(&agent, std::fs::Permissions::from_mode(0o755)).unwrap();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_windlass"), programs.join("windlass")).unwrap();
    machine.write("test.sh", "true\n");
    machine.git(&["add", "test.sh"]);
    machine.git(&["commit", "-q", "-m", "tests"]);
    // The machine's own room is not what is shown here.
    machine.write_user_config("[guards]\nmin_free_memory_mb = 0\nmin_free_disk_mb = 0\n");
    let commands = commands();
    assert!(commands.len() > 10, "{commands:?}");
    for line in &commands {
        let mut shell = Command::new("sh");
        shell.args(["-c", line]).current_dir(machine.repo()).env_clear();
        shell.env("PATH", format!("{}:{}", programs.display(), search_path()));
        shell.env("HOME", machine.path("home")).env("XDG_STATE_HOME", machine.path("state"));
        for who in ["AUTHOR", "COMMITTER"] {
            shell.env(format!("GIT_{who}_NAME"), "T").env(format!("GIT_{who}_EMAIL"), "t@localhost");
        }
        let done = shell.output().unwrap();
        let said = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "`{line}` ends with {:?}: {said}", done.status.code());
    }
    assert_eq!(machine.json(&["show", "1"])["task"]["state"], "MERGED");
}
