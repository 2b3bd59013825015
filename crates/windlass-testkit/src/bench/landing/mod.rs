//! `landing`: from many approved changes to main, on real git with the real daemon, undisturbed and killed.

mod chain;
mod desk;
mod kills;
mod overhead;

use super::error::BenchError;
use super::place::Place;
use super::sheet::{Op, Sheet};
use super::stats::{count, percentile};
use super::{Wishes, proc, talk};
use desk::Desk;
use windlass_core::queue::Policy;

/// Files in the repository.
const FILES: usize = 6_000;
/// Changes that are merged one on top of the other: as many as a batch takes.
const CHAIN: usize = 32;

pub fn measure(place: &Place, _wishes: &Wishes) -> Result<Sheet, BenchError> {
    let mut sheet = Sheet::new("landing");
    let load = proc::load()?;
    let tasks = CHAIN + overhead::LANDINGS + kills::TASKS;
    talk(&format!("{tasks} changes on a repository of {FILES} files go through CI and critic first"));
    let mut desk = Desk::new(place, tasks)?;
    desk.up(Policy::Batch)?;
    talk("chains of 32, beside the bare git commands");
    chain::measure(&mut desk, &mut sheet)?;
    desk.down()?;
    desk.up(Policy::Serial)?;
    talk("landings one by one");
    overhead::measure(&mut desk, &mut sheet)?;
    talk("landings that are killed");
    kills::measure(&mut desk, &mut sheet)?;
    desk.down()?;
    sheet.figure("repo_files", count(FILES), "files in the repository");
    sheet.figure("load_before", load, "processes of others that wanted to run when we began");
    Ok(sheet)
}

/// The middle and the slow end of some milliseconds, with a goal for each.
fn both(sheet: &mut Sheet, name: &str, samples: &[f64], goal: f64, what: &str) {
    sheet.figure(&format!("{name}_p50_ms"), percentile(samples, 50.0), &format!("{what}, median"));
    sheet.figure_with_goal(
        &format!("{name}_ms"),
        percentile(samples, 95.0),
        Op::AtMost,
        goal,
        &format!("{what}, p95 of {}", samples.len()),
    );
}
