//! Values that parse but make no sense: each is refused with its key, what it is, and what it may be.

use std::ops::RangeInclusive;

use windlass_adapters::forge::label_is_fine;
use windlass_adapters::git::Slot;
use windlass_core::time::Span;

use super::explain::Fault;
use super::{Config, agent, reference};
use crate::house::{self, Job, When};

/// More agents or builds than any machine has room for.
const MANY: u32 = 1_000;
/// A count that is kept and not run at once.
const VERY_MANY: u32 = 1_000_000;
/// In megabytes, or in processes: more than any machine has.
const HUGE: u64 = 1_000_000_000;
/// Nobody waits longer, and sums of times stay far from where they overflow.
const LONGEST: Span = Span::days(3_650);

pub fn check(config: &Config) -> Result<(), Fault> {
    counts(config)?;
    sizes(config)?;
    percents(config)?;
    money(config)?;
    for (key, time) in times(config) {
        length(key, time)?;
    }
    schedule(config)?;
    names(config)?;
    if let Some(folder) = config.ci.keep.iter().find(|folder| !Slot::can_keep(folder)) {
        return Err(wrong("ci.keep", folder, "a folder inside the checkout, such as \"target\""));
    }
    reference::check("ci", &config.ci.env)?;
    agent::check(&config.agent)
}

/// The key, its value, and what it should be.
pub fn wrong(key: &str, value: &str, wanted: &str) -> Fault {
    let is = if value.is_empty() { "empty".to_owned() } else { format!("`{}`", value.escape_debug()) };
    Fault::new(format!("`{key}` must be {wanted}; it is {is}"))
}

/// Between nothing and ten years.
pub fn length(key: &str, time: Span) -> Result<(), Fault> {
    if time == Span::ZERO {
        return Err(Fault::new(format!("`{key}` must be longer than nothing")));
    }
    if time > LONGEST {
        let days = LONGEST.0 / Span::days(1).0;
        return Err(Fault::new(format!("`{key}` must be at most {days}d; it is {time}")));
    }
    Ok(())
}

pub fn number(key: &str, value: u64, allowed: RangeInclusive<u64>) -> Result<(), Fault> {
    let (least, most) = (allowed.start(), allowed.end());
    if value < *least {
        return Err(Fault::new(format!("`{key}` must be at least {least}; it is {value}")));
    }
    if value > *most {
        return Err(Fault::new(format!("`{key}` must be at most {most}; it is {value}")));
    }
    Ok(())
}

fn counts(config: &Config) -> Result<(), Fault> {
    let (dispatch, liveness, ci) = (&config.dispatch, &config.liveness, &config.ci);
    for (key, value, least, most) in [
        ("dispatch.parallel", dispatch.parallel, 1, MANY),
        ("dispatch.max_open_changes", dispatch.max_open_changes, 1, VERY_MANY),
        ("liveness.stale_strikes", liveness.stale_strikes, 1, MANY),
        ("liveness.slow_factor", liveness.slow_factor, 1, MANY),
        ("liveness.nudges", liveness.nudges, 0, MANY),
        ("liveness.restarts", liveness.restarts, 0, MANY),
        ("critic.max_critic_iterations", config.critic.max_critic_iterations, 0, MANY),
        ("ci.slots", ci.slots, 1, MANY),
        ("ci.fix_attempts", ci.fix_attempts, 0, MANY),
        ("ci.retry_infra", ci.retry_infra, 0, MANY),
        ("keep.backups", config.keep.backups, 1, VERY_MANY),
    ] {
        number(key, value.into(), least..=u64::from(most))?;
    }
    Ok(())
}

fn sizes(config: &Config) -> Result<(), Fault> {
    number("guards.min_free_memory_mb", config.guards.min_free_memory_mb, 0..=HUGE)?;
    number("guards.min_free_disk_mb", config.guards.min_free_disk_mb, 0..=HUGE)?;
    number("limits.memory_mb", config.limits.memory_mb, 0..=HUGE)?;
    number("limits.processes", config.limits.processes, 0..=HUGE)
}

fn percents(config: &Config) -> Result<(), Fault> {
    let (watch, full) = (config.liveness.context_watch_percent, config.liveness.context_full_percent);
    if watch > full || full > 100 {
        return Err(Fault::new(
            "`liveness.context_watch_percent` must not be above `context_full_percent`, and neither above 100",
        ));
    }
    Ok(())
}

fn money(config: &Config) -> Result<(), Fault> {
    for (key, usd) in
        [("per_issue_usd", config.budget.per_issue_usd), ("per_day_usd", config.budget.per_day_usd)]
    {
        if !usd.is_finite() || !(0.0..=1e9).contains(&usd) {
            return Err(Fault::new(format!("`budget.{key}` must be a sum of money, such as 5.00")));
        }
    }
    Ok(())
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

fn schedule(config: &Config) -> Result<(), Fault> {
    let zone = &config.schedule.timezone;
    if !house::is_timezone(zone) {
        return Err(wrong("schedule.timezone", zone, "a time zone, such as \"UTC\" or \"Europe/Berlin\""));
    }
    for job in Job::ALL {
        When::parse(job.text(&config.schedule), zone)
            .map_err(|why| Fault::new(format!("`schedule.{}`: {why}", job.name())))?;
    }
    Ok(())
}

fn names(config: &Config) -> Result<(), Fault> {
    if let Some(name) = &config.name
        && (name.trim().is_empty() || name.chars().any(char::is_control) || name.chars().count() > 100)
    {
        return Err(wrong("name", name, "a name of one line, with 100 letters at most"));
    }
    name_of_ref("branch", &config.branch, &config.branch)?;
    let prefix = &config.dispatch.branch_prefix;
    name_of_ref("dispatch.branch_prefix", prefix, &format!("{prefix}x"))?;
    labels(config)
}

/// Each must be one that a forge takes, and none may mean two things.
fn labels(config: &Config) -> Result<(), Fault> {
    let labels = &config.labels;
    let all = [
        ("labels.backlog", &labels.backlog),
        ("labels.in_progress", &labels.in_progress),
        ("labels.blocked", &labels.blocked),
        ("labels.underspecified", &labels.underspecified),
        ("labels.priority", &labels.priority),
        ("labels.ignore_deps", &labels.ignore_deps),
        ("labels.needs_review", &labels.needs_review),
        ("labels.abandon", &labels.abandon),
    ];
    for (at, (key, label)) in all.iter().enumerate() {
        if !label_is_fine(label) {
            return Err(wrong(key, label, "a short name of one line without commas"));
        }
        if let Some((other, _)) = all[..at].iter().find(|(_, known)| known == label) {
            return Err(wrong(key, label, &format!("another label than `{other}`")));
        }
    }
    Ok(())
}

/// Only letters that mean nothing to git or a shell. Names of tasks are added to a prefix, so there must be room.
fn name_of_ref(key: &str, value: &str, name: &str) -> Result<(), Fault> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._/-+#@=,".contains(c);
    let part = |part: &str| {
        !part.is_empty() && !part.starts_with(['.', '-']) && !part.ends_with('.') && !part.ends_with(".lock")
    };
    let fine = name.len() <= 100
        && name.chars().all(plain)
        && !name.contains("..")
        && name.split('/').all(part)
        && !["HEAD", "@"].contains(&name);
    let wanted = "letters, digits and any of `._/-+#@=,` that can be part of the name of a branch";
    if fine { Ok(()) } else { Err(wrong(key, value, wanted)) }
}
