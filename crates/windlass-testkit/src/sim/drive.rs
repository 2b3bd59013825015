//! Lives a plan: takes what happens next, gives it to the world or to a daemon's heart, until all has ended.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use windlass_engine::{Cause, Heart};
use windlass_store::{SqliteStore, Store};

use super::death::live;
use super::plan::{HOUR, MINUTE, Mishap, SECOND, Tick};
use super::rules::Rule;
use super::world::{DaemonId, DaemonState, Happening, Shared, World};

/// So long may everything take to end, once nothing goes wrong any more.
const LIVENESS: Tick = 30 * HOUR;
/// Turns that may follow from one moment; more is a heart that does not come to rest.
const MAX_TURNS: u32 = 200;

/// Far more than a run needs.
const MAX_HAPPENINGS: u32 = 20_000;

#[derive(Debug)]
pub struct Drive {
    pub world: Shared,
    pub store: Arc<SqliteStore>,
    pub(super) hearts: BTreeMap<DaemonId, Heart>,
    pub(super) started: DaemonId,
    /// Daemons that heard something and have not thought about it.
    pub(super) stirred: BTreeSet<DaemonId>,
    wakes: BTreeMap<DaemonId, u64>,
    next_look: Tick,
    /// Turns in a row that were over before they began.
    spins: u32,
}

impl Drive {
    pub fn new(world: World, store: SqliteStore) -> Self {
        Self {
            world: Shared::new(world),
            store: Arc::new(store),
            hearts: BTreeMap::new(),
            started: 0,
            stirred: BTreeSet::new(),
            wakes: BTreeMap::new(),
            next_look: 0,
            spins: 0,
        }
    }

    /// Until everything has ended, or a rule is broken.
    pub fn run(&mut self) {
        for _ in 0..MAX_HAPPENINGS {
            let next = self.world.lock().next();
            let Some(what) = next else {
                self.complain(Rule::Lives, "nothing happens any more");
                return;
            };
            self.happen(what);
            if self.is_over() {
                return;
            }
        }
        self.complain(Rule::Settles, "there is no end to what happens");
    }

    fn is_over(&mut self) -> bool {
        let mut world = self.world.lock();
        if !world.broken.is_empty() {
            return true;
        }
        if world.now < self.next_look || !self.stirred.is_empty() {
            return false;
        }
        self.next_look = world.now + 2 * MINUTE;
        let nothing_planned = world.nothing_planned();
        if !nothing_planned && !world.is_calm() {
            return false;
        }
        let open = world.open_ends(&self.store).unwrap_or_else(|error| vec![error.to_string()]);
        // A daemon that was replaced and has nothing to write learns of it when it writes.
        let served = self.hearts.contains_key(&self.started);
        if open.is_empty() && served && world.deeds == 0 && world.is_read() {
            return true;
        }
        if world.now > world.plan.calm + LIVENESS {
            world.complain(Rule::Ends, open.join("; "));
            return true;
        }
        false
    }

    /// A restart when there is nothing to do changes nothing. Mishaps that were never met are over by now.
    pub fn restart_quietly(&mut self) {
        let before = self.store.last_seq().unwrap_or_default();
        self.world.lock().mishaps_are_over = true;
        let daemons: Vec<DaemonId> = self.hearts.keys().copied().collect();
        for daemon in daemons {
            self.bury(daemon);
        }
        let until = self.world.lock().now + 6 * MINUTE;
        self.start();
        while self.world.lock().now < until {
            let next = self.world.lock().next();
            match next {
                Some(Happening::Start) => {}
                Some(what) => self.happen(what),
                None => break,
            }
        }
        let query = windlass_store::EventQuery { since: before, ..Default::default() };
        let news = self.store.events(&query).unwrap_or_default();
        let news = news.iter().filter(|event| event.entry.fact.kind() != "daemon_started");
        let news: Vec<String> = news.map(|event| format!("{:?}", event.entry.fact)).collect();
        if !news.is_empty() {
            self.complain(
                Rule::QuietRestart,
                format!("a restart with nothing to do wrote {}", news.join("; ")),
            );
        }
    }

    pub(super) fn complain(&self, rule: Rule, what: impl Into<String>) {
        self.world.lock().complain(rule, what);
    }

    fn happen(&mut self, what: Happening) {
        match what {
            Happening::Start => self.start(),
            Happening::Wake { daemon, serial } => {
                if self.wakes.get(&daemon) == Some(&serial) {
                    self.for_daemon(daemon, Happening::Wake { daemon, serial });
                }
            }
            Happening::Hear { daemon, .. }
            | Happening::Perform { daemon, .. }
            | Happening::Read { daemon, .. }
            | Happening::Link { daemon, .. } => self.for_daemon(daemon, what),
            Happening::Session { name, life, step } => self.world.lock().session_step(&name, life, step),
            Happening::Build { id, life, step } => self.world.lock().build_step(&id, life, step),
            Happening::Mishap(nth) => self.mishap(nth),
            Happening::Arrive(nth) => self.world.lock().arrive(nth),
            Happening::Deed(deed) => self.world.lock().deed(&self.store, &deed),
            Happening::GoOn(daemon) => self.go_on(daemon),
        }
        if !self.world.lock().more_now() {
            for daemon in std::mem::take(&mut self.stirred) {
                self.think(daemon);
            }
        }
    }

    /// Something for a daemon, if it lives and gets processor time.
    fn for_daemon(&mut self, daemon: DaemonId, what: Happening) {
        let state = self.world.lock().daemons.get(&daemon).copied();
        match (state, what) {
            (None, _) => {}
            (Some(DaemonState::Stopped), what) => self.world.lock().held.push(what),
            (Some(DaemonState::Running), what) => self.by_daemon(daemon, what),
        }
    }

    fn by_daemon(&mut self, daemon: DaemonId, what: Happening) {
        match what {
            Happening::Wake { .. } => drop(self.stirred.insert(daemon)),
            Happening::Hear { cause, .. } => self.hear(daemon, cause),
            Happening::Perform { nth, order, task, .. } => {
                self.perform(daemon, nth, &order, task.as_deref());
            }
            Happening::Read { nth, since, .. } => self.read(daemon, nth, since),
            Happening::Link { nth, question, .. } => self.link(daemon, nth, &question),
            Happening::Start
            | Happening::Session { .. }
            | Happening::Build { .. }
            | Happening::Mishap(_)
            | Happening::Arrive(_)
            | Happening::Deed(_)
            | Happening::GoOn(_) => {}
        }
    }

    fn hear(&mut self, daemon: DaemonId, cause: Cause) {
        let now = self.world.lock().wall();
        let Some(heart) = self.hearts.get_mut(&daemon) else { return };
        let heard = live(|| heart.hear(now, cause));
        if self.survived(daemon, heard).is_some() {
            self.stirred.insert(daemon);
        }
    }

    /// Thinks until there is nothing more to write, and says when to wake.
    fn think(&mut self, daemon: DaemonId) {
        let mut wrote = false;
        for _ in 0..MAX_TURNS {
            let now = self.world.lock().wall();
            let Some(heart) = self.hearts.get_mut(&daemon) else { return };
            let turn = live(|| heart.turn(now));
            let Some(turn) = self.survived(daemon, turn) else { return };
            let Some(heart) = self.hearts.get(&daemon) else { return };
            let mut world = self.world.lock();
            if turn.wrote {
                wrote = true;
                continue;
            }
            if wrote && let Err(error) = world.check_mind(&self.store, &heart.mind()) {
                world.complain(Rule::Remembered, error.to_string());
            }
            world.check_idle_slot();
            world.check_noticed();
            let serial = self.wakes.entry(daemon).or_default();
            *serial += 1;
            let (wait, serial) = (turn.wake.0 - world.wall().0, *serial);
            self.spins = if wait > 0 { 0 } else { self.spins + 1 };
            if self.spins > MAX_TURNS {
                world.complain(Rule::Settles, format!("daemon {daemon} wakes all the time for nothing"));
            }
            world.after(wait.max(1), Happening::Wake { daemon, serial });
            return;
        }
        self.complain(Rule::Settles, format!("daemon {daemon} does not come to rest"));
    }
}

impl World {
    /// Nothing comes by itself any more.
    fn nothing_planned(&self) -> bool {
        let issues = self.plan.issues.iter().all(|issue| issue.at <= self.now);
        let came = |(nth, mishap): (usize, &Mishap)| mishap.at().is_none() || self.used.contains(&nth);
        issues && self.plan.mishaps.iter().enumerate().all(came)
    }

    /// The forge was read since it last changed.
    fn is_read(&self) -> bool {
        self.read_at > self.forge.changed_at && self.now > self.read_at + SECOND
    }
}
