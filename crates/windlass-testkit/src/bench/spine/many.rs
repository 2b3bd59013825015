//! Many tasks at once: how many reach main in a second.

use std::collections::BTreeSet;

use super::REPO_FILES;
use crate::bench::error::BenchError;
use crate::bench::factory::{Factory, Setup};
use crate::bench::place::Place;
use crate::bench::sheet::{Op, Sheet};
use crate::bench::stats::count;
use crate::bench::{agents, proc};

const TASKS: usize = 80;

/// A repository on which the factory is measured and not the disk: files are made and removed for every task.
const SMALL_REPO_FILES: usize = 200;

pub fn measure(place: &Place) -> Result<Sheet, BenchError> {
    let small = run(place, SMALL_REPO_FILES)?;
    let large = run(place, REPO_FILES)?;
    let what = "80 tasks at once, parallel 8, 4 CI slots: merges per second, first claim to last landing";
    let mut sheet = Sheet::new("spine");
    sheet.figure_with_goal("tasks_per_s_parallel8", small.per_second, Op::AtLeast, 8.0, what);
    sheet.figure("parallel8_repo_files", count(SMALL_REPO_FILES), "in the repository of these tasks");
    let what = "processor time of one of them, all its processes and tidying up included";
    sheet.figure("parallel8_cpu_ms", small.cpu_ms, what);
    sheet.figure("parallel8_builds", small.builds, "builds run for these tasks, the queue's included");
    sheet.figure(
        "tasks_per_s_parallel8_large",
        large.per_second,
        "the same on the repository of `repo_files`",
    );
    sheet.figure("parallel8_cpu_ms_large", large.cpu_ms, "processor time of one of those");
    Ok(sheet)
}

struct Run {
    per_second: f64,
    cpu_ms: f64,
    builds: f64,
}

fn run(place: &Place, files: usize) -> Result<Run, BenchError> {
    let setup = Setup { files, parallel: 8, ci_slots: 4, dev: agents::dev(), critic: agents::critic() };
    let mut factory = Factory::new(place, &setup)?;
    // Before the daemon is there, so that all wait at once.
    let mut open = BTreeSet::new();
    for nth in 0..TASKS {
        open.insert(factory.file(&format!("task {nth}"))?);
    }
    let cpu_before = proc::children_cpu_seconds()?;
    factory.up()?;
    let events = factory.follow("eighty merges", |seen| {
        let entry = &seen.event.entry;
        if entry.fact.kind() == "landed"
            && let Some(issue) = entry.issue
        {
            open.remove(&issue.0);
        }
        open.is_empty()
    })?;
    let times = |kind: &'static str| {
        events.iter().map(|seen| &seen.event.entry).filter(move |entry| entry.fact.kind() == kind)
    };
    let first = times("task_claimed").map(|entry| entry.at).min().unwrap_or_default();
    let last = times("landed").map(|entry| entry.at).max().unwrap_or_default();
    let builds = times("build_ended").count();
    factory.settle()?;
    factory.down()?;
    let cpu_ms = (proc::children_cpu_seconds()? - cpu_before) * 1e3 / count(TASKS);
    let ms = usize::try_from(last.since(first).0).unwrap_or(0);
    Ok(Run { per_second: count(TASKS) * 1e3 / count(ms), cpu_ms, builds: count(builds) })
}
