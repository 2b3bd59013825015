//! All numbers and names that a project may set, with their defaults.

use serde::{Deserialize, Serialize};

use crate::queue::{self, History};
use crate::time::Span;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    /// Tasks that may hold a slot at once.
    pub parallel: u32,
    /// Changes that may wait for CI, critic, queue or a person before new work is taken.
    pub max_open_changes: u32,
    pub caps: Caps,
    pub limits: Limits,
    pub labels: Labels,
    pub queue: QueueRules,
}

/// How changes get to main.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueRules {
    pub policy: queue::Policy,
    pub history: History,
    /// An entry that waits longer is named.
    pub alarm: Span,
}

/// How often something may happen before it ends in a state that a person sees.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Caps {
    pub critic_rounds: u32,
    pub ci_fixes: u32,
    pub ci_infra_retries: u32,
    pub nudges: u32,
    pub restarts: u32,
    pub restart_window: Span,
    pub conflicts: u32,
    /// Turns in a row that a provider may let fail before a person is asked.
    pub outages: u32,
    /// Money per issue in millionths of a dollar.
    pub cost_micro_usd: u64,
    /// Tokens per issue: also agents that do not tell their price have an end.
    pub tokens: u64,
    /// Money per day, in UTC, for everything together.
    pub day_micro_usd: u64,
}

/// How long something may take.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Active time of a worker, carried over all its iterations.
    pub session: Span,
    /// One CI run.
    pub ci: Span,
    /// From a slot to the first sign of a CI run.
    pub ci_start: Span,
    /// From push to verdict, waiting for a CI slot included.
    pub ci_wait: Span,
    pub critic: Span,
    pub renotify: Span,
    pub answer: Span,
    pub handoff: Span,
    pub heartbeat: Span,
    pub stale_after: Span,
    pub stale_strikes: u32,
    pub stale_dependency: Span,
    /// Shares of the model's window, in percent, from which on it is watched, and handed over.
    pub context_watch_percent: u32,
    pub context_full_percent: u32,
    /// A model whose answers take so many times as long as its first ones is watched, too.
    pub slow_factor: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Labels {
    pub backlog: String,
    pub in_progress: String,
    pub blocked: String,
    pub underspecified: String,
    pub priority: String,
    pub ignore_deps: String,
    pub needs_review: String,
    pub abandon: String,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            parallel: 3,
            max_open_changes: 6,
            caps: Caps::default(),
            limits: Limits::default(),
            labels: Labels::default(),
            queue: QueueRules::default(),
        }
    }
}

impl Default for QueueRules {
    fn default() -> Self {
        Self { policy: queue::Policy::default(), history: History::default(), alarm: Span::hours(2) }
    }
}

impl Default for Caps {
    fn default() -> Self {
        Self {
            critic_rounds: 3,
            ci_fixes: 3,
            ci_infra_retries: 1,
            nudges: 2,
            restarts: 2,
            restart_window: Span::mins(30),
            conflicts: 5,
            outages: 12,
            cost_micro_usd: 5_000_000,
            tokens: 40_000_000,
            day_micro_usd: 25_000_000,
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            session: Span::hours(2),
            ci: Span::mins(30),
            ci_start: Span::mins(2),
            ci_wait: Span::hours(2),
            critic: Span::hours(3),
            renotify: Span::hours(6),
            answer: Span::hours(24),
            handoff: Span::secs(60),
            heartbeat: Span::secs(60),
            stale_after: Span::mins(5),
            stale_strikes: 3,
            stale_dependency: Span::days(30),
            context_watch_percent: 70,
            context_full_percent: 85,
            slow_factor: 3,
        }
    }
}

impl Default for Labels {
    fn default() -> Self {
        Self {
            backlog: "backlog".into(),
            in_progress: "in-progress".into(),
            blocked: "blocked".into(),
            underspecified: "underspecified".into(),
            priority: "priority".into(),
            ignore_deps: "ignore-deps".into(),
            needs_review: "loop:needs-review".into(),
            abandon: "loop:abandon".into(),
        }
    }
}
