//! From what the file says to what the factory works by.

use std::collections::BTreeSet;
use std::path::Path;

use windlass_adapters::process::GroupLimits;
use windlass_core::money::micro_usd;
use windlass_core::policy::{Caps, Labels, Limits, Policy, QueueRules};
use windlass_engine::{CiSettings, Guards, Settings};

use super::explain::Fault;
use super::{Config, agent, reference};

/// What the factory needs besides the file.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    pub project: &'a str,
    pub exe: &'a Path,
    pub search_path: &'a str,
    /// Where programs are that we have installed.
    pub tools: Option<&'a Path>,
}

/// Whether a running factory takes a new value of this key; the others wait for its next start. What is taken is said
/// by `Settings::take_over`.
pub fn changes_at_once(key: &str) -> bool {
    let (table, name) = key.split_once('.').unwrap_or(("", key));
    match table {
        "dispatch" => name != "branch_prefix",
        "timeouts" => name != "ci",
        "ci" => ["slots", "fix_attempts", "retry_infra"].contains(&name),
        "liveness" | "critic" | "queue" | "guards" | "budget" | "labels" | "limits" | "keep" | "schedule" => {
            true
        }
        _ => false,
    }
}

impl Config {
    pub fn policy(&self) -> Policy {
        let (timeouts, liveness) = (&self.timeouts, &self.liveness);
        Policy {
            parallel: self.dispatch.parallel,
            max_open_changes: self.dispatch.max_open_changes,
            caps: Caps {
                critic_rounds: self.critic.max_critic_iterations,
                ci_fixes: self.ci.fix_attempts,
                ci_infra_retries: self.ci.retry_infra,
                nudges: liveness.nudges,
                restarts: liveness.restarts,
                restart_window: liveness.restart_window.0,
                cost_micro_usd: micro_usd(self.budget.per_issue_usd),
                tokens: self.budget.per_issue_tokens,
                day_micro_usd: micro_usd(self.budget.per_day_usd),
                ..Caps::default()
            },
            limits: Limits {
                session: timeouts.session.0,
                ci: timeouts.ci.0,
                ci_start: timeouts.ci_start.0,
                ci_wait: timeouts.ci_wait.0,
                critic: timeouts.critic.0,
                renotify: timeouts.renotify.0,
                answer: timeouts.escalate.0,
                handoff: timeouts.handoff.0,
                heartbeat: liveness.heartbeat.0,
                stale_after: liveness.stale_after.0,
                stale_strikes: liveness.stale_strikes,
                stale_dependency: timeouts.stale_dependency.0,
                context_watch_percent: liveness.context_watch_percent,
                context_full_percent: liveness.context_full_percent,
                slow_factor: liveness.slow_factor,
            },
            labels: self.labels(),
            queue: QueueRules {
                policy: self.queue.policy,
                history: self.queue.history,
                alarm: self.queue.alarm.0,
            },
        }
    }

    pub fn guards(&self) -> Guards {
        Guards {
            min_free_memory_mb: self.guards.min_free_memory_mb,
            min_free_disk_mb: self.guards.min_free_disk_mb,
        }
    }

    fn limits(&self) -> GroupLimits {
        let some = |limit: u64| (limit > 0).then_some(limit);
        GroupLimits {
            memory_bytes: some(self.limits.memory_mb.saturating_mul(1 << 20)),
            processes: some(self.limits.processes),
        }
    }

    fn labels(&self) -> Labels {
        let names = self.labels.clone();
        Labels {
            backlog: names.backlog,
            in_progress: names.in_progress,
            blocked: names.blocked,
            underspecified: names.underspecified,
            priority: names.priority,
            ignore_deps: names.ignore_deps,
            needs_review: names.needs_review,
            abandon: names.abandon,
        }
    }

    /// The variables that must be in the daemon's environment, because agents or builds are given their values.
    pub fn variables(&self) -> BTreeSet<&str> {
        let agents = [&self.agent.dev, &self.agent.critic].into_iter().flatten().map(|agent| &agent.env);
        agents.chain([&self.ci.env]).flat_map(reference::named).collect()
    }

    /// Everything the daemon works by. Here, and only here, build and agent must be set.
    pub fn settings(&self, place: Place<'_>) -> Result<Settings, Fault> {
        let command = self.ci.command.clone().filter(|command| !command.trim().is_empty());
        let command =
            command.ok_or_else(|| Fault::new("`ci.command` is not set: how is the project tested?"))?;
        let (dev, critic) = agent::settings(&self.agent, place)?;
        Ok(Settings {
            project: place.project.to_owned(),
            branch: self.branch.clone(),
            branch_prefix: self.dispatch.branch_prefix.clone(),
            exe: place.exe.to_owned(),
            search_path: place.search_path.to_owned(),
            policy: self.policy(),
            dev,
            critic,
            ci: CiSettings {
                command,
                slots: self.ci.slots,
                keep: self.ci.keep.clone(),
                env: reference::follow("ci", &self.ci.env)?,
            },
            guards: self.guards(),
            limits: self.limits(),
            poll: self.dispatch.poll.0,
            only: None,
        })
    }
}
