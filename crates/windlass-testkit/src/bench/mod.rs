//! Measurements by name. Each is a module with a `measure` that fills a sheet; `./bench` runs one.

pub mod agents;
mod cli;
pub mod error;
pub mod factory;
pub mod figures;
mod landing;
pub mod place;
mod plot;
pub mod proc;
mod proof;
pub mod queue;
pub mod readme;
pub mod sample;
mod sessions;
pub mod sheet;
mod spine;
pub mod stats;

use error::BenchError;
use place::Place;
use sheet::Sheet;

/// A benchmark that can be asked for.
pub struct Bench {
    pub name: &'static str,
    pub what: &'static str,
    pub measure: fn(&Place, &Wishes) -> Result<Sheet, BenchError>,
}

impl std::fmt::Debug for Bench {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Bench").field("name", &self.name).finish_non_exhaustive()
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Wishes {
    /// Also what takes minutes: a build from nothing.
    pub build: bool,
    /// How many seeds a simulation takes in all.
    pub seeds: Option<u64>,
}

pub const BENCHES: [Bench; 6] = [
    Bench {
        name: "spine",
        what: "one task from issue to main, many at once, phase signals, status, idling, size",
        measure: spine::measure,
    },
    Bench {
        name: "queue",
        what: "the merge queue's real plan in virtual time, every policy against the bound",
        measure: queue::measure,
    },
    Bench {
        name: "landing",
        what: "32 branches on real git: their chain, a landing, and recovery from SIGKILL at each of its points",
        measure: landing::measure,
    },
    Bench {
        name: "cli",
        what: "status, events and help with ten thousand tasks and a million events, beside `git log`",
        measure: cli::measure,
    },
    Bench {
        name: "sessions",
        what: "fifty live sessions: found again, missed when they die, idle; Claude Code resumed; a thousand identities",
        measure: sessions::measure,
    },
    Bench {
        name: "proof",
        what: "kills and faults at every point of every scenario, simulated days, models",
        measure: proof::measure,
    },
];

pub fn find(name: &str) -> Option<&'static Bench> {
    BENCHES.iter().find(|bench| bench.name == name)
}

/// What is going on, for whoever waits. Never on stdout, which belongs to the figures.
pub fn talk(text: &str) {
    eprintln!("bench: {text}");
}
