//! Mishaps that come at their time, whatever the daemon does then.

use super::drive::Drive;
use super::plan::{Mishap, SECOND};
use super::probe::sometimes;
use super::world::{DaemonState, Happening};

impl Drive {
    pub(super) fn mishap(&mut self, nth: usize) {
        let mut world = self.world.lock();
        if world.is_calm() || !world.used.insert(nth) {
            return;
        }
        let mishap = world.plan.mishaps[nth].clone();
        world.note(|| format!("mishap: {mishap:?}"));
        match mishap {
            Mishap::Crash(_) => {
                drop(world);
                let first = self.hearts.keys().next().copied();
                if let Some(daemon) = first {
                    self.bury(daemon);
                }
            }
            Mishap::Second { .. } => {
                drop(world);
                self.start_second();
            }
            Mishap::TakeOver { back, .. } => {
                let Some(daemon) = self.hearts.keys().next().copied().filter(|_| self.hearts.len() == 1)
                else {
                    return;
                };
                world.daemons.insert(daemon, DaemonState::Stopped);
                world.after(back, Happening::GoOn(daemon));
                world.after(SECOND, Happening::Start);
                self.store.lose_lock().expect("the store is in memory");
            }
            Mishap::DiskFull { pages, waits, .. } => {
                world.disk_full = Some(waits);
                self.store.limit_pages(Some(pages)).expect("the store is in memory");
            }
            Mishap::Clock { by, .. } => {
                world.skew += by;
                if by < 0 {
                    sometimes!(world, "the clock went back");
                } else {
                    sometimes!(world, "the machine slept");
                }
            }
            Mishap::Outage { length, .. } => world.outage_until = world.now + length,
            Mishap::Deed { what, .. } => world.deed(&self.store, &what),
            Mishap::Effect { .. }
            | Mishap::Read { .. }
            | Mishap::Link { .. }
            | Mishap::Notice { .. }
            | Mishap::Turn { .. }
            | Mishap::Review { .. }
            | Mishap::Build { .. }
            | Mishap::Forgotten { .. }
            | Mishap::Silence { .. } => {}
        }
    }
}
