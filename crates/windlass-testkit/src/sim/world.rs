//! The world outside the heart: its clock, what is going to happen in it, and everything that is in it.

use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use windlass_core::id::{BuildId, IssueNumber, SessionId, Sha, TaskId};
use windlass_core::task::Task;
use windlass_core::time::Millis;
use windlass_engine::{Cause, Order, Question, Settings};

use super::ci::{BuildStep, CiRun};
use super::forge::{Forge, Moment};
use super::git::{Git, MAIN, Tree};
use super::plan::{CrashPoint, Deed, Mishap, NoticeFault, Plan, Tick};
use super::probe::Probes;
use super::rules::{Broken, Rule, Seen};
use super::session::{Session, SessionStep};
use super::talks::Talks;
use super::trace::Trace;
use crate::queue_sim::dice::{Dice, mix};

/// The machine's clock at the world's beginning.
const BEGINNING: i64 = 1_800_000_000_000;

/// A daemon, by the order in which they were started.
pub type DaemonId = u32;

#[derive(Debug)]
pub struct World {
    pub plan: Arc<Plan>,
    pub settings: Settings,
    pub now: Tick,
    /// How far the machine's clock is off the world's time.
    pub skew: Tick,
    coming: BinaryHeap<Reverse<Coming>>,
    serial: u64,
    /// What people are going to do.
    pub deeds: u32,
    pub git: Git,
    pub forge: Forge,
    pub workspaces: BTreeMap<TaskId, Workspace>,
    pub sessions: BTreeMap<SessionId, Session>,
    pub talks: Talks,
    pub runs: BTreeMap<BuildId, CiRun>,
    pub daemons: BTreeMap<DaemonId, DaemonState>,
    /// What was to happen to daemons that are stopped in their tracks.
    pub held: Vec<Happening>,
    pub counts: Counts,
    /// Before their time: all is done, and those that were never met come no more.
    pub mishaps_are_over: bool,
    /// So often the store still has to be waited for until the disk is free.
    pub disk_full: Option<u32>,
    pub outage_until: Tick,
    /// A reading of the forge hangs until then.
    pub hangs_until: Tick,
    /// When a daemon last read the forge.
    pub read_at: Tick,
    /// Steps that the effect under way may still take before the daemon dies in it.
    pub cut: Option<u32>,
    pub answers: BTreeMap<IssueNumber, u32>,
    pub used: BTreeSet<usize>,
    pub seen: Seen,
    pub probes: Probes,
    pub trace: Trace,
    pub broken: Vec<Broken>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DaemonState {
    Running,
    /// It gets no processor time, and neither do its threads.
    Stopped,
}

/// A task's clone.
#[derive(Debug, Clone)]
pub struct Workspace {
    pub head: Sha,
    /// Files that nobody committed.
    pub dirty: bool,
}

/// What was counted so far; mishaps name things by these numbers.
#[derive(Debug, Default, Clone)]
pub struct Counts {
    pub commits: u32,
    pub effects: u32,
    pub reads: u32,
    pub links: u32,
    pub notices: u32,
    pub builds: u32,
    pub turns: BTreeMap<IssueNumber, u32>,
    pub reviews: BTreeMap<IssueNumber, u32>,
}

/// Something that is going to happen.
#[derive(Debug)]
pub enum Happening {
    Start,
    Wake { daemon: DaemonId, serial: u64 },
    Hear { daemon: DaemonId, cause: Cause },
    Perform { daemon: DaemonId, nth: u32, order: Box<Order>, task: Option<Box<Task>> },
    Read { daemon: DaemonId, nth: u32, since: Option<Millis> },
    Link { daemon: DaemonId, nth: u32, question: Question },
    Session { name: SessionId, life: u32, step: SessionStep },
    Build { id: BuildId, life: u32, step: BuildStep },
    Mishap(usize),
    Arrive(usize),
    Deed(Deed),
    GoOn(DaemonId),
}

#[derive(Debug)]
struct Coming {
    at: Tick,
    serial: u64,
    what: Happening,
}

impl PartialEq for Coming {
    fn eq(&self, other: &Self) -> bool {
        (self.at, self.serial) == (other.at, other.serial)
    }
}

impl Eq for Coming {}

impl PartialOrd for Coming {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Coming {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.at, self.serial).cmp(&(other.at, other.serial))
    }
}

impl World {
    pub fn new(plan: Arc<Plan>, settings: Settings, trace: Trace) -> Self {
        let mut git = Git::default();
        let tree = git.put_tree(Tree::from([("readme".to_owned(), "hello".to_owned())]));
        let root = git.commit(&tree, &[], "root", 0);
        git.refs.insert(MAIN.to_owned(), root.clone());
        let mut world = Self {
            seen: Seen::new(&plan, root),
            plan,
            settings,
            now: 0,
            skew: 0,
            coming: BinaryHeap::new(),
            serial: 0,
            deeds: 0,
            git,
            forge: Forge::default(),
            workspaces: BTreeMap::new(),
            sessions: BTreeMap::new(),
            talks: Talks::default(),
            runs: BTreeMap::new(),
            daemons: BTreeMap::new(),
            held: Vec::new(),
            counts: Counts::default(),
            mishaps_are_over: false,
            disk_full: None,
            outage_until: 0,
            hangs_until: 0,
            read_at: 0,
            cut: None,
            answers: BTreeMap::new(),
            used: BTreeSet::new(),
            probes: Probes::default(),
            trace,
            broken: Vec::new(),
        };
        world.schedule_all();
        world
    }

    fn schedule_all(&mut self) {
        let plan = Arc::clone(&self.plan);
        self.after(0, Happening::Start);
        for (nth, issue) in plan.issues.iter().enumerate() {
            self.at(issue.at, Happening::Arrive(nth));
        }
        for (nth, mishap) in plan.mishaps.iter().enumerate() {
            if let Some(at) = mishap.at() {
                self.at(at, Happening::Mishap(nth));
            }
        }
    }

    pub fn wall(&self) -> Millis {
        Millis(BEGINNING + self.now + self.skew)
    }

    pub fn moment(&self) -> Moment {
        Moment { tick: self.now, wall: self.wall() }
    }

    pub fn is_calm(&self) -> bool {
        self.mishaps_are_over || self.now >= self.plan.calm
    }

    pub fn at(&mut self, at: Tick, what: Happening) {
        self.deeds += u32::from(matches!(what, Happening::Deed(_)));
        self.serial += 1;
        self.coming.push(Reverse(Coming { at: at.max(self.now), serial: self.serial, what }));
    }

    pub fn after(&mut self, wait: Tick, what: Happening) {
        self.at(self.now + wait.max(0), what);
    }

    /// The next thing to happen; the world's time is then its time.
    pub fn next(&mut self) -> Option<Happening> {
        let Reverse(coming) = self.coming.pop()?;
        self.now = self.now.max(coming.at);
        self.deeds -= u32::from(matches!(coming.what, Happening::Deed(_)));
        Some(coming.what)
    }

    /// Whether something else happens at this very moment.
    pub fn more_now(&self) -> bool {
        self.coming.peek().is_some_and(|Reverse(coming)| coming.at <= self.now)
    }

    /// Chance that depends on what it is for, and on nothing that happened before.
    pub fn dice(&self, what: &str, nth: u64) -> Dice {
        let mut key = mix(self.plan.seed ^ 0x51_7e);
        for byte in what.bytes() {
            key = key.wrapping_mul(0x0100_0000_01b3) ^ u64::from(byte);
        }
        Dice::new(mix(key) ^ mix(nth.wrapping_add(77)))
    }

    pub fn between(&self, what: &str, nth: u64, least: Tick, most: Tick) -> Tick {
        let width = u64::try_from(most - least).unwrap_or(0) + 1;
        least + i64::try_from(self.dice(what, nth).below(width)).unwrap_or(0)
    }

    /// Takes the mishap that was planned for this, if there is one and its time is not over.
    pub fn mishap<T>(&mut self, test: impl Fn(&Mishap) -> Option<T>) -> Option<T> {
        if self.is_calm() {
            return None;
        }
        let plan = Arc::clone(&self.plan);
        let mut all = plan.mishaps.iter().enumerate().filter(|(nth, _)| !self.used.contains(nth));
        let (nth, found) = all.find_map(|(nth, mishap)| test(mishap).map(|found| (nth, found)))?;
        self.used.insert(nth);
        self.trace.note(self.now, || format!("mishap: {:?}", plan.mishaps[nth]));
        Some(found)
    }

    pub fn lost_a_notice(&self) -> bool {
        let lost =
            |nth: &usize| matches!(self.plan.mishaps[*nth], Mishap::Notice { how: NoticeFault::Lost, .. });
        self.used.iter().any(lost)
    }

    pub fn note(&mut self, line: impl FnOnce() -> String) {
        self.trace.note(self.now, line);
    }

    pub fn complain(&mut self, rule: Rule, what: impl Into<String>) {
        let what = what.into();
        self.trace.note(self.now, || format!("BROKEN {rule:?}: {what}"));
        self.broken.push(Broken { rule, at: self.now, what });
    }

    /// Tells whoever watches, unless the notice gets lost.
    pub fn tell(&mut self, daemon: DaemonId, wait: Tick, cause: impl Fn() -> Cause) {
        self.counts.notices += 1;
        let nth = self.counts.notices;
        let fault = self.mishap(|mishap| match mishap {
            Mishap::Notice { nth: planned, how } if *planned == nth => Some(*how),
            _ => None,
        });
        let hear = |cause| Happening::Hear { daemon, cause };
        match fault {
            None => self.after(wait, hear(cause())),
            Some(NoticeFault::Lost) => {}
            Some(NoticeFault::Twice) => {
                self.after(wait, hear(cause()));
                self.after(wait + 700, hear(cause()));
            }
            Some(NoticeFault::Late(by)) => self.after(wait + by, hear(cause())),
        }
    }
}

impl Mishap {
    /// When it happens by itself.
    pub fn at(&self) -> Option<Tick> {
        match self {
            Self::Second { at }
            | Self::TakeOver { at, .. }
            | Self::DiskFull { at, .. }
            | Self::Clock { at, .. }
            | Self::Outage { at, .. }
            | Self::Deed { at, .. }
            | Self::Crash(CrashPoint::At(at)) => Some(*at),
            Self::Crash(_)
            | Self::Effect { .. }
            | Self::Read { .. }
            | Self::Link { .. }
            | Self::Notice { .. }
            | Self::Turn { .. }
            | Self::Review { .. }
            | Self::Build { .. }
            | Self::Forgotten { .. }
            | Self::Silence { .. } => None,
        }
    }
}

/// The world as the heart's store and its outside hold it.
#[derive(Debug, Clone)]
pub struct Shared(Arc<Mutex<World>>);

impl Shared {
    pub fn new(world: World) -> Self {
        Self(Arc::new(Mutex::new(world)))
    }

    /// A daemon that dies leaves the lock poisoned; the world goes on.
    pub fn lock(&self) -> MutexGuard<'_, World> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
