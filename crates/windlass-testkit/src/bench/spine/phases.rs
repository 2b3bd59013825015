//! From an agent's signal to the event: heard, and written down for good.

use windlass_core::id::SessionId;
use windlass_core::journal::Fact;
use windlass_core::task::Event;

use crate::bench::agents;
use crate::bench::error::BenchError;
use crate::bench::factory::{Factory, Seen, Setup};
use crate::bench::place::Place;
use crate::bench::sheet::{Op, Sheet};
use crate::bench::stats::{count, percentile};

const SIGNALS: usize = 250;

/// One agent after the other asks a person: each task gives one signal and then makes room for the next.
pub fn measure(place: &Place) -> Result<Sheet, BenchError> {
    let notes = place.folder()?;
    let dev = agents::timed_asker(place, &notes);
    let setup = Setup { files: 20, parallel: 1, ci_slots: 1, dev, critic: agents::critic() };
    let mut factory = Factory::new(place, &setup)?;
    for nth in 0..SIGNALS {
        factory.file(&format!("signal {nth}"))?;
    }
    factory.up()?;
    let mut signals = 0;
    let events = factory.follow("all signals", |seen| {
        signals += usize::from(signalled(seen).is_some());
        signals == SIGNALS
    })?;
    factory.settle()?;
    factory.down()?;
    let (mut heard, mut durable) = (Vec::new(), Vec::new());
    for seen in &events {
        let Some(session) = signalled(seen) else { continue };
        let note = notes.join(session.as_str());
        let text = std::fs::read_to_string(&note).map_err(BenchError::io("read", &note))?;
        let written_ms: f64 = text.parse().unwrap_or(f64::NAN);
        // The event's own time has whole milliseconds.
        heard.push(at_ms(seen) - written_ms.floor());
        durable.push(seen.at_ms - written_ms);
    }
    let mut sheet = Sheet::new("spine");
    let what = "phase file written to event on the disk, 99 of 100";
    sheet.figure_with_goal("phase_to_event_p99_ms", percentile(&durable, 99.0), Op::AtMost, 20.0, what);
    sheet.figure("phase_to_event_p50_ms", percentile(&durable, 50.0), "the same, half of them");
    let what = "to the event's own time, in whole milliseconds, before it is written";
    sheet.figure("phase_to_heard_p99_ms", percentile(&heard, 99.0), what);
    sheet.figure("phase_to_heard_p50_ms", percentile(&heard, 50.0), "the same, half of them");
    sheet.figure("phase_signals", count(heard.len()), "signals measured, each of another session");
    Ok(sheet)
}

fn signalled(seen: &Seen) -> Option<&SessionId> {
    match &seen.event.entry.fact {
        Fact::Task(Event::PhaseSeen { session, .. }) => Some(session),
        Fact::Task(_) | Fact::Factory(_) => None,
    }
}

#[expect(clippy::cast_precision_loss, reason = "milliseconds since 1970 are far from 2^53")]
fn at_ms(seen: &Seen) -> f64 {
    seen.event.entry.at.0 as f64
}
