//! The merge queue in virtual time: every policy under every weather, against the information bound.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use serde_json::{Value, json};
use windlass_core::queue::Policy;
use windlass_core::queue::rate::bound;
use windlass_testkit::queue_sim::{Arrivals, Storms, Weather, live};

use super::error::BenchError;
use super::place::Place;
use super::plot;
use super::sheet::{Op, Sheet};
use super::stats::{count, percentile};
use super::{Wishes, talk};

const BAD: [f64; 4] = [0.02, 0.05, 0.10, 0.20];
const SLOTS: [usize; 4] = [1, 2, 4, 8];
const FLAKES: [f64; 2] = [0.0, 0.02];
const OUTSTANDING: usize = 32;
/// Open arrivals come as fast as the operator's rule says that the slots can take.
const OPEN_SHARE: f64 = 0.5;
/// A day in test times; the first four are not counted.
const LENGTH: u64 = 54;
const COUNTED: f64 = 50.0;
const DEFAULT_SEEDS: u64 = 5_120;
/// Rows that a goal is about get at least so many seeds.
const GOAL_SEEDS: u64 = 100;
const GOAL_BAD: f64 = 0.05;
/// The plan's constants were chosen on small seeds; what is measured are days that it has not seen.
const FIRST_SEED: u64 = 1_000_000;

/// One weather with what came of it.
#[derive(Debug, Clone)]
pub struct Row {
    pub weather: Weather,
    pub landed_per_t: f64,
    pub bound: f64,
    p50_wait: f64,
    p95_wait: f64,
    runs_per_landed: f64,
    ejected: usize,
    innocent: usize,
    seeds: u64,
    most_overtaken: u32,
    broken: Vec<String>,
}

pub fn measure(place: &Place, wishes: &Wishes) -> Result<Sheet, BenchError> {
    let weathers = weathers();
    let each = wishes.seeds.unwrap_or(DEFAULT_SEEDS) / u64::try_from(weathers.len()).unwrap_or(1);
    let begun = Instant::now();
    let rows = live_all(place, &weathers, each.max(1))?;
    let seconds = begun.elapsed().as_secs_f64();
    let svg = place.root.join("docs/queue.svg");
    std::fs::write(&svg, plot::svg(&rows)).map_err(BenchError::io("write", &svg))?;
    let mut sheet = Sheet::new("queue");
    goals(&mut sheet, &rows);
    let seeds: u64 = rows.iter().map(|row| row.seeds).sum();
    let seeds = count(usize::try_from(seeds).unwrap_or(usize::MAX));
    sheet.figure("seeds", seeds, "simulated days, each of 54 test times");
    sheet.figure("seeds_per_s", seeds / seconds, "on all cores");
    sheet.rows = rows.iter().map(Row::json).collect();
    sheet.text = table(&rows);
    Ok(sheet)
}

fn weathers() -> Vec<Weather> {
    let mut all = Vec::new();
    for policy in Policy::ALL {
        for bad in BAD {
            for slots in SLOTS {
                for flake in FLAKES {
                    let open = Arrivals::Open { per_test: OPEN_SHARE * bound(bad, slots) };
                    for arrivals in [Arrivals::Saturated { outstanding: OUTSTANDING }, open] {
                        let storms = Storms::default();
                        all.push(Weather { policy, slots, bad, flake, arrivals, length: LENGTH, storms });
                    }
                }
            }
        }
    }
    all
}

fn live_all(place: &Place, weathers: &[Weather], each: u64) -> Result<Vec<Row>, BenchError> {
    let next = AtomicUsize::new(0);
    let rows = Mutex::new(Vec::new());
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some((at, weather)) = claim(&next, weathers)
                    && place.check().is_ok()
                {
                    let row = live_row(weather, each);
                    rows.lock().expect("no worker panics with it").push((at, row));
                }
            });
        }
    });
    place.check()?;
    let mut rows = rows.into_inner().expect("no worker panics with it");
    rows.sort_by_key(|(at, _)| *at);
    Ok(rows.into_iter().map(|(_, row)| row).collect())
}

fn claim<'a>(next: &AtomicUsize, weathers: &'a [Weather]) -> Option<(usize, &'a Weather)> {
    let at = next.fetch_add(1, Ordering::Relaxed);
    if at.is_multiple_of(64) {
        talk(&format!("weather {at} of {}", weathers.len()));
    }
    Some((at, weathers.get(at)?))
}

fn live_row(weather: &Weather, each: u64) -> Row {
    let judged = saturated(weather) && weather.bad == GOAL_BAD;
    let seeds = if judged { each.max(GOAL_SEEDS) } else { each };
    let (mut landed, mut tests, mut ejected, mut innocent, mut most_overtaken) = (0, 0, 0, 0, 0);
    let (mut waits, mut broken) = (Vec::new(), Vec::new());
    for seed in FIRST_SEED..FIRST_SEED + seeds {
        let day = live(weather, seed);
        landed += day.landed;
        tests += day.tests;
        ejected += day.ejected;
        innocent += day.innocent;
        most_overtaken = most_overtaken.max(day.most_overtaken);
        waits.extend(day.waits);
        broken.extend(day.broken.iter().map(|broken| format!("seed {seed} of {weather:?}: {broken:?}")));
    }
    Row {
        landed_per_t: count(landed) / COUNTED / count(usize::try_from(seeds).unwrap_or(usize::MAX)),
        bound: bound(weather.bad, weather.slots),
        p50_wait: percentile(&waits, 50.0),
        p95_wait: percentile(&waits, 95.0),
        runs_per_landed: count(tests) / count(landed),
        weather: weather.clone(),
        ejected,
        innocent,
        seeds,
        most_overtaken,
        broken,
    }
}

pub fn saturated(weather: &Weather) -> bool {
    matches!(weather.arrivals, Arrivals::Saturated { .. })
}

fn goals(sheet: &mut Sheet, rows: &[Row]) {
    let landed = |policy: Policy, slots: usize| {
        let asked = |row: &&Row| {
            let w = &row.weather;
            w.policy == policy && w.slots == slots && w.bad == GOAL_BAD && w.flake == 0.0 && saturated(w)
        };
        rows.iter().find(asked).map_or(f64::NAN, |row| row.landed_per_t)
    };
    let (one, serial) = (landed(Policy::Ladder, 1), landed(Policy::Serial, 1));
    let of_bound = 100.0 * one / bound(GOAL_BAD, 1);
    let at_least = Op::AtLeast;
    sheet.figure_with_goal(
        "of_bound_percent_s1",
        of_bound,
        at_least,
        90.0,
        "landed with 1 slot, of the bound",
    );
    sheet.figure_with_goal(
        "times_serial_s1",
        one / serial,
        at_least,
        3.4,
        "landed with 1 slot, ladder over serial",
    );
    for (slots, goal) in [(2, 4.3), (4, 6.5), (8, 12.0)] {
        let name = format!("landed_per_t_s{slots}");
        let what = format!("landed per test time, {slots} slots, bound {:.1}", bound(GOAL_BAD, slots));
        sheet.figure_with_goal(&name, landed(Policy::Ladder, slots), at_least, goal, &what);
    }
    let ladder = || rows.iter().filter(|row| row.weather.policy == Policy::Ladder);
    let flaky = || ladder().filter(|row| row.weather.flake > 0.0);
    let innocent: usize = flaky().map(|row| row.innocent).sum();
    let ejected: usize = flaky().map(|row| row.ejected).sum();
    let percent = 100.0 * count(innocent) / count(ejected);
    sheet.figure_with_goal(
        "innocent_percent",
        percent,
        Op::AtMost,
        0.2,
        "of ejections with 2 % flakes, ladder",
    );
    let broken: Vec<&String> = rows.iter().flat_map(|row| &row.broken).collect();
    broken.iter().take(5).for_each(|broken| talk(broken));
    sheet.figure_with_goal("broken_rules", count(broken.len()), Op::AtMost, 0.0, "of the queue's invariants");
    let most = ladder().map(|row| row.most_overtaken).max().unwrap_or(0);
    sheet.figure("most_overtaken", f64::from(most), "landings that left an older entry behind, at most");
}

impl Row {
    fn json(&self) -> Value {
        let innocent = 100.0 * count(self.innocent) / count(self.ejected.max(1));
        json!({
            "policy": self.weather.policy.word(),
            "q": self.weather.bad,
            "slots": self.weather.slots,
            "flake": self.weather.flake,
            "arrivals": self.weather.arrivals.word(),
            "landed_per_t": self.landed_per_t,
            "bound": self.bound,
            "p50_wait": self.p50_wait,
            "p95_wait": self.p95_wait,
            "runs_per_landed": self.runs_per_landed,
            "innocent_ejections_percent": innocent,
        })
    }
}

/// One line per weather, the policies side by side: landed per test time.
fn table(rows: &[Row]) -> String {
    let mut out = format!("{:<9} {:>4} {:>5} {:>5}", "arrivals", "q", "slots", "flake");
    Policy::ALL.iter().for_each(|policy| out.push_str(&format!(" {:>8}", policy.word())));
    out.push_str("    bound   p50/p95 wait of the ladder\n");
    for row in rows.iter().filter(|row| row.weather.policy == Policy::Ladder) {
        let w = &row.weather;
        out.push_str(&format!("{:<9} {:>4} {:>5} {:>5}", w.arrivals.word(), w.bad, w.slots, w.flake));
        for policy in Policy::ALL {
            let same = Weather { policy, ..w.clone() };
            let landed = rows.iter().find(|row| row.weather == same).map_or(f64::NAN, |row| row.landed_per_t);
            out.push_str(&format!(" {landed:>8.2}"));
        }
        out.push_str(&format!(" {:>8.2}   {:.1}/{:.1}\n", row.bound, row.p50_wait, row.p95_wait));
    }
    out
}
