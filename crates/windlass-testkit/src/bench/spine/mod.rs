//! `spine`: what the factory itself costs, from issue to main, with agents and CI that do nothing.

mod floor;
mod idle;
mod many;
mod one;
pub mod phases;
mod size;
pub mod stored;

use super::error::BenchError;
use super::place::Place;
use super::sheet::Sheet;
use super::stats::count;
use super::{Wishes, proc, talk};

/// Files in the repository whose tasks are measured.
const REPO_FILES: usize = 2_000;

/// In the order in which the parts disturb each other least: a part that makes and removes many files needs a disk
/// on which nobody has just done that, so a minute of idling lies between the two of them.
pub fn measure(place: &Place, wishes: &Wishes) -> Result<Sheet, BenchError> {
    let mut machine = Sheet::new("spine");
    let cores = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
    machine.figure("cores", count(cores), "of this machine");
    machine.figure("load_before", proc::load()?, "processes of others that wanted to run when we began");
    talk("one task at a time, beside the bare git commands");
    let mut sheet = one::measure(place)?;
    talk("phase signals");
    let phases = phases::measure(place)?;
    talk("status with ten thousand tasks");
    let stored = stored::measure(place)?;
    talk("two hundred tasks that wait for a person; takes two minutes");
    let idle = idle::measure(place)?;
    talk("many tasks at once");
    let many = many::measure(place)?;
    let size = size::measure(place, wishes)?;
    for part in [many, phases, stored, idle, size, machine] {
        sheet.append(part);
    }
    Ok(sheet)
}
