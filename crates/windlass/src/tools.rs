//! Programs that windlass has installed for itself, beside the states of all projects.

use std::path::{Path, PathBuf};

use windlass_adapters::agent::ClaudeOptions;

use crate::program;

/// The version of Claude Code that the tests run with; `./check` installs the same.
pub const CLAUDE_VERSION: &str = "2.1.325";
/// Where npm puts the program in the folder that it is given.
pub const CLAUDE_IN_FOLDER: &str = "node_modules/.bin/claude";

/// Where Claude Code is installed to. Another version goes to another folder, so that none is changed while it runs.
pub fn claude_folder(tools: &Path) -> PathBuf {
    tools.join(format!("claude-code-{CLAUDE_VERSION}"))
}

/// The Claude Code under its usual name, on the PATH or installed by us.
pub fn claude(search_path: &str, tools: Option<&Path>) -> Option<PathBuf> {
    let on_path = program::find(search_path, &ClaudeOptions::default().binary);
    on_path.or_else(|| tools.and_then(own_claude).map(PathBuf::from))
}

/// The Claude Code that we have installed.
pub fn own_claude(tools: &Path) -> Option<String> {
    let path = claude_folder(tools).join(CLAUDE_IN_FOLDER).to_str()?.to_owned();
    program::find("", &path).is_some().then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checks_run_with_the_same_version() {
        let check = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../check");
        let check = std::fs::read_to_string(check).unwrap();
        let named: Vec<&str> =
            check.lines().filter_map(|line| line.strip_prefix("claude_version=")).collect();
        assert_eq!(named, [CLAUDE_VERSION]);
    }
}
