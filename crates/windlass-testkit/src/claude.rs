//! Finds the real Claude Code for the tests that need it.

use std::path::PathBuf;

use crate::real;

/// See [`real::Program::binary`].
pub fn binary(test: &str) -> Option<PathBuf> {
    real::CLAUDE.binary(test)
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
