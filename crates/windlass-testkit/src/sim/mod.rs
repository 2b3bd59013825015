//! The deterministic simulator: the real heart, core, queue and store in a world made of a seed, in virtual time.
//!
//! `make` turns a seed into a `plan`, `drive` lives it, `rules` say what must hold, `shrink` finds the part of a plan
//! that breaks a rule. Nothing here reads a clock, a disk or the environment.

mod agent;
mod ci;
mod critic;
mod daemons;
mod death;
mod drive;
mod effects;
mod forge;
mod gate;
mod git;
mod ledger;
mod link;
mod make;
mod mishaps;
mod outside;
mod pairs;
mod people;
mod perform;
mod plan;
mod probe;
mod rules;
mod session;
mod shrink;
mod talks;
mod trace;
mod world;

pub use gate::{Gate, Summary, Times, gate};
pub use make::plan;
pub use pairs::{Depth, Swept, sweep};
pub use plan::{
    BuildKind, CrashPoint, Deed, EffectFault, IssuePlan, LinkFault, MINUTE, Mishap, NoticeFault, Plan,
    PushKind, ReadFault, TurnKind,
};
pub use probe::{ALL as PROBES, Probes};
pub use rules::{Broken, Rule};
pub use shrink::shrink;
pub use trace::Lines;
pub use windlass_core::bugs::Bug;

use std::collections::BTreeMap;
use std::sync::Arc;

use windlass_adapters::process::GroupLimits;
use windlass_core::bugs;
use windlass_core::policy::{Limits, Policy};
use windlass_core::time::Span;
use windlass_engine::{AgentKind, AgentSettings, CiSettings, Guards, Settings};
use windlass_store::SqliteStore;

use drive::Drive;
use trace::Trace;
use world::World;

/// What a run came to.
#[derive(Debug)]
pub struct Run {
    pub broken: Option<Broken>,
    /// Of every committed write and outward act, in order.
    pub hash: u64,
    pub probes: Probes,
    pub commits: u32,
    pub effects: u32,
    pub daemons: u32,
    /// The world's time at the end, in milliseconds.
    pub length: i64,
    pub lines: Vec<String>,
}

/// An empty database whose copies are cheap; one per thread.
#[derive(Debug)]
pub struct Template(SqliteStore);

impl Template {
    pub fn new() -> Self {
        Self(SqliteStore::open_in_memory().expect("memory can be had"))
    }
}

impl Default for Template {
    fn default() -> Self {
        Self::new()
    }
}

/// Lives one plan with a deliberate bug, or without.
pub fn run_with(bug: Option<Bug>, template: &Template, plan: Plan, lines: Lines) -> Run {
    bugs::with(bug, || run(template, plan, lines))
}

/// Lives one plan.
pub fn run(template: &Template, plan: Plan, lines: Lines) -> Run {
    let store = template.0.copy_in_memory().expect("memory can be had");
    store.lose_lock().expect("it is in memory");
    let plan = Arc::new(plan);
    let world = World::new(Arc::clone(&plan), settings(&plan), Trace::new(lines));
    let mut drive = Drive::new(world, store);
    drive.run();
    if drive.world.lock().broken.is_empty() {
        let checked = drive.world.lock().check_end(&drive.store);
        if let Err(error) = checked {
            drive.world.lock().complain(Rule::Replays, error.to_string());
        }
        drive.restart_quietly();
        let mut world = drive.world.lock();
        if world.lost_a_notice() {
            probe::sometimes!(world, "a lost notice was made good");
        }
    }
    let shared = drive.world.clone();
    drop(drive);
    let mut world = shared.lock();
    let trace = std::mem::replace(&mut world.trace, Trace::new(Lines::NotKept));
    Run {
        broken: world.broken.first().cloned(),
        hash: trace.hash(),
        probes: world.probes.clone(),
        commits: world.counts.commits,
        effects: world.counts.effects,
        daemons: u32::try_from(world.seen.epoch).unwrap_or(u32::MAX),
        length: world.now,
        lines: trace.into_lines(),
    }
}

/// The limits are shorter than real ones, so that a run is a few hours of virtual time.
fn settings(plan: &Plan) -> Settings {
    let limits = Limits {
        session: Span::mins(80),
        ci: Span::mins(10),
        ci_start: Span::mins(2),
        ci_wait: Span::mins(50),
        critic: Span::mins(40),
        renotify: Span::mins(35),
        answer: Span::mins(120),
        handoff: Span::secs(60),
        heartbeat: Span(plan.heartbeat),
        stale_after: Span::mins(5),
        stale_strikes: 3,
        ..Limits::default()
    };
    let agent = AgentSettings { kind: AgentKind::Demo, env: BTreeMap::new() };
    Settings {
        project: "simulated".into(),
        branch: "main".into(),
        branch_prefix: "issue-".into(),
        exe: "windlass".into(),
        search_path: String::new(),
        policy: Policy { parallel: plan.parallel, max_open_changes: 20, limits, ..Policy::default() },
        dev: agent.clone(),
        critic: agent,
        ci: CiSettings { command: "test".into(), slots: plan.slots, keep: Vec::new(), env: BTreeMap::new() },
        limits: GroupLimits::default(),
        guards: Guards { min_free_memory_mb: 0, min_free_disk_mb: 0 },
        only: None,
        poll: Span::secs(90),
    }
}
