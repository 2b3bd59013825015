//! What a landing costs beyond its test: from the verdict to main moved and recorded.

use super::both;
use super::desk::{Desk, millis_of, time_of};
use crate::bench::error::BenchError;
use crate::bench::sheet::Sheet;

/// Landings that are measured.
pub const LANDINGS: usize = 20;

pub fn measure(desk: &mut Desk<'_>, sheet: &mut Sheet) -> Result<(), BenchError> {
    let mut samples = Vec::new();
    for _ in 0..LANDINGS {
        desk.wait_testing()?;
        // A real test takes longer than the tidying up after the landing before it.
        desk.factory.settle()?;
        desk.let_go()?;
        let events = desk.factory.follow("a landing", |seen| seen.event.entry.fact.kind() == "landed")?;
        let landed = events.iter().find(|seen| seen.event.entry.fact.kind() == "landed");
        let landed = landed.map_or(f64::NAN, |seen| seen.at_ms);
        samples.push(landed - millis_of(time_of(&events, "build_ended")?));
    }
    both(sheet, "landing_overhead", &samples, 500.0, "from the verdict known to main moved and recorded");
    Ok(())
}
