//! A task as programs see it.

use schemars::JsonSchema;
use serde::Serialize;
use windlass_core::message;
use windlass_core::policy::Policy;
use windlass_core::session::Light;
use windlass_core::task::{self, Deadline, Task};

use super::Stamp;

/// One line of a list.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct TaskLine {
    pub issue: u64,
    pub task: String,
    pub title: String,
    pub state: String,
    /// The state in words.
    pub says: String,
    pub since: Stamp,
    pub session: String,
    /// When something happens by itself, and what.
    pub deadline: Option<DeadlineView>,
    pub cost_micro_usd: u64,
    /// What was seen of the session that works on it; none where nobody looked.
    pub light: Option<Light>,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct DeadlineView {
    pub at: Stamp,
    pub what: String,
}

/// Everything about one task.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct TaskView {
    #[serde(flatten)]
    pub line: TaskLine,
    pub branch: String,
    pub base: Option<String>,
    pub pushed: Option<String>,
    pub change: Option<u64>,
    pub sessions: u32,
    pub reviews: u32,
    pub retries: u32,
    pub active_ms: i64,
    pub ci_fixes: u32,
    pub critic_rounds: u32,
    pub conflicts: u32,
    pub restarts: usize,
}

impl TaskLine {
    pub fn of(policy: &Policy, task: &Task) -> Self {
        Self {
            issue: task.issue.0,
            task: task.id.to_string(),
            title: task.title.clone(),
            state: task.state.name().to_owned(),
            says: message::state_line(task),
            since: Stamp(task.since),
            session: task.session.to_string(),
            deadline: task::wake_at(policy, task)
                .map(|(at, deadline)| DeadlineView { at: Stamp(at), what: consequence(deadline).to_owned() }),
            cost_micro_usd: task.tally.cost_micro_usd,
            light: None,
        }
    }

    /// While nobody works on it, its state is what it will be again, and its time stands still.
    #[must_use]
    pub fn with_light(mut self, light: Light) -> Self {
        self.light = Some(light);
        if light == Light::Stopped {
            "stopped with the factory, goes on at the next `windlass up`".clone_into(&mut self.says);
            self.deadline = None;
        }
        self
    }
}

impl TaskView {
    pub fn of(policy: &Policy, task: &Task) -> Self {
        let tally = &task.tally;
        Self {
            line: TaskLine::of(policy, task),
            branch: task.branch.clone(),
            base: task.base.as_ref().map(ToString::to_string),
            pushed: task.pushed.as_ref().map(ToString::to_string),
            change: task.change.map(|number| number.0),
            sessions: task.sessions,
            reviews: task.reviews,
            retries: task.retries,
            active_ms: tally.active.0,
            ci_fixes: tally.ci_fixes,
            critic_rounds: tally.critic_rounds,
            conflicts: tally.conflicts,
            restarts: tally.restarts.len(),
        }
    }
}

/// What happens when nothing else does before.
fn consequence(deadline: Deadline) -> &'static str {
    match deadline {
        Deadline::WallClock => "its active time is spent",
        Deadline::Ci => "CI is late and you are asked",
        Deadline::Critic => "the critic is late and you are asked",
        Deadline::Renotify => "you are asked again",
        Deadline::Answer => "it is abandoned for want of an answer",
        Deadline::Limit => "it goes on",
        Deadline::Handoff => "the session is ended",
    }
}
