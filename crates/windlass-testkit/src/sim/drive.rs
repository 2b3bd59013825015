//! Lives a plan: takes what happens next, gives it to the world or to a daemon's heart, until all has ended.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use windlass_core::task::Effect;
use windlass_engine::{Cause, Heart, Layout, Outcome, Seen};
use windlass_store::{SqliteStore, Store, StoreError};

use super::death::{Moment, live};
use super::ledger::Ledger;
use super::outside::Window;
use super::perform::Hands;
use super::plan::{CrashPoint, EffectFault, HOUR, LinkFault, MINUTE, Mishap, ReadFault, SECOND, Tick};
use super::probe::sometimes;
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
    hearts: BTreeMap<DaemonId, Heart>,
    started: DaemonId,
    /// Daemons that heard something and have not thought about it.
    stirred: BTreeSet<DaemonId>,
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

    /// A restart when there is nothing to do changes nothing.
    pub fn restart_quietly(&mut self) {
        let before = self.store.last_seq().unwrap_or_default();
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

    fn complain(&self, rule: Rule, what: impl Into<String>) {
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
            Happening::Read { nth, since, .. } => {
                let mut world = self.world.lock();
                let cause = Cause::IssuesSeen(world.read(nth, since));
                world.after(1, Happening::Hear { daemon, cause });
            }
            Happening::Link { nth, question, .. } => {
                let mut world = self.world.lock();
                let fails = world.mishap(|mishap| match mishap {
                    Mishap::Link { nth: planned, how: LinkFault::Failed } if *planned == nth => Some(()),
                    _ => None,
                });
                let answer = match fails {
                    Some(()) => Err("git was killed".to_owned()),
                    None => Ok(world.link(&question)),
                };
                world.note(|| {
                    format!(
                        "git is asked {:?} and says {answer:?}",
                        question.wanted.iter().map(|wanted| wanted.verdict).collect::<Vec<_>>()
                    )
                });
                world.after(1, Happening::Hear { daemon, cause: Cause::ChainBuilt(answer) });
            }
            Happening::Start
            | Happening::Session { .. }
            | Happening::Build { .. }
            | Happening::Mishap(_)
            | Happening::Arrive(_)
            | Happening::Deed(_)
            | Happening::GoOn(_) => {}
        }
    }

    fn perform(
        &mut self,
        daemon: DaemonId,
        nth: u32,
        order: &windlass_engine::Order,
        task: Option<&windlass_core::task::Task>,
    ) {
        let mut world = self.world.lock();
        world.note(|| format!("daemon {daemon} does {nth}: {} {}", order.key, order.effect.name()));
        world.cut = world.mishap(|mishap| match mishap {
            Mishap::Crash(CrashPoint::InEffect { nth: planned, step }) if *planned == nth => Some(*step),
            _ => None,
        });
        let fault = world.mishap(|mishap| match mishap {
            Mishap::Effect { nth: planned, how } if *planned == nth => Some(*how),
            _ => None,
        });
        let later = |error: &str| Some(Outcome::Later { error: error.to_owned() });
        let outcome = match fault {
            Some(EffectFault::Failed) => later("it could not be reached"),
            // A process that nobody can end is not in this world.
            Some(EffectFault::Refused) if matches!(order.effect, Effect::StopSession { .. }) => {
                later("it could not be reached")
            }
            Some(EffectFault::Refused) => Some(Outcome::GiveUp { error: "it is forbidden".into() }),
            Some(EffectFault::AnswerLost) => {
                let hands = Hands { daemon, store: &self.store };
                sometimes!(world, "an answer was lost and nothing was done twice");
                world.perform(hands, order, task).and_then(|_| later("the answer was lost"))
            }
            Some(EffectFault::Hangs(_)) | None => {
                world.perform(Hands { daemon, store: &self.store }, order, task)
            }
        };
        let cut = world.cut.take().is_some();
        let died = outcome.is_none() || cut || world.dies(CrashPoint::AfterEffect(nth));
        match outcome {
            Some(outcome) if !died => {
                let wait = world.between(order.key.as_str(), 7, 1, 40);
                let cause = Cause::EffectEnded { key: order.key.clone(), outcome };
                world.after(wait, Happening::Hear { daemon, cause });
            }
            Some(_) | None => {
                drop(world);
                self.bury(daemon);
            }
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
        for _ in 0..MAX_TURNS {
            let now = self.world.lock().wall();
            let Some(heart) = self.hearts.get_mut(&daemon) else { return };
            let turn = live(|| heart.turn(now));
            let Some(turn) = self.survived(daemon, turn) else { return };
            let Some(heart) = self.hearts.get(&daemon) else { return };
            let mut world = self.world.lock();
            if turn.wrote {
                if let Err(error) = world.check_mind(&self.store, &heart.mind()) {
                    world.complain(Rule::Remembered, error.to_string());
                }
                continue;
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

    /// What a daemon's moment gave, or its end.
    fn survived<T>(&mut self, daemon: DaemonId, moment: Moment<Result<T, StoreError>>) -> Option<T> {
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
    fn bury(&mut self, daemon: DaemonId) {
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

    fn start(&mut self) {
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
            heart.begin(now, id);
            Ok(heart)
        });
        if let Some(heart) = self.survived(id, heart) {
            self.hearts.insert(id, heart);
            self.stirred.insert(id);
        }
    }

    /// A second daemon is started by mistake.
    fn start_second(&mut self) {
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

    fn mishap(&mut self, nth: usize) {
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
            | Mishap::Silence { .. } => {}
        }
    }

    /// A daemon that was stopped in its tracks goes on, and so do its threads.
    fn go_on(&mut self, daemon: DaemonId) {
        let mut world = self.world.lock();
        let Some(state) = world.daemons.get_mut(&daemon) else { return };
        *state = DaemonState::Running;
        for what in std::mem::take(&mut world.held) {
            world.after(1, what);
        }
    }
}

impl World {
    fn read(&mut self, nth: u32, since: Option<windlass_core::time::Millis>) -> Result<Seen, String> {
        let fault = self.mishap(|mishap| match mishap {
            Mishap::Read { nth: planned, how } if *planned == nth => Some(*how),
            _ => None,
        });
        let down = self.now < self.outage_until && !self.is_calm();
        match fault {
            Some(ReadFault::Failed) => return Err("the forge answered 502".into()),
            _ if down => return Err("the forge answered 503".into()),
            Some(ReadFault::Stale(by)) => {
                return Ok(Seen { issues: self.forge.read(since, self.now - by) });
            }
            Some(ReadFault::Hangs(_)) | None => {}
        }
        self.read_at = self.now;
        Ok(Seen { issues: self.forge.read(since, self.now) })
    }

    fn nothing_planned(&self) -> bool {
        let issues = self.plan.issues.iter().all(|issue| issue.at <= self.now);
        issues && (0..self.plan.mishaps.len()).all(|nth| self.used.contains(&nth))
    }

    /// The forge was read since it last changed.
    fn is_read(&self) -> bool {
        self.read_at > self.forge.changed_at && self.now > self.read_at + SECOND
    }

    fn taken_over(&self) -> bool {
        self.daemons.values().all(|state| *state == DaemonState::Stopped)
    }
}

impl Happening {
    fn daemon(&self) -> Option<DaemonId> {
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
