//! The one act that moves main: every check again, then a compare-and-swap.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use windlass_adapters::git::{Anatomy, Mark, Merged, Swap};
use windlass_core::build::TreeResult;
use windlass_core::crash;
use windlass_core::id::{BuildId, IssueNumber, Sha, TaskId};
use windlass_core::message;
use windlass_core::queue::{Change, History, Link, PAUSED_KEY};
use windlass_core::task::State;
use windlass_core::time::Millis;

use super::{Fault, Report};
use crate::world::World;

/// What the candidates are made of.
type Anatomies = BTreeMap<Sha, Anatomy>;

/// What became of it.
#[derive(Debug)]
pub enum Landing {
    /// Main holds `commit`, whose tree passed in `build`.
    Landed { commit: Sha, build: BuildId },
    /// Main is elsewhere, or a head is no longer the approved one; the queue plans again.
    Stale,
    /// A check failed: this candidate must never land. It may be clear whose doing that is.
    Refused { task: Option<TaskId>, why: String },
}

/// What is to land, where, and when it was decided.
#[derive(Debug)]
pub struct Plan<'a> {
    pub links: &'a [Link],
    pub expected: &'a Sha,
    pub at: Millis,
}

/// Moves main from `expected` to one commit that holds all links.
pub fn land(world: &World, plan: &Plan<'_>) -> Result<Report, Fault> {
    let landing = match plan.links.last() {
        Some(last) => attempt(world, plan, last)?,
        None => refused("there is nothing to land"),
    };
    Ok(Report { landing: Some(landing), ..Report::default() })
}

fn attempt(world: &World, plan: &Plan<'_>, last: &Link) -> Result<Landing, Fault> {
    let recipe = world.settings.recipe();
    let Some(verdict) = world.store.verdict(&last.tree, &recipe)? else {
        // CI's command was changed while it was on its way: the queue tests it again.
        return Ok(Landing::Stale);
    };
    let anatomies = world.repo.anatomies(plan.links.iter().map(|link| &link.candidate))?;
    let commit = compose(world, plan, last, &anatomies)?;
    let landed = Landing::Landed { commit: commit.clone(), build: verdict.build };
    let main = world.repo.main_tip(&world.settings.branch)?;
    // The probe: after a crash the swap may have happened already.
    if main == commit || (main != *plan.expected && world.repo.is_ancestor(&commit, &main)?) {
        return Ok(landed);
    }
    if main != *plan.expected || world.store.control(PAUSED_KEY)?.is_some() {
        return Ok(Landing::Stale);
    }
    if verdict.result != TreeResult::Pass {
        return Ok(refused("a tree whose tests fail was to land"));
    }
    for link in plan.links {
        if !is_approved(world, &link.change)? {
            return Ok(Landing::Stale);
        }
    }
    if let Some(refused) = check_links(world, plan, &anatomies)? {
        return Ok(refused);
    }
    if let Some(refused) = check_paths(world, plan, &commit)? {
        return Ok(refused);
    }
    crash::step("composed");
    match swap(world, plan, &commit)? {
        Swap::Done => Ok(landed),
        Swap::Lost { .. } => Ok(Landing::Stale),
    }
}

/// Merged changes are found again by their heads. Those that became other commits get a mark, in the same step.
fn swap(world: &World, plan: &Plan<'_>, commit: &Sha) -> Result<Swap, Fault> {
    let branch = &world.settings.branch;
    let renamed = plan.links.iter().filter(|link| link.history != History::Merge);
    let marks: Vec<Mark<'_>> =
        renamed.map(|link| Mark { head: &link.change.head, commit: &link.candidate }).collect();
    if marks.is_empty() {
        return Ok(world.repo.land(branch, plan.expected, commit)?);
    }
    Ok(world.repo.land_marked(branch, plan.expected, commit, &marks)?)
}

/// The commit that main becomes, with the tested tree. Merged changes land as one commit whose first parent is the
/// main before, each with its merge below it, so that every commit on main's own line was tested. Squashed and
/// rebased ones land as they were tested, one on top of the other.
fn compose(world: &World, plan: &Plan<'_>, last: &Link, anatomies: &Anatomies) -> Result<Sha, Fault> {
    if last.history != History::Merge {
        return Ok(last.candidate.clone());
    }
    let below = anatomies.get(&last.candidate).and_then(|candidate| candidate.parents.first());
    if plan.links.len() == 1 && below == Some(plan.expected) {
        return Ok(last.candidate.clone());
    }
    let issues: Vec<IssueNumber> = plan.links.iter().filter_map(|link| link.change.task.issue()).collect();
    let text = message::merge_several(&issues);
    Ok(world.repo.commit_tree(&last.tree, &[plan.expected, &last.candidate], &text, plan.at)?)
}

fn refused(why: &str) -> Landing {
    Landing::Refused { task: None, why: why.to_owned() }
}

fn is_approved(world: &World, change: &Change) -> Result<bool, Fault> {
    let approved = |state: &State| matches!(state, State::Queued { head, .. } if *head == change.head);
    Ok(world.store.task(&change.task)?.is_some_and(|task| approved(&task.value.state)))
}

/// Each candidate that was tested is the approved head on the one before it. The first stands on the expected main,
/// or on the candidate whose tree that main has.
fn check_links(world: &World, plan: &Plan<'_>, anatomies: &Anatomies) -> Result<Option<Landing>, Fault> {
    let mut below: Option<Sha> = None;
    for link in plan.links {
        let Some(candidate) = anatomies.get(&link.candidate) else {
            return Ok(Some(refused("git does not know a candidate")));
        };
        let built = match link.history {
            History::Merge => is_merge(world, plan, below.as_ref(), candidate, link)?,
            History::Squash | History::Rebase => {
                is_linear(world, below.as_ref().unwrap_or(plan.expected), link)?
            }
        };
        let why = if candidate.tree != link.tree {
            "the candidate's tree is not the tested one"
        } else if !built {
            "the candidate is not the approved head on the expected main"
        } else {
            below = Some(link.candidate.clone());
            continue;
        };
        return Ok(Some(Landing::Refused { task: Some(link.change.task.clone()), why: why.to_owned() }));
    }
    Ok(None)
}

fn is_merge(
    world: &World,
    plan: &Plan<'_>,
    below: Option<&Sha>,
    candidate: &Anatomy,
    link: &Link,
) -> Result<bool, Fault> {
    match (below, candidate.parents.as_slice()) {
        (Some(below), [first, head]) => Ok(first == below && *head == link.change.head),
        (None, [first, head]) => Ok(*head == link.change.head && is_main(world, first, plan.expected)?),
        (_, _) => Ok(false),
    }
}

/// Other commits than the approved ones: what they come to must be what merging the approved head would give.
fn is_linear(world: &World, below: &Sha, link: &Link) -> Result<bool, Fault> {
    let merged = world.repo.merge_tree(below, &link.change.head)?;
    Ok(merged == Merged::Clean { tree: link.tree.clone() }
        && world.repo.is_ancestor(below, &link.candidate)?)
}

/// Whether tests on `base` speak for `main`: it is main, or main holds it with the same tree.
fn is_main(world: &World, base: &Sha, main: &Sha) -> Result<bool, Fault> {
    if base == main {
        return Ok(true);
    }
    let same_tree = world.repo.tree_of(base)? == world.repo.tree_of(main)?;
    Ok(same_tree && world.repo.is_ancestor(base, main)?)
}

/// What lands touches only what its changes touch: a wrong merge base would silently revert what others did.
fn check_paths(world: &World, plan: &Plan<'_>, commit: &Sha) -> Result<Option<Landing>, Fault> {
    let ours = world.repo.changed_paths(plan.expected, commit)?;
    let growth = world.repo.growth(plan.expected, plan.links.iter().map(|link| &link.change.head))?;
    let mut begun = Vec::new();
    for link in plan.links {
        let head = &link.change.head;
        let base = match growth.began_at(head) {
            Some(base) => Some(base.clone()),
            None => world.repo.merge_base(plan.expected, head)?,
        };
        let Some(base) = base else {
            let why = "the change shares no history with main".to_owned();
            return Ok(Some(Landing::Refused { task: Some(link.change.task.clone()), why }));
        };
        begun.push((base, head));
    }
    let theirs = world.repo.changed_by_any(begun.iter().map(|(base, head)| (base, *head)))?;
    let Some(path) = ours.difference(&theirs).next() else { return Ok(None) };
    let why = format!("the candidate touches `{path}`, which no change in it does");
    // Of several nobody can say whose doing it is.
    let task = plan.links.first().filter(|_| plan.links.len() == 1).map(|link| link.change.task.clone());
    Ok(Some(Landing::Refused { task, why }))
}
