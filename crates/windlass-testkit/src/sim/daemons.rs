//! Daemons of a simulated run: started, killed, stopped in their tracks, replaced.

use std::sync::Arc;

use windlass_engine::{Heart, Layout};
use windlass_store::{Store, StoreError};

use super::death::{Moment, live};
use super::drive::Drive;
use super::ledger::Ledger;
use super::outside::Window;
use super::plan::{MINUTE, SECOND};
use super::probe::sometimes;
use super::rules::Rule;
use super::world::{DaemonId, DaemonState, Happening, World};

impl Drive {
    /// What a daemon's moment gave, or its end.
    pub(super) fn survived<T>(
        &mut self,
        daemon: DaemonId,
        moment: Moment<Result<T, StoreError>>,
    ) -> Option<T> {
        match moment {
            Moment::Lived(Ok(value)) => return Some(value),
            Moment::Lived(Err(StoreError::Fenced { ours, found })) => {
                let mut world = self.world.lock();
                if ours == world.seen.epoch {
                    world.complain(Rule::Lives, format!("daemon {daemon} was fenced by {found}"));
                }
                sometimes!(world, "a fenced daemon ended");
            }
            Moment::Lived(Err(error)) => {
                self.complain(Rule::Lives, format!("daemon {daemon} ended: {error}"));
            }
            Moment::Panicked(text) => self.complain(Rule::Lives, format!("daemon {daemon} panicked: {text}")),
            Moment::Died => {}
        }
        self.bury(daemon);
        None
    }

    /// The daemon is gone with its threads. Somebody starts another.
    pub(super) fn bury(&mut self, daemon: DaemonId) {
        self.hearts.remove(&daemon);
        self.stirred.remove(&daemon);
        let mut world = self.world.lock();
        world.note(|| format!("daemon {daemon} is gone"));
        world.daemons.remove(&daemon);
        world.held.retain(|what| what.daemon() != Some(daemon));
        world.daemon_changed();
        if daemon == self.started {
            let wait = world.between("restart", u64::from(daemon), SECOND, 6 * MINUTE);
            world.after(wait, Happening::Start);
        }
    }

    pub(super) fn start(&mut self) {
        if self.hearts.contains_key(&self.started) && !self.world.lock().taken_over() {
            return;
        }
        let (id, now) = (self.started + 1, self.world.lock().wall());
        let store = match self.store.next_daemon(&format!("daemon {id}"), now) {
            Ok(store) => store,
            Err(_) => return self.world.lock().after(30 * SECOND, Happening::Start),
        };
        self.started = id;
        let settings = {
            let mut world = self.world.lock();
            world.note(|| format!("daemon {id} starts"));
            // What the one before has read it may not have written down.
            world.read_at = 0;
            world.seen.epoch = store.epoch().unwrap_or_default();
            world.daemons.insert(id, DaemonState::Running);
            world.daemon_changed();
            world.settings.clone()
        };
        let ledger = Ledger { store, world: self.world.clone(), daemon: id };
        let window = Window { world: self.world.clone(), store: Arc::clone(&self.store), daemon: id };
        let heart = live(|| {
            let layout = Layout::new("state");
            let mut heart = Heart::remember(settings, layout, Arc::new(ledger), Box::new(window), now)?;
            heart.begin(now, id)?;
            Ok(heart)
        });
        if let Some(heart) = self.survived(id, heart) {
            self.hearts.insert(id, heart);
            self.stirred.insert(id);
        }
    }

    /// A second daemon is started by mistake.
    pub(super) fn start_second(&mut self) {
        // A daemon that lost its lock cannot keep others out.
        if !self.hearts.contains_key(&self.started) || self.world.lock().taken_over() {
            return;
        }
        let now = self.world.lock().wall();
        match self.store.next_daemon("second", now) {
            Err(StoreError::HeldBy { .. }) => sometimes!(self.world.lock(), "a second daemon was refused"),
            Err(_) => {}
            Ok(_) => self.complain(Rule::Lease, "a second daemon was let in while the first lives"),
        }
    }

    /// A daemon that was stopped in its tracks goes on, and so do its threads.
    pub(super) fn go_on(&mut self, daemon: DaemonId) {
        let mut world = self.world.lock();
        let Some(state) = world.daemons.get_mut(&daemon) else { return };
        *state = DaemonState::Running;
        for what in std::mem::take(&mut world.held) {
            world.after(1, what);
        }
    }
}

impl World {
    /// The daemon that lives has lost its lock and cannot keep others out.
    pub fn taken_over(&self) -> bool {
        self.daemons.values().all(|state| *state == DaemonState::Stopped)
    }
}

impl Happening {
    pub fn daemon(&self) -> Option<DaemonId> {
        match self {
            Self::Wake { daemon, .. }
            | Self::Hear { daemon, .. }
            | Self::Perform { daemon, .. }
            | Self::Read { daemon, .. }
            | Self::Link { daemon, .. }
            | Self::GoOn(daemon) => Some(*daemon),
            Self::Start
            | Self::Session { .. }
            | Self::Build { .. }
            | Self::Mishap(_)
            | Self::Arrive(_)
            | Self::Deed(_) => None,
        }
    }
}
