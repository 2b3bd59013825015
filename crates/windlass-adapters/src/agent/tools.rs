//! The tools of Claude Code, and what a use of each is for.

use windlass_core::activity::Act;

/// Commands that only show something.
const LOOKS: [&str; 11] =
    ["ls", "cat", "grep", "rg", "find", "head", "tail", "git log", "git show", "git diff", "git status"];

/// What a use of a tool of Claude Code is for.
pub(super) fn act(tool: &str, target: Option<&str>) -> Act {
    match tool {
        "Read" | "Grep" | "Glob" | "LS" | "WebFetch" | "WebSearch" | "NotebookRead" => Act::Look,
        "TodoWrite" | "TaskCreate" | "EnterPlanMode" | "ExitPlanMode" => Act::Plan,
        "Edit" | "Write" | "MultiEdit" | "NotebookEdit" => Act::Write,
        "Bash" => command(target.unwrap_or_default()),
        _ => Act::Other,
    }
}

/// The most telling part of a command line decides.
fn command(line: &str) -> Act {
    let has = |words: &[&str]| words.iter().any(|word| line.contains(word));
    if has(&["git commit", "WINDLASS_PHASE_FILE"]) {
        Act::Complete
    } else if has(&["test", "pytest", "./check", "make check", "tox", "rspec", "phpunit", "ctest"]) {
        Act::Test
    } else if has(&["sed -i", "git apply", "patch ", "tee ", "cat >", "cat <<"]) {
        Act::Write
    } else if LOOKS.iter().any(|word| line.trim_start().starts_with(word)) {
        Act::Look
    } else {
        Act::Other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_and_command_lines_say_what_they_are_for() {
        for (tool, target, expected) in [
            ("Grep", "todo", Act::Look),
            ("TodoWrite", "", Act::Plan),
            ("Bash", "git status", Act::Look),
            ("Edit", "src/a.rs", Act::Write),
            ("Bash", "cat > a.txt", Act::Write),
            ("Bash", "cargo test -p a", Act::Test),
            ("Bash", "sleep 1", Act::Other),
            ("Bash", "git add --all && git commit -m done", Act::Complete),
            ("Bash", "echo PHASE:awaiting_ci > $WINDLASS_PHASE_FILE", Act::Complete),
            ("mcp__bus__ping", "", Act::Other),
        ] {
            assert_eq!(act(tool, Some(target)), expected, "{tool} {target}");
        }
    }
}
