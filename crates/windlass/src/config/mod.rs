//! The configuration, checked key by key. Everything has a default but the build and the agent.
//!
//! `source` reads files, variables and flags, `layers` puts them on top of each other, `host` keeps a repository within
//! the limits of the machine, `keys` knows every key from the embedded default file.

mod agent;
#[cfg(test)]
mod docs;
mod edit;
mod explain;
mod host;
pub mod keys;
mod layers;
mod reference;
mod schema;
mod sense;
mod settings;
mod source;
mod template;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, de};
use windlass_core::money::usd;
use windlass_core::policy::Policy;
use windlass_core::queue;
use windlass_core::time::Span;

pub use agent::{Agent, Agents, CODEX_CREDENTIALS, CREDENTIALS, Kind};
pub use explain::nearest;
pub use host::is_limit;
pub use layers::{Layered, Valued};
pub use schema::file as file_schema;
pub use settings::{Place, changes_at_once};
pub use source::{Loaded, ProjectFile, Sources};
pub use template::{AgentChoice, Choices};

pub const FILE: &str = "windlass.toml";
/// For one machine only, never part of a commit.
pub const LOCAL_FILE: &str = "windlass.local.toml";
/// `WINDLASS__DISPATCH__PARALLEL` is `dispatch.parallel`.
pub const ENV_PREFIX: &str = "WINDLASS__";
/// Every key with its default and what it means.
pub const DEFAULTS: &str = include_str!("../../default-config.toml");

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    pub name: Option<String>,
    pub branch: String,
    pub dispatch: Dispatch,
    pub timeouts: Timeouts,
    pub liveness: Liveness,
    pub critic: Critic,
    pub ci: Ci,
    pub queue: Queue,
    pub agent: Agents,
    pub guards: Guards,
    pub budget: Budget,
    pub limits: Limits,
    pub labels: Labels,
    pub keep: Keep,
    pub schedule: Schedule,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Dispatch {
    pub parallel: u32,
    pub max_open_changes: u32,
    pub poll: Time,
    pub branch_prefix: String,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Timeouts {
    pub session: Time,
    pub ci: Time,
    pub ci_start: Time,
    pub ci_wait: Time,
    pub critic: Time,
    pub renotify: Time,
    pub escalate: Time,
    pub handoff: Time,
    pub stale_dependency: Time,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Liveness {
    pub heartbeat: Time,
    pub stale_after: Time,
    pub stale_strikes: u32,
    pub nudges: u32,
    pub restarts: u32,
    pub restart_window: Time,
    pub context_watch_percent: u32,
    pub context_full_percent: u32,
    pub slow_factor: u32,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Critic {
    pub max_critic_iterations: u32,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Ci {
    pub command: Option<String>,
    pub slots: u32,
    pub fix_attempts: u32,
    pub retry_infra: u32,
    pub keep: Vec<String>,
    pub env: BTreeMap<String, String>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Queue {
    pub policy: queue::Policy,
    pub history: queue::History,
    pub alarm: Time,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Guards {
    pub min_free_memory_mb: u64,
    pub min_free_disk_mb: u64,
}

/// What the processes of one agent or one build may use together; 0 is no limit.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    pub memory_mb: u64,
    pub processes: u64,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Budget {
    pub per_issue_usd: f64,
    pub per_issue_tokens: u64,
    pub per_day_usd: f64,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
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

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Keep {
    pub ended: Time,
    pub workspaces: Time,
    pub backups: u32,
}

/// When the jobs of the house are due, as `house::When` reads it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Schedule {
    pub timezone: String,
    pub gc: String,
    pub backup: String,
}

/// A length of time, written `90s`, `5m`, `2h` or `7d`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Time(pub Span);

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        Span::parse(&text).map(Self).map_err(de::Error::custom)
    }
}

impl Config {
    /// What is wrong with a text, in one sentence.
    pub fn check(text: &str) -> Result<(), String> {
        Self::parse(text).map(drop).map_err(|fault| fault.what)
    }

    fn parse(text: &str) -> Result<Self, explain::Fault> {
        let config: Self = toml::from_str(text).map_err(|error| explain::fault(text, &error))?;
        sense::check(&config)?;
        Ok(config)
    }
}

impl Default for Config {
    fn default() -> Self {
        let Policy { parallel, max_open_changes, caps, limits, labels, queue } = Policy::default();
        Self {
            name: None,
            branch: "main".into(),
            dispatch: Dispatch {
                parallel,
                max_open_changes,
                poll: Time(Span::secs(60)),
                branch_prefix: "windlass/".into(),
            },
            timeouts: Timeouts {
                session: Time(limits.session),
                ci: Time(limits.ci),
                ci_start: Time(limits.ci_start),
                ci_wait: Time(limits.ci_wait),
                critic: Time(limits.critic),
                renotify: Time(limits.renotify),
                escalate: Time(limits.answer),
                handoff: Time(limits.handoff),
                stale_dependency: Time(limits.stale_dependency),
            },
            liveness: Liveness {
                heartbeat: Time(limits.heartbeat),
                stale_after: Time(limits.stale_after),
                stale_strikes: limits.stale_strikes,
                nudges: caps.nudges,
                restarts: caps.restarts,
                restart_window: Time(caps.restart_window),
                context_watch_percent: limits.context_watch_percent,
                context_full_percent: limits.context_full_percent,
                slow_factor: limits.slow_factor,
            },
            critic: Critic { max_critic_iterations: caps.critic_rounds },
            ci: Ci {
                command: None,
                slots: 2,
                fix_attempts: caps.ci_fixes,
                retry_infra: caps.ci_infra_retries,
                keep: Vec::new(),
                env: BTreeMap::new(),
            },
            queue: Queue { policy: queue.policy, history: queue.history, alarm: Time(queue.alarm) },
            agent: Agents::default(),
            guards: Guards { min_free_memory_mb: 2_000, min_free_disk_mb: 5_000 },
            budget: Budget {
                per_issue_usd: usd(caps.cost_micro_usd),
                per_issue_tokens: caps.tokens,
                per_day_usd: usd(caps.day_micro_usd),
            },
            limits: Limits { memory_mb: 0, processes: 4_000 },
            labels: Labels {
                backlog: labels.backlog,
                in_progress: labels.in_progress,
                blocked: labels.blocked,
                underspecified: labels.underspecified,
                priority: labels.priority,
                ignore_deps: labels.ignore_deps,
                needs_review: labels.needs_review,
                abandon: labels.abandon,
            },
            keep: Keep { ended: Time(Span::days(30)), workspaces: Time(Span::days(7)), backups: 24 },
            schedule: Schedule {
                timezone: "UTC".into(),
                gc: "0 3 * * *".into(),
                backup: "30 * * * *".into(),
            },
        }
    }
}

// A table that is named but says little must keep the rest of its defaults.
macro_rules! part_of_the_default {
    ($($part:ident: $field:ident),*) => {$(
        impl Default for $part {
            fn default() -> Self {
                Config::default().$field
            }
        }
    )*};
}
part_of_the_default!(Dispatch: dispatch, Timeouts: timeouts, Liveness: liveness, Critic: critic, Ci: ci);
part_of_the_default!(Queue: queue, Guards: guards, Budget: budget, Labels: labels, Keep: keep);
part_of_the_default!(Schedule: schedule, Limits: limits);
