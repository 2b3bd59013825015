//! The crash sweep: the real program, real git and real agents in small scenarios, killed or broken at every point.
//!
//! `scenario` says what is to happen, `stage` is the machine it happens on, `people` are those who act from outside,
//! `life` runs daemons and notes how they end, `outcome` is what people see in the end, `rules` what must hold then.
//! A scenario is first lived undisturbed (`calm`); every disturbed run must come to the same.

mod campaign;
mod life;
mod outcome;
mod people;
mod points;
mod rules;
mod scenario;
mod soak;
mod stage;

use std::path::Path;
use std::time::Duration;

pub use campaign::{Done, Size, campaign};
pub use life::{Ended, Life};
pub use outcome::Outcome;
pub use points::Points;
pub use scenario::{SCENARIOS, Scenario};
pub use soak::{Soaked, Weight, soak};
pub use stage::{Stage, program};

/// Deaths in one relay after which it is not going anywhere.
const MAX_DEATHS: u32 = 1_500;
/// Runs after which a point that nobody died at is not one that was missed by chance.
const MAX_RELAYS: u32 = 4;

/// A scenario as nobody disturbed it.
#[derive(Debug)]
pub struct Calm {
    pub outcome: Outcome,
    pub points: Points,
    pub took: Duration,
}

/// What came of disturbing a scenario.
#[derive(Debug, Default)]
pub struct Report {
    pub runs: u32,
    pub kills: u32,
    pub faults: u32,
    /// From the start of a daemon after a kill to the first thing that it does, in milliseconds.
    pub recoveries: Vec<f64>,
    /// Outward acts that happened twice.
    pub duplicates: u32,
    /// Everything that was not as it must be, one sentence each.
    pub violations: Vec<String>,
    /// The points that were died at or broken.
    pub points: Points,
}

impl Report {
    pub fn add(&mut self, other: Self) {
        self.runs += other.runs;
        self.kills += other.kills;
        self.faults += other.faults;
        self.recoveries.extend(other.recoveries);
        self.duplicates += other.duplicates;
        self.violations.extend(other.violations);
        self.points.add(&other.points);
    }
}

/// How effects are broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// It fails before anything was done.
    Error,
    /// It is done and nobody hears of it.
    Lost,
    /// It never comes back; the daemon is killed while it hangs.
    Hang,
}

impl Fault {
    pub const ALL: [Self; 3] = [Self::Error, Self::Lost, Self::Hang];

    fn word(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Lost => "lost",
            Self::Hang => "hang",
        }
    }
}

/// Lives it undisturbed. Its own rules must hold too, or nothing could be compared.
pub fn calm(program: &Path, scenario: &'static Scenario) -> Calm {
    let mut stage = Stage::new(program, scenario);
    let life = stage.live(&[]);
    assert_eq!(life.ended, Ended::Idle, "{}: {}", scenario.name, stage.story());
    let outcome = Outcome::of(&stage);
    let mut report = Report::default();
    rules::check(&mut stage, &outcome, &mut report);
    assert!(report.violations.is_empty(), "{}: {:#?}\n{}", scenario.name, report.violations, stage.story());
    Calm { outcome, points: Points::read(&life.trace), took: life.took }
}

/// Daemons die one after the other, each at the first point at which none has died before. While one thread dies,
/// another may have passed a point that comes only once; then there is another run.
pub fn relay(program: &Path, scenario: &'static Scenario, calm: &Calm) -> Report {
    let mut report = Report::default();
    for _ in 0..MAX_RELAYS {
        report.add(relay_once(program, scenario, calm));
        if !report.violations.is_empty() || report.points.missing(&calm.points).is_empty() {
            return report;
        }
    }
    let missed = report.points.missing(&calm.points);
    report.violations.extend(missed.iter().map(|point| format!("no daemon has died at `{point}`")));
    report
}

fn relay_once(program: &Path, scenario: &'static Scenario, calm: &Calm) -> Report {
    let mut stage = Stage::new(program, scenario);
    let known = stage.path("known-points");
    let at = format!("fresh:{}", known.display());
    let mut report = Report { runs: 1, ..Report::default() };
    loop {
        let life = stage.live(&[("WINDLASS_CRASH_AT", &at)]);
        report.after(&life);
        if life.ended != Ended::Killed || report.kills > MAX_DEATHS {
            report.settle(&mut stage, calm, &life);
            break;
        }
    }
    report.points = Points::known(&std::fs::read_to_string(&known).unwrap_or_default());
    report
}

/// Dies at the nth point, then once more at the mth of its second life if asked to, and then comes to its end.
pub fn deaths(program: &Path, scenario: &'static Scenario, calm: &Calm, at: &[u32]) -> Report {
    let mut stage = Stage::new(program, scenario);
    let mut report = Report { runs: 1, ..Report::default() };
    for nth in at {
        let life = stage.live(&[("WINDLASS_CRASH_AT", &nth.to_string())]);
        report.after(&life);
        match life.ended {
            Ended::Killed => report.points.add(&Points::last(&life.trace)),
            Ended::Idle => {}
            Ended::Failed(_) | Ended::Hung => break,
        }
    }
    let life = stage.live(&[]);
    report.after(&life);
    report.settle(&mut stage, calm, &life);
    for wrong in &mut report.violations {
        *wrong = format!("killed at {at:?} ({:?}): {wrong}", report.points);
    }
    report
}

/// Whether all is as it must be after a last life that the caller has led.
pub fn settled(stage: &mut Stage, calm: &Calm, last: &Life) -> Report {
    let mut report = Report { runs: 1, ..Report::default() };
    report.settle(stage, calm, last);
    report
}

/// Breaks the nth effect, or each the first time.
pub fn fault(
    program: &Path,
    scenario: &'static Scenario,
    calm: &Calm,
    nth: Option<u32>,
    fault: Fault,
) -> Report {
    let mut stage = Stage::new(program, scenario);
    let mut report = Report { runs: 1, ..Report::default() };
    let which = nth.map_or_else(|| "each".to_owned(), |nth| nth.to_string());
    let order = format!("{which}:{}", fault.word());
    let life = stage.live(&[("WINDLASS_FAULT_AT", &order)]);
    report.faults += life.broken;
    report.after(&life);
    let life = if life.ended == Ended::Killed { stage.live(&[]) } else { life };
    report.settle(&mut stage, calm, &life);
    for wrong in &mut report.violations {
        *wrong = format!("broken by {order}: {wrong}");
    }
    report
}

impl Report {
    fn after(&mut self, life: &Life) {
        self.kills += u32::from(life.ended == Ended::Killed);
        self.recoveries.extend(life.recovered);
    }

    /// The last daemon has ended: everything must be as if nothing had happened.
    fn settle(&mut self, stage: &mut Stage, calm: &Calm, last: &Life) {
        if last.ended != Ended::Idle {
            self.violations.push(format!("it does not come to its end: {:?}\n{}", last.ended, stage.story()));
            stage.end_all();
            return;
        }
        let outcome = Outcome::of(stage);
        self.violations.extend(outcome.differs(&calm.outcome));
        rules::check(stage, &outcome, self);
        if !self.violations.is_empty() {
            self.violations.push(stage.story());
        }
    }
}
