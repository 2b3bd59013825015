//! When a program has to go: asked to, too late, or not leaving by itself.

use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::life::Life;
use super::protocol::{Exit, STOP};
use crate::process;

/// Sends the signals in their order and remembers why.
#[derive(Debug)]
pub(super) struct Stopper {
    file: PathBuf,
    wall: Option<Instant>,
    grace: Duration,
    term_at: Option<Instant>,
    kill_at: Option<Instant>,
    pub stopped: bool,
    pub timed_out: bool,
}

impl Stopper {
    pub fn new(life: &Life) -> Self {
        let launch = &life.launch;
        Self {
            file: life.folder.join(STOP),
            wall: launch.wall_limit_ms.map(|limit| Instant::now() + millis(limit)),
            grace: millis(launch.term_grace_ms),
            term_at: None,
            kill_at: None,
            stopped: false,
            timed_out: false,
        }
    }

    /// Nothing new may be started.
    pub fn is_over(&mut self) -> bool {
        self.look();
        self.stopped || self.timed_out
    }

    /// The program has been told to leave by itself and gets the same grace for that.
    pub fn expect_end(&mut self) {
        let at = Instant::now() + self.grace;
        self.term_at = Some(self.term_at.map_or(at, |earlier| earlier.min(at)));
    }

    /// When to look again at the latest.
    pub fn next(&self) -> Option<Instant> {
        match self.kill_at {
            Some(at) => Some(at),
            None => [self.wall, self.term_at].into_iter().flatten().min(),
        }
    }

    /// Sends what is due to the program's group.
    pub fn act(&mut self, leader: i32) -> io::Result<()> {
        self.look();
        let now = Instant::now();
        match self.kill_at {
            None if self.stopped || self.timed_out || self.term_at.is_some_and(|at| at <= now) => {
                process::kill_group(leader, Signal::TERM)?;
                self.kill_at = Some(now + self.grace);
            }
            Some(at) if at <= now => {
                process::kill_group(leader, Signal::KILL)?;
                // Should it be stuck in the kernel, we ask again now and then.
                self.kill_at = Some(now + Duration::from_secs(1));
            }
            None | Some(_) => {}
        }
        Ok(())
    }

    pub fn mark(&self, exit: Exit) -> Exit {
        Exit { stopped: self.stopped, timed_out: self.timed_out, ..exit }
    }

    fn look(&mut self) {
        if self.kill_at.is_none() {
            self.stopped |= self.file.exists();
            self.timed_out |= !self.stopped && self.wall.is_some_and(|at| at <= Instant::now());
        }
    }
}

pub(super) fn millis(ms: i64) -> Duration {
    Duration::from_millis(u64::try_from(ms).unwrap_or(0))
}
