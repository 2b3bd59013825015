//! What an agent does, as its tools and its figures show it: the work phase is seen, not asked for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::pace::Pace;
use crate::policy::Limits;
use crate::session::WorkPhase;
use crate::task::{State, Urgency};
use crate::text::one_line;

/// So many files say what was worked on; the rest is in git.
const MAX_FILES: usize = 100;

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
    pub fn saw(&mut self, act: Act, tool: &str, target: Option<&str>) {
        self.doing =
            Some(one_line(&format!("{tool} {}", target.unwrap_or_default()), 160).trim_end().to_owned());
        if let (Act::Write, Some(file)) = (act, target)
            && self.files.len() < MAX_FILES
            && !self.files.iter().any(|known| known == file)
        {
            self.files.push(file.to_owned());
        }
        self.phase = match (act, self.phase) {
            // Who looks something up while it writes or tests has not gone back to the beginning.
            (Act::Look, None) => Some(WorkPhase::Investigation),
            (Act::Plan, None | Some(WorkPhase::Investigation)) => Some(WorkPhase::Planning),
            (Act::Write, _) => Some(WorkPhase::Implementation),
            (Act::Test, _) => Some(WorkPhase::Testing),
            (Act::Complete, _) => Some(WorkPhase::Completion),
            (Act::Look | Act::Plan | Act::Other, phase) => phase,
        };
    }

    /// The work phase of a session whose task is in this state. Only an agent at work can know better than the state.
    pub fn work_phase(&self, state: &State) -> WorkPhase {
        let seen = self.phase.filter(|_| state.holds_slot());
        seen.unwrap_or(WorkPhase::of(state))
    }
}

/// What a use of a tool is for, in the words of the work and not of any agent program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    Look,
    Plan,
    Write,
    Test,
    Complete,
    Other,
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
    /// How fast the model answers.
    pub pace: Pace,
}

impl ContextUse {
    pub fn urgency(&self, limits: &Limits) -> Option<Urgency> {
        let window = self.window.filter(|window| *window > 0);
        let percent = window.map_or(0, |window| self.tokens.saturating_mul(100) / window);
        if percent >= u64::from(limits.context_full_percent) {
            Some(Urgency::High)
        } else if percent >= u64::from(limits.context_watch_percent) || self.pace.is_slow(limits.slow_factor)
        {
            Some(Urgency::Low)
        } else {
            None
        }
    }

    /// The warning that is due now and was not given before. A context that was compacted may fill up again.
    pub fn warn(&mut self, limits: &Limits) -> Option<Urgency> {
        let now = self.urgency(limits);
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
        for (act, target) in [
            (Act::Look, "todo"),
            (Act::Plan, ""),
            (Act::Look, "git status"),
            (Act::Write, "src/a.rs"),
            (Act::Look, "src/b.rs"),
            (Act::Write, "src/a.rs"),
            (Act::Test, "cargo test -p a"),
            (Act::Other, "sleep 1"),
            (Act::Write, "src/b.rs"),
            (Act::Complete, "git commit -m done"),
            (Act::Look, "src/c.rs"),
        ] {
            activity.saw(act, "Tool", Some(target));
            phases.push(activity.phase.map_or("-", WorkPhase::word));
        }
        let expected = "investigation planning planning implementation implementation implementation testing testing \
                        implementation completion completion";
        assert_eq!(phases.join(" "), expected);
        assert_eq!(activity.files, ["src/a.rs", "src/b.rs"]);
        assert_eq!(activity.doing.as_deref(), Some("Tool src/c.rs"));
        assert_eq!(activity.work_phase(&State::Running { heard: None }), WorkPhase::Completion);
        let waits = State::Limited { until: crate::time::Millis(1), what: "a limit".into() };
        assert_eq!(activity.work_phase(&waits), WorkPhase::of(&waits), "only who works knows better");
    }

    #[test]
    fn each_warning_comes_once_until_the_context_is_compacted() {
        let mut seen = ContextUse { window: None, ..ContextUse::default() };
        seen.tokens = 990;
        assert_eq!(seen.warn(&Limits::default()), None, "without a window nothing is known");
        seen.window = Some(1000);
        let mut warn = |tokens| {
            seen.tokens = tokens;
            seen.warn(&Limits::default())
        };
        assert_eq!(warn(699), None);
        assert_eq!((warn(700), warn(849)), (Some(Urgency::Low), None));
        assert_eq!((warn(850), warn(990)), (Some(Urgency::High), None));
        assert_eq!((warn(100), warn(860)), (None, Some(Urgency::High)));
    }
}
