//! What shows that nothing is lost: the crash sweep and the fault loop on the real program, the simulator, the models.

use std::path::Path;
use std::time::Instant;

use serde_json::Value;
use windlass_testkit::model::Searched;
use windlass_testkit::model::landing::Landing;
use windlass_testkit::model::machine::Machine;
use windlass_testkit::sweep::{self, Done, Report, Size};

use super::error::BenchError;
use super::place::{Place, run};
use super::sheet::{Op, Sheet};
use super::stats::{count, percentile};
use super::{Wishes, talk};

/// The same choice in every run, so that figures can be compared.
const SEED: u64 = 1;
const SEEDS: u64 = 2_000;
/// As many as a check has, in twenty seconds.
const SEEDS_PER_S: f64 = 100.0;
/// A deliberate bug must be caught within so many.
const SEEDS_FOR_A_BUG: u64 = 5_000;

pub fn measure(place: &Place, wishes: &Wishes) -> Result<Sheet, BenchError> {
    let program = sweep::program().ok_or_else(|| {
        BenchError::TooLittle("WINDLASS_PROOF_BIN names no program with crash points; use ./bench".into())
    })?;
    let mut sheet = Sheet::new("proof");
    talk("killing and breaking the program at every point of every scenario");
    let begun = Instant::now();
    let done = sweep::campaign(&program, Size::Check, SEED, talk);
    let seconds = begun.elapsed().as_secs_f64();
    talk("searching the models to the last state");
    let begun = Instant::now();
    let model = search();
    let searched = begun.elapsed().as_secs_f64();
    let mut violations = model.broken.len();
    violations += swept(&mut sheet, done, seconds);
    let sim = place.bench.with_file_name("sim");
    if sim.exists() {
        violations += simulated(&mut sheet, place, &sim, wishes.seeds.unwrap_or(SEEDS))?;
        teeth(&mut sheet, place, &sim)?;
    } else {
        talk("there is no simulator beside this program: its figures are left out");
    }
    sheet.figure("model_states", count(model.states), "states of the models, all of them looked at");
    sheet.figure_with_goal("model_s", searched, Op::AtMost, 10.0, "seconds for that");
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
    sheet.figure_with_goal("sweep_s", seconds, Op::AtMost, 60.0, "seconds for all kills and faults");
    let duplicates = f64::from(sum.duplicates);
    sheet.figure_with_goal("duplicates", duplicates, Op::AtMost, 0.0, "outward acts that happened twice");
    sheet.figure("recovery_p50_ms", percentile(all, 50.0), "start after a kill to the first act");
    let slow = percentile(all, 95.0);
    sheet.figure_with_goal("recovery_p95_ms", slow, Op::AtMost, 5_000.0, "the same, 95 of 100 are quicker");
    sum.violations.len()
}

/// Says how many violations there were.
fn simulated(sheet: &mut Sheet, place: &Place, sim: &Path, seeds: u64) -> Result<usize, BenchError> {
    talk(&format!("simulating {seeds} seeds, each twice"));
    let said = run(place.command(sim, &place.root).args(["--seeds", &seeds.to_string(), "--json"]))?;
    let call = sim.display().to_string();
    let told: Value = serde_json::from_str(&said)
        .map_err(|error| BenchError::Answer { call, detail: error.to_string() })?;
    let number = |name: &str| told[name].as_f64().unwrap_or(f64::NAN);
    sheet.figure("seeds", number("seeds"), "simulated worlds, each lived twice and the same both times");
    let speed = number("seeds_per_s");
    sheet.figure_with_goal("seeds_per_s", speed, Op::AtLeast, SEEDS_PER_S, "of them in a second");
    Ok(told["violations"].as_u64().and_then(|count| usize::try_from(count).ok()).unwrap_or(usize::MAX))
}

/// The simulator ends with 1 when a rule was broken, and with a deliberate bug it must.
fn teeth(sheet: &mut Sheet, place: &Place, sim: &Path) -> Result<(), BenchError> {
    let bugs = run(place.command(sim, &place.root).arg("--bugs"))?;
    let seeds = SEEDS_FOR_A_BUG.to_string();
    let mut caught = 0;
    for bug in bugs.lines() {
        talk(&format!("looking for the deliberate bug {bug}"));
        place.check()?;
        let mut command = place.command(sim, &place.root);
        match run(command.args(["--bug", bug, "--once", "--seeds", &seeds, "--json"])) {
            Err(BenchError::Failed { code: 1, .. }) => caught += 1,
            Ok(_) => talk(&format!("{bug} is not caught")),
            Err(error) => return Err(error),
        }
    }
    let all = bugs.lines().count();
    sheet.figure("deliberate_bugs", count(all), "wrong decisions built in to be found");
    let what = "of them found by the simulator";
    sheet.figure_with_goal("deliberate_bugs_caught", count(caught), Op::AtLeast, count(all), what);
    Ok(())
}

fn search() -> Searched {
    let landing = Landing { changes: 3, bad: 1, crashes: 2, pushes: 1, zombies: 1, without: None };
    Machine::worlds().into_iter().map(Machine::search).fold(landing.search(), |mut sum, searched| {
        sum.states += searched.states;
        sum.broken.extend(searched.broken);
        sum
    })
}
