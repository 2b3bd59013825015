//! The one act that moves main: every check again, then a compare-and-swap.

use std::collections::BTreeSet;

use windlass_adapters::git::Swap;
use windlass_core::build::TreeResult;
use windlass_core::id::{BuildId, Sha, TaskId};
use windlass_core::task::State;

use super::{Fault, Report};
use crate::world::World;

/// What a landing is about.
#[derive(Debug)]
pub struct Plan<'a> {
    pub task: &'a TaskId,
    pub head: &'a Sha,
    pub candidate: &'a Sha,
    pub tree: &'a Sha,
    pub expected: &'a Sha,
}

/// What became of it.
#[derive(Debug)]
pub enum Landing {
    /// Main holds the candidate, whose tree passed in `build`.
    Landed { build: BuildId },
    /// Main is elsewhere; the queue plans again from there.
    MainMoved,
    /// A check failed: this candidate must never land.
    Refused { why: String },
}

pub fn land(world: &World, plan: &Plan<'_>) -> Result<Report, Fault> {
    let landing = attempt(world, plan)?;
    Ok(Report { landing: Some(landing), ..Report::default() })
}

fn attempt(world: &World, plan: &Plan<'_>) -> Result<Landing, Fault> {
    let recipe = world.settings.recipe();
    let Some(verdict) = world.store.verdict(plan.tree, &recipe)? else {
        return Ok(Landing::Refused { why: "the tree has no verdict".into() });
    };
    let landed = Landing::Landed { build: verdict.build };
    let main = world.repo.main_tip(&world.settings.branch)?;
    // The probe: after a crash the swap may have happened already.
    if main == *plan.candidate || (main != *plan.expected && world.repo.is_ancestor(plan.candidate, &main)?) {
        return Ok(landed);
    }
    if main != *plan.expected {
        return Ok(Landing::MainMoved);
    }
    if verdict.result != TreeResult::Pass {
        return Ok(Landing::Refused { why: "the tree's tests fail".into() });
    }
    if let Some(why) = check(world, plan)? {
        return Ok(Landing::Refused { why });
    }
    match world.repo.land(&world.settings.branch, plan.expected, plan.candidate)? {
        Swap::Done => Ok(landed),
        Swap::Lost { .. } => Ok(Landing::MainMoved),
    }
}

/// The landed tree is the tested tree, built on the expected main, and touches only what its change touches.
fn check(world: &World, plan: &Plan<'_>) -> Result<Option<String>, Fault> {
    let task = world.store.task(plan.task)?;
    let approved = |state: &State| matches!(state, State::Queued { head, .. } if head == plan.head);
    if !task.is_some_and(|task| approved(&task.value.state)) {
        return Ok(Some("the head is not the one that was approved".into()));
    }
    let candidate = world.repo.anatomy(plan.candidate)?;
    if candidate.tree != *plan.tree {
        return Ok(Some("the candidate's tree is not the tested one".into()));
    }
    if candidate.parents != [plan.expected.clone(), plan.head.clone()] {
        return Ok(Some("the candidate is not the approved head on the expected main".into()));
    }
    let Some(base) = world.repo.merge_base(plan.expected, plan.head)? else {
        return Ok(Some("the change shares no history with main".into()));
    };
    let ours = world.repo.changed_paths(plan.expected, plan.candidate)?;
    let theirs = world.repo.changed_paths(&base, plan.head)?;
    let foreign: BTreeSet<&String> = ours.difference(&theirs).collect();
    Ok(foreign.first().map(|path| format!("the candidate touches `{path}`, which the change does not")))
}
