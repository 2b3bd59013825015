//! What shows that nothing is lost: the crash sweep and the fault loop on the real program, and the models.

use std::time::Instant;

use windlass_testkit::model::Searched;
use windlass_testkit::model::landing::Landing;
use windlass_testkit::model::machine::Machine;
use windlass_testkit::sweep::{self, Done, Report, Size};

use super::error::BenchError;
use super::place::Place;
use super::sheet::{Op, Sheet};
use super::stats::{count, percentile};
use super::{Wishes, talk};

/// The same choice in every run, so that figures can be compared.
const SEED: u64 = 1;

pub fn measure(_place: &Place, _wishes: &Wishes) -> Result<Sheet, BenchError> {
    let program = sweep::program().ok_or_else(|| {
        BenchError::TooLittle("WINDLASS_PROOF_BIN names no program with crash points; use ./bench".into())
    })?;
    let mut sheet = Sheet::new("proof");
    talk("killing and breaking the program at every point of every scenario");
    let begun = Instant::now();
    let done = sweep::campaign(&program, Size::Check, SEED, talk);
    let seconds = begun.elapsed().as_secs_f64();
    talk("searching the models to the last state");
    let model = search();
    let mut violations = model.broken.len();
    violations += swept(&mut sheet, done, seconds);
    sheet.figure("model_states", count(model.states), "states of the models, all of them looked at");
    sheet.figure_with_goal("violations", count(violations), Op::AtMost, 0.0, "promises broken in all of it");
    Ok(sheet)
}

/// Says how many violations there were.
fn swept(sheet: &mut Sheet, done: Vec<Done>, seconds: f64) -> usize {
    let scenarios = done.len();
    let (mut points, mut sum) = (0, Report::default());
    for Done { scenario, calm, report } in done {
        points += calm.points.reached;
        for wrong in &report.violations {
            talk(&format!("{}: {wrong}", scenario.name));
        }
        sum.add(report);
    }
    let all = &sum.recoveries;
    sheet.figure("crash_points", f64::from(points), "points that all scenarios reach, undisturbed");
    sheet.figure("scenarios", count(scenarios), "ways of issues through the factory");
    sheet.figure("kills", f64::from(sum.kills), "daemons killed by SIGKILL, each at a point");
    sheet.figure("faults", f64::from(sum.faults), "effects that failed, lost their answer or hung");
    sheet.figure("sweep_s", seconds, "seconds for all kills and faults");
    let duplicates = f64::from(sum.duplicates);
    sheet.figure_with_goal("duplicates", duplicates, Op::AtMost, 0.0, "outward acts that happened twice");
    sheet.figure("recovery_p50_ms", percentile(all, 50.0), "start after a kill to the first act");
    let slow = percentile(all, 95.0);
    sheet.figure_with_goal("recovery_p95_ms", slow, Op::AtMost, 5_000.0, "the same, 95 of 100 are quicker");
    sum.violations.len()
}

fn search() -> Searched {
    let landing = Landing { changes: 3, bad: 1, crashes: 2, pushes: 1, zombies: 1, without: None };
    Machine::worlds().into_iter().map(Machine::search).fold(landing.search(), |mut sum, searched| {
        sum.states += searched.states;
        sum.broken.extend(searched.broken);
        sum
    })
}
