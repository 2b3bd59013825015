//! Finds the real programs for the tests that need them: agents, and the terminal of one.

use std::path::{Path, PathBuf};

/// One agent program that `./check` installs.
#[derive(Debug, Clone, Copy)]
pub struct Program {
    name: &'static str,
    /// Names the program; `./check` sets it after it has installed it.
    variable: &'static str,
    /// How its folder below the tools begins; a version follows.
    folder: &'static str,
    below: &'static str,
}

pub const CLAUDE: Program = Program {
    name: "Claude Code",
    variable: "WINDLASS_CLAUDE_BIN",
    folder: "claude-code-",
    below: "node_modules/@anthropic-ai/claude-code-linux-x64/claude",
};

pub const CODEX: Program = Program {
    name: "codex",
    variable: "WINDLASS_CODEX_BIN",
    folder: "codex-",
    below: "node_modules/@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex",
};

pub const GOOSE: Program = Program {
    name: "goose",
    variable: "WINDLASS_GOOSE_BIN",
    folder: "goose-",
    below: "node_modules/@aaif/goose-binary-linux-x64/bin/goose",
};

pub const OPENCODE: Program = Program {
    name: "opencode",
    variable: "WINDLASS_OPENCODE_BIN",
    folder: "opencode-",
    below: "node_modules/opencode-linux-x64/bin/opencode",
};

impl Program {
    /// The program, or nothing with a loud word: a test that needs it then does nothing. With `CI=true` nothing is skipped.
    pub fn binary(self, test: &str) -> Option<PathBuf> {
        let Self { name, variable, .. } = self;
        let found = std::env::var_os(variable).map(PathBuf::from).or_else(|| self.installed());
        if found.is_none() {
            let ci = std::env::var("CI").is_ok_and(|ci| ci == "true");
            assert!(!ci, "{test} needs {name} and nothing is skipped with CI=true: run ./check");
            println!(
                "SKIPPED {test}: {name} is not installed; ./check installs it, or name it in {variable}"
            );
        }
        found
    }

    /// As `./check` leaves it in the tools folder.
    fn installed(self) -> Option<PathBuf> {
        let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tools");
        let entries = std::fs::read_dir(tools).ok()?.flatten();
        let mut found: Vec<PathBuf> = entries
            .filter(|entry| entry.file_name().to_string_lossy().starts_with(self.folder))
            .map(|entry| entry.path().join(self.below))
            .filter(|path| path.exists())
            .collect();
        found.sort();
        found.pop()?.canonicalize().ok()
    }
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
