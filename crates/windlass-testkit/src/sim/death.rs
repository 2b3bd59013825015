//! How a simulated daemon dies: an unwinding that only the driver catches, at a point that the plan names.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use super::plan::{CrashPoint, Mishap};
use super::world::World;

/// What is thrown. No panic hook sees it.
#[derive(Debug)]
struct Death;

/// What came of a daemon's moment.
#[derive(Debug)]
pub enum Moment<T> {
    Lived(T),
    Died,
    /// A real panic, with what it said.
    Panicked(String),
}

pub fn die() -> ! {
    resume_unwind(Box::new(Death))
}

pub fn live<T>(moment: impl FnOnce() -> T) -> Moment<T> {
    match catch_unwind(AssertUnwindSafe(moment)) {
        Ok(value) => Moment::Lived(value),
        Err(payload) if payload.is::<Death>() => Moment::Died,
        Err(payload) => {
            let text = payload.downcast_ref::<String>().cloned();
            let text = text.or_else(|| payload.downcast_ref::<&str>().map(|text| (*text).to_owned()));
            Moment::Panicked(text.unwrap_or_else(|| "it panicked".into()))
        }
    }
}

impl World {
    /// Whether the plan has the daemon die here.
    pub fn dies(&mut self, here: CrashPoint) -> bool {
        self.mishap(|mishap| match mishap {
            Mishap::Crash(point) if *point == here => Some(()),
            _ => None,
        })
        .is_some()
    }
}
