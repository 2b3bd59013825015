//! From what the file says to what the factory works by.

use std::path::Path;

use windlass_adapters::process::GroupLimits;
use windlass_core::money::micro_usd;
use windlass_core::policy::{Caps, Labels, Limits, Policy, QueueRules};
use windlass_core::time::Span;
use windlass_engine::{CiSettings, Guards, Settings};

use super::explain::Fault;
use super::{Config, agent, reference};
use crate::house::{Job, When};

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

/// Values that parse but make no sense.
pub fn check(config: &Config) -> Result<(), Fault> {
    at_least_one("dispatch.parallel", config.dispatch.parallel)?;
    at_least_one("dispatch.max_open_changes", config.dispatch.max_open_changes)?;
    at_least_one("liveness.stale_strikes", config.liveness.stale_strikes)?;
    at_least_one("liveness.slow_factor", config.liveness.slow_factor)?;
    at_least_one("ci.slots", config.ci.slots)?;
    at_least_one("keep.backups", config.keep.backups)?;
    for job in Job::ALL {
        When::parse(job.text(&config.schedule), &config.schedule.timezone)
            .map_err(|why| Fault::new(format!("`schedule.{}`: {why}", job.name())))?;
    }
    let (watch, full) = (config.liveness.context_watch_percent, config.liveness.context_full_percent);
    if watch > full || full > 100 {
        return Err(Fault::new(
            "`liveness.context_watch_percent` must not be above `context_full_percent`, and neither above 100",
        ));
    }
    for (key, usd) in
        [("per_issue_usd", config.budget.per_issue_usd), ("per_day_usd", config.budget.per_day_usd)]
    {
        if !usd.is_finite() || !(0.0..=1e9).contains(&usd) {
            return Err(Fault::new(format!("`budget.{key}` must be a sum of money, such as 5.00")));
        }
    }
    for (key, time) in times(config) {
        if time == Span::ZERO {
            return Err(Fault::new(format!("`{key}` must be longer than nothing")));
        }
    }
    name_of_ref("branch", &config.branch)?;
    name_of_ref("dispatch.branch_prefix", &format!("{}x", config.dispatch.branch_prefix))?;
    reference::check("ci", &config.ci.env)?;
    agent::check(&config.agent)
}

fn times(config: &Config) -> [(&'static str, Span); 16] {
    let (timeouts, liveness) = (&config.timeouts, &config.liveness);
    [
        ("dispatch.poll", config.dispatch.poll.0),
        ("timeouts.session", timeouts.session.0),
        ("timeouts.ci", timeouts.ci.0),
        ("timeouts.ci_start", timeouts.ci_start.0),
        ("timeouts.ci_wait", timeouts.ci_wait.0),
        ("timeouts.critic", timeouts.critic.0),
        ("timeouts.renotify", timeouts.renotify.0),
        ("timeouts.escalate", timeouts.escalate.0),
        ("timeouts.handoff", timeouts.handoff.0),
        ("timeouts.stale_dependency", timeouts.stale_dependency.0),
        ("liveness.restart_window", liveness.restart_window.0),
        ("liveness.heartbeat", liveness.heartbeat.0),
        ("liveness.stale_after", liveness.stale_after.0),
        ("queue.alarm", config.queue.alarm.0),
        ("keep.ended", config.keep.ended.0),
        ("keep.workspaces", config.keep.workspaces.0),
    ]
}

fn at_least_one(key: &str, value: u32) -> Result<(), Fault> {
    if value > 0 { Ok(()) } else { Err(Fault::new(format!("`{key}` must be at least 1"))) }
}

/// Only letters that mean nothing to git or a shell.
fn name_of_ref(key: &str, name: &str) -> Result<(), Fault> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._/-+#@=,".contains(c);
    let part = |part: &str| !part.is_empty() && !part.starts_with(['.', '-']) && !part.ends_with(".lock");
    if name.chars().all(plain) && !name.contains("..") && name.split('/').all(part) {
        return Ok(());
    }
    Err(Fault::new(format!("`{key}` cannot be part of the name of a branch")))
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
