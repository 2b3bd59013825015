//! All scenarios with all their disturbances, several at a time: most of a run is waiting for agents and retries.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Mutex;
use std::time::Instant;

use super::scenario::{SCENARIOS, Scenario};
use super::{Calm, Fault, Report, calm, deaths, fault, relay};

/// How much is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Size {
    /// For every change: a death at every point, in one relay for each scenario; a fault in every effect, all in one
    /// run for each kind; and a few single deaths and hanging effects by chance.
    Check,
    /// Each death and each fault in a run of its own, and pairs of deaths.
    Long,
}

/// What came of one scenario.
#[derive(Debug)]
pub struct Done {
    pub scenario: &'static Scenario,
    pub calm: Calm,
    pub report: Report,
}

#[derive(Debug, Clone)]
enum Job {
    Relay,
    Deaths(Vec<u32>),
    Fault(Option<u32>, Fault),
}

/// More than there are cores: a run waits for its agents more than it works.
const THREADS: usize = 5;
/// A run in which every effect is tried again mostly sleeps.
const SLEEPERS: usize = 10;
const SINGLES: u32 = 2;
const PAIRS: u32 = 200;

/// Runs them. `seed` chooses what is left to chance.
pub fn campaign(program: &Path, size: Size, seed: u64, talk: impl Fn(&str) + Sync) -> Vec<Done> {
    let calms = in_threads(THREADS, SCENARIOS.iter().collect(), |scenario| calm(program, scenario));
    let mut done: Vec<Done> = SCENARIOS
        .iter()
        .zip(calms)
        .map(|(scenario, calm)| Done { scenario, calm, report: Report::default() })
        .collect();
    let jobs = jobs(&done, size, seed);
    let (total, begun) = (jobs.len(), Instant::now());
    let left = Mutex::new(total);
    let (sleepy, busy) = jobs.into_iter().partition(|(_, job)| matches!(job, Job::Fault(..)));
    let run = |(nth, job): (usize, Job)| {
        let (scenario, calm) = (done[nth].scenario, &done[nth].calm);
        let report = match &job {
            Job::Relay => relay(program, scenario, calm),
            Job::Deaths(at) => deaths(program, scenario, calm, at),
            Job::Fault(at, kind) => fault(program, scenario, calm, *at, *kind),
        };
        let mut left = left.lock().expect("nobody panics while counting");
        *left -= 1;
        if *left % 100 == 0 && total > 200 {
            talk(&format!("{} of {total} runs after {} s", total - *left, begun.elapsed().as_secs()));
        }
        (nth, report)
    };
    let reports = std::thread::scope(|scope| {
        let sleepy = scope.spawn(|| in_threads(SLEEPERS, sleepy, run));
        let mut reports = in_threads(THREADS, busy, run);
        reports.extend(sleepy.join().expect("a run that panicked says so itself"));
        reports
    });
    for (nth, report) in reports {
        done[nth].report.add(report);
    }
    done
}

/// The longest first.
fn jobs(done: &[Done], size: Size, seed: u64) -> Vec<(usize, Job)> {
    let mut chance = Chance(seed | 1);
    let mut jobs = Vec::new();
    for (nth, Done { calm, .. }) in done.iter().enumerate() {
        jobs.push((nth, Job::Relay));
        let (points, effects) = (calm.points.reached, calm.points.effects);
        match size {
            Size::Check => {
                jobs.push((nth, Job::Fault(None, Fault::Error)));
                jobs.push((nth, Job::Fault(None, Fault::Lost)));
                jobs.push((nth, Job::Fault(Some(chance.up_to(effects)), Fault::Hang)));
                let singles = (0..SINGLES).map(|_| (nth, Job::Deaths(vec![chance.up_to(points)])));
                jobs.extend(singles.collect::<Vec<_>>());
            }
            Size::Long => {
                jobs.extend((1..=points).map(|at| (nth, Job::Deaths(vec![at]))));
                let faults = Fault::ALL.into_iter().flat_map(|kind| (1..=effects).map(move |at| (at, kind)));
                jobs.extend(faults.map(|(at, kind)| (nth, Job::Fault(Some(at), kind))));
            }
        }
    }
    if size == Size::Long {
        for at in 0..PAIRS {
            let nth = at as usize % done.len();
            let points = done[nth].calm.points.reached;
            jobs.push((nth, Job::Deaths(vec![chance.up_to(points), chance.up_to(points)])));
        }
    }
    jobs.sort_by_key(|(nth, job)| {
        let weight = done[*nth].calm.points.reached;
        let weight = match job {
            Job::Relay => weight * 100,
            Job::Fault(None, _) => weight * 50,
            Job::Deaths(_) | Job::Fault(Some(_), _) => weight,
        };
        std::cmp::Reverse(weight)
    });
    jobs
}

/// The answers in the order of the jobs.
fn in_threads<J: Send, A: Send>(threads: usize, jobs: Vec<J>, work: impl Fn(J) -> A + Sync) -> Vec<A> {
    let queue: Mutex<VecDeque<(usize, J)>> = Mutex::new(jobs.into_iter().enumerate().collect());
    let answers = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let next = queue.lock().expect("nobody panics with it").pop_front();
                    let Some((nth, job)) = next else { return };
                    let answer = work(job);
                    answers.lock().expect("nobody panics with it").push((nth, answer));
                }
            });
        }
    });
    let mut answers = answers.into_inner().expect("all threads have ended");
    answers.sort_by_key(|(nth, _)| *nth);
    answers.into_iter().map(|(_, answer)| answer).collect()
}

/// Numbers that can be had again.
#[derive(Debug)]
pub(super) struct Chance(pub u64);

impl Chance {
    /// From 1 on.
    pub fn up_to(&mut self, most: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        u32::try_from(self.0 % u64::from(most.max(1))).unwrap_or(0) + 1
    }
}
