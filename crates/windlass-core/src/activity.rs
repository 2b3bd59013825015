//! What an agent does, as its tools and its figures show it: the work phase is seen, not asked for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::session::WorkPhase;
use crate::task::{State, Urgency};
use crate::text::one_line;

/// So many files say what was worked on; the rest is in git.
const MAX_FILES: usize = 100;
/// Share of the model's window, in percent, from which on it is watched, and handed over.
const WATCH_PERCENT: u64 = 70;
const FULL_PERCENT: u64 = 85;

/// What a session was seen to do.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Activity {
    pub phase: Option<WorkPhase>,
    /// The last tool and what it was used on.
    pub doing: Option<String>,
    /// Files that it has written, in the order of their first write.
    pub files: Vec<String>,
}

impl Activity {
    pub fn saw(&mut self, tool: &str, target: Option<&str>) {
        self.doing =
            Some(one_line(&format!("{tool} {}", target.unwrap_or_default()), 160).trim_end().to_owned());
        if let (Kind::Write, Some(file)) = (kind(tool, target), target)
            && self.files.len() < MAX_FILES
            && !self.files.iter().any(|known| known == file)
        {
            self.files.push(file.to_owned());
        }
        self.phase = match (kind(tool, target), self.phase) {
            // Who looks something up while it writes or tests has not gone back to the beginning.
            (Kind::Read, None) => Some(WorkPhase::Investigation),
            (Kind::Plan, None | Some(WorkPhase::Investigation)) => Some(WorkPhase::Planning),
            (Kind::Write, _) => Some(WorkPhase::Implementation),
            (Kind::Test, _) => Some(WorkPhase::Testing),
            (Kind::Commit, _) => Some(WorkPhase::Completion),
            (Kind::Read | Kind::Plan | Kind::Other, phase) => phase,
        };
    }

    /// The work phase of a session whose task is in this state. Only an agent at work can know better than the state.
    pub fn work_phase(&self, state: &State) -> WorkPhase {
        match state {
            State::Dispatched | State::Running { .. } | State::Revising { .. } | State::HandingOff { .. } => {
                self.phase.unwrap_or(WorkPhase::of(state))
            }
            State::AwaitingCi { .. }
            | State::AwaitingCritic { .. }
            | State::AwaitingSlot { .. }
            | State::AwaitingHuman { .. }
            | State::Limited { .. }
            | State::Queued { .. }
            | State::Merged { .. }
            | State::Closed { .. }
            | State::Abandoned { .. } => WorkPhase::of(state),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Read,
    Plan,
    Write,
    Test,
    Commit,
    Other,
}

fn kind(tool: &str, target: Option<&str>) -> Kind {
    match tool {
        "Read" | "Grep" | "Glob" | "LS" | "WebFetch" | "WebSearch" | "NotebookRead" => Kind::Read,
        "TodoWrite" | "TaskCreate" | "EnterPlanMode" | "ExitPlanMode" => Kind::Plan,
        "Edit" | "Write" | "MultiEdit" | "NotebookEdit" => Kind::Write,
        "Bash" => command(target.unwrap_or_default()),
        _ => Kind::Other,
    }
}

/// The most telling part of a command line decides.
fn command(line: &str) -> Kind {
    let has = |words: &[&str]| words.iter().any(|word| line.contains(word));
    if has(&["git commit", "WINDLASS_PHASE_FILE"]) {
        Kind::Commit
    } else if has(&["test", "pytest", "./check", "make check", "tox", "rspec", "phpunit", "ctest"]) {
        Kind::Test
    } else if has(&["sed -i", "git apply", "patch ", "tee ", "cat >", "cat <<"]) {
        Kind::Write
    } else if [
        "ls",
        "cat",
        "grep",
        "rg",
        "find",
        "head",
        "tail",
        "git log",
        "git show",
        "git diff",
        "git status",
    ]
    .iter()
    .any(|word| line.trim_start().starts_with(word))
    {
        Kind::Read
    } else {
        Kind::Other
    }
}

/// How full a conversation is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ContextUse {
    /// Tokens of the last request.
    pub tokens: u64,
    /// What the model can hold; not known before its first turn has ended.
    pub window: Option<u64>,
    /// The most urgent warning that was given about it.
    pub warned: Option<Urgency>,
}

impl ContextUse {
    pub fn urgency(&self) -> Option<Urgency> {
        let percent = self.tokens.saturating_mul(100) / self.window.filter(|window| *window > 0)?;
        match percent {
            0..WATCH_PERCENT => None,
            WATCH_PERCENT..FULL_PERCENT => Some(Urgency::Low),
            FULL_PERCENT.. => Some(Urgency::High),
        }
    }

    /// The warning that is due now and was not given before. A context that was compacted may fill up again.
    pub fn warn(&mut self) -> Option<Urgency> {
        let now = self.urgency();
        if now.is_none() {
            self.warned = None;
        }
        let new = now.filter(|_| now > self.warned);
        self.warned = now.max(self.warned);
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_phase_follows_the_tools() {
        let mut activity = Activity::default();
        let mut phases = Vec::new();
        for (tool, target) in [
            ("Grep", "todo"),
            ("TodoWrite", ""),
            ("Bash", "git status"),
            ("Edit", "src/a.rs"),
            ("Read", "src/b.rs"),
            ("Edit", "src/a.rs"),
            ("Bash", "cargo test -p a"),
            ("Bash", "sleep 1"),
            ("Write", "src/b.rs"),
            ("Bash", "git add --all && git commit -m done"),
            ("Read", "src/c.rs"),
        ] {
            activity.saw(tool, Some(target));
            phases.push(activity.phase.map_or("-", WorkPhase::word));
        }
        let expected = "investigation planning planning implementation implementation implementation testing testing \
                        implementation completion completion";
        assert_eq!(phases.join(" "), expected);
        assert_eq!(activity.files, ["src/a.rs", "src/b.rs"]);
        assert_eq!(activity.doing.as_deref(), Some("Read src/c.rs"));
        assert_eq!(activity.work_phase(&State::Running { heard: None }), WorkPhase::Completion);
    }

    #[test]
    fn each_warning_comes_once_until_the_context_is_compacted() {
        let mut seen = ContextUse { window: None, ..ContextUse::default() };
        seen.tokens = 990;
        assert_eq!(seen.warn(), None, "without a window nothing is known");
        seen.window = Some(1000);
        let mut warn = |tokens| {
            seen.tokens = tokens;
            seen.warn()
        };
        assert_eq!(warn(699), None);
        assert_eq!((warn(700), warn(849)), (Some(Urgency::Low), None));
        assert_eq!((warn(850), warn(990)), (Some(Urgency::High), None));
        assert_eq!((warn(100), warn(860)), (None, Some(Urgency::High)));
    }
}
