//! Has the house jobs done when they are due, by a process of their own: no job can hold the factory up.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use windlass_adapters::process;
use windlass_core::time::Millis;
use windlass_engine::Layout;

use crate::config::Schedule;
use crate::error::CliError;
use crate::house::{self, Job, Ledger};
use crate::leftovers;
use crate::project::{self, Project};

/// A clock may jump, and somebody else may have done a job: the times are worked out anew this often.
const STANDS: Duration = Duration::from_secs(60);
/// At most one start in this time, whatever comes of it.
const LEAST: Duration = Duration::from_secs(5);
/// Far above what all jobs take together; one that hangs must not keep all others from their turn for ever.
const LONGEST: Duration = Duration::from_secs(3 * 3_600);

#[derive(Debug)]
pub struct House {
    root: PathBuf,
    layout: Layout,
    /// What our own command line sets.
    flags: Vec<String>,
    patience: Duration,
    started: Option<Instant>,
    worker: Option<Child>,
    next: Option<Next>,
}

#[derive(Debug, Clone, Copy)]
struct Next {
    at: Option<Millis>,
    known: Instant,
}

impl House {
    pub fn of(project: &Project) -> Self {
        Self {
            root: project.root.clone(),
            layout: project.layout.clone(),
            flags: project.sources.flags.clone(),
            patience: LONGEST,
            started: None,
            worker: None,
            next: None,
        }
    }

    /// The schedule has changed.
    pub fn forget(&mut self) {
        self.next = None;
    }

    /// One look at the clock.
    pub fn look(&mut self, schedule: &Schedule) {
        if self.is_at_work() {
            return;
        }
        let stands = self.next.filter(|next| next.known.elapsed() < STANDS);
        let next = match stands.map_or_else(|| self.next(schedule), Ok) {
            Ok(next) => next,
            Err(error) => {
                tracing::warn!(error = error.sentence(), "cannot tell when the next job of the house is due");
                Next { at: None, known: Instant::now() }
            }
        };
        self.next = Some(next);
        let rests = self.started.is_some_and(|at| at.elapsed() < LEAST);
        if !rests && next.at.is_some_and(|at| at <= windlass_engine::now()) {
            self.next = None;
            self.started = Some(Instant::now());
            match self.start() {
                Ok(worker) => self.worker = Some(worker),
                Err(error) => tracing::warn!(error = error.sentence(), "cannot start the jobs of the house"),
            }
        }
    }

    fn next(&self, schedule: &Schedule) -> Result<Next, CliError> {
        let now = windlass_engine::now();
        house::wait_from(&self.layout, now)?;
        let mut times = Vec::new();
        for job in Job::ALL {
            let known = Ledger::of(&self.layout, job).read()?;
            times.extend(job.next(schedule, known.as_ref(), now));
        }
        Ok(Next { at: times.into_iter().min(), known: Instant::now() })
    }

    fn is_at_work(&mut self) -> bool {
        match self.worker.as_mut().map(Child::try_wait) {
            None => false,
            Some(Ok(None)) if self.started.is_some_and(|at| at.elapsed() >= self.patience) => {
                self.give_up();
                false
            }
            Some(Ok(None)) => true,
            Some(Ok(Some(_)) | Err(_)) => {
                self.worker = None;
                false
            }
        }
    }

    /// Ends a worker that hangs; the job that it hangs in has failed.
    fn give_up(&mut self) {
        let mut hung = Vec::new();
        for job in Job::ALL {
            if Ledger::of(&self.layout, job).is_held() {
                hung.push(job);
            }
        }
        self.end();
        let says = format!("it had not ended after {} minutes", self.patience.as_secs() / 60);
        tracing::warn!(jobs = ?hung, "the jobs of the house were ended: {says}");
        for job in hung {
            if let Err(error) = house::note_failure(&self.layout, job, &says, self.patience) {
                tracing::warn!(error = error.sentence(), "cannot write down that a job hung");
            }
        }
    }

    fn start(&self) -> Result<Child, CliError> {
        let mut command = Command::new(project::own_program()?);
        command.arg("-C").arg(&self.root).arg("--state").arg(self.layout.state());
        command.args(self.flags.iter().flat_map(|flag| ["--set", flag]));
        command.args(["schedule", "run", "--due"]).stdin(Stdio::null());
        // It removes files: whoever takes the factory down must find it, and it does not outlive a daemon that is killed.
        command.env(leftovers::HOUSE, self.layout.state());
        process::die_with_parent(&mut command);
        command.spawn().map_err(|source| CliError::io("start", &self.root, source))
    }

    pub fn end(&mut self) {
        if let Some(mut worker) = self.worker.take() {
            // What it was doing is done by the next one; the copy of a database appears whole or not at all.
            if let Err(error) = worker.kill().and_then(|()| worker.wait()) {
                tracing::warn!(%error, "a job of the house was not ended");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_that_hangs_is_ended_and_its_job_has_failed() {
        let state = tempfile::tempdir().unwrap();
        let layout = Layout::new(state.path());
        house::wait_from(&layout, windlass_engine::now()).unwrap();
        // As the worker holds it.
        let held = Ledger::of(&layout, Job::Backup).hold().unwrap();
        let worker = Command::new("sleep").arg("600").spawn().unwrap();
        let mut house = House {
            root: state.path().to_owned(),
            layout: layout.clone(),
            flags: Vec::new(),
            patience: LONGEST,
            started: Some(Instant::now()),
            worker: Some(worker),
            next: None,
        };
        assert!(house.is_at_work(), "it has time");
        house.patience = Duration::ZERO;
        assert!(!house.is_at_work() && house.worker.is_none());
        drop(held);
        let last = |job| Ledger::of(&layout, job).read().unwrap().unwrap().last;
        let failed = last(Job::Backup).expect("it is written down");
        assert!(failed.failed && failed.says.contains("had not ended"), "{failed:?}");
        assert_eq!(last(Job::Gc), None, "this one was not at work");
    }
}
