//! Finds the real Claude Code for the tests that need it.

use std::path::{Path, PathBuf};

/// Names the program; `./check` sets it after it has installed it.
pub const BINARY: &str = "WINDLASS_CLAUDE_BIN";
const BELOW: &str = "node_modules/@anthropic-ai/claude-code-linux-x64/claude";

/// The program, or nothing with a loud word: a test that needs it then does nothing. With `CI=true` nothing is skipped.
pub fn binary(test: &str) -> Option<PathBuf> {
    let found = std::env::var_os(BINARY).map(PathBuf::from).or_else(installed);
    if found.is_none() {
        let ci = std::env::var("CI").is_ok_and(|ci| ci == "true");
        assert!(!ci, "{test} needs Claude Code and nothing is skipped with CI=true: run ./check");
        println!("SKIPPED {test}: Claude Code is not installed; ./check installs it, or name it in {BINARY}");
    }
    found
}

/// Whether there is a tmux for an agent with a terminal; the same rule for one that is missing.
pub fn has_tmux(test: &str) -> bool {
    let found = std::process::Command::new("tmux").arg("-V").output().is_ok_and(|said| said.status.success());
    if !found {
        let ci = std::env::var("CI").is_ok_and(|ci| ci == "true");
        assert!(!ci, "{test} needs tmux and nothing is skipped with CI=true");
        println!("SKIPPED {test}: tmux is not installed");
    }
    found
}

/// As `./check` leaves it in the tools folder.
fn installed() -> Option<PathBuf> {
    let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tools");
    let entries = std::fs::read_dir(tools).ok()?.flatten();
    let mut found: Vec<PathBuf> = entries
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("claude-code-"))
        .map(|entry| entry.path().join(BELOW))
        .filter(|path| path.exists())
        .collect();
    found.sort();
    found.pop()?.canonicalize().ok()
}
