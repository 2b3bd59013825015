//! What a landing costs beyond its test: from the verdict to main moved and recorded.

use super::both;
use super::desk::{Desk, millis_of, time_of};
use crate::bench::error::BenchError;
use crate::bench::sheet::Sheet;

/// Landings that are measured in each weather.
const EACH: usize = 20;
pub const LANDINGS: usize = 2 * EACH;
const GOAL_MS: f64 = 500.0;

/// Whether the workspace and the branch of the landing before are still being tidied up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Before {
    /// As after a test of minutes.
    Tidy,
    /// As when tests take no time: one landing follows the other at once.
    Busy,
}

pub fn measure(desk: &mut Desk<'_>, sheet: &mut Sheet) -> Result<(), BenchError> {
    let what = "from the verdict known to main moved and recorded";
    let tidy = landings(desk, Before::Tidy)?;
    both(sheet, "landing_overhead", &tidy, GOAL_MS, &format!("{what}, the one before tidied up"));
    let busy = landings(desk, Before::Busy)?;
    both(
        sheet,
        "landing_overhead_busy",
        &busy,
        GOAL_MS,
        &format!("{what}, while the one before is tidied up"),
    );
    Ok(())
}

fn landings(desk: &mut Desk<'_>, before: Before) -> Result<Vec<f64>, BenchError> {
    let mut samples = Vec::new();
    for _ in 0..EACH {
        desk.wait_testing()?;
        if before == Before::Tidy {
            desk.factory.settle()?;
        }
        desk.let_go()?;
        let events = desk.factory.follow("a landing", |seen| seen.event.entry.fact.kind() == "landed")?;
        let landed = events.iter().find(|seen| seen.event.entry.fact.kind() == "landed");
        let landed = landed.map_or(f64::NAN, |seen| seen.at_ms);
        samples.push(landed - millis_of(time_of(&events, "build_ended")?));
    }
    Ok(samples)
}
