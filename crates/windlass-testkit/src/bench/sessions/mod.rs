//! `sessions`: what it takes to keep many sessions, and to get them back.

mod claude;
mod live;

use super::error::BenchError;
use super::factory::{Factory, Setup};
use super::place::Place;
use super::sheet::{Op, Sheet};
use super::spine::{phases, stored};
use super::stats::count;
use super::{Wishes, agents, talk};

const IDENTITIES: usize = 1_000;

pub fn measure(place: &Place, _wishes: &Wishes) -> Result<Sheet, BenchError> {
    talk("fifty live sessions: a killed daemon, killed agents, a minute of rest");
    let mut sheet = live::measure(place)?;
    talk("phase signals");
    sheet.append(phases::measure(place)?);
    talk("a thousand identities");
    sheet.append(list(place)?);
    talk("Claude Code, killed and resumed");
    sheet.append(claude::measure(place)?);
    Ok(sheet)
}

fn list(place: &Place) -> Result<Sheet, BenchError> {
    let setup = Setup { files: 20, parallel: 8, ci_slots: 1, dev: agents::dev(), critic: agents::critic() };
    let factory = Factory::new(place, &setup)?;
    stored::fill(
        &factory.state(),
        stored::Size { tasks: IDENTITIES, live: IDENTITIES, events_of_a_task: 1 },
    )?;
    let took = stored::timed(&factory, &["agents", "--json"])?;
    let mut sheet = Sheet::new("sessions");
    let what = "`windlass agents --json` as a new process, median of 20";
    sheet.figure_with_goal("agents_1000_ms", took, Op::AtMost, 50.0, what);
    sheet.figure("agents_listed", count(IDENTITIES), "identities of live tasks");
    Ok(sheet)
}
