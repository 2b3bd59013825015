//! Asks git how main stands and what entries are on top of it.

use std::collections::BTreeSet;

use windlass_adapters::git::{Commit, Growth, Merged, Replayed};
use windlass_core::id::{Sha, TaskId};
use windlass_core::message;
use windlass_core::queue::{Change, History, Link, Stand, Verdict};
use windlass_core::task::Task;
use windlass_core::time::Millis;

use crate::outside::Question;
use crate::perform::Fault;
use crate::world::World;

/// Entries that are to be merged in this order.
#[derive(Debug)]
pub struct Wanted {
    pub entries: Vec<(Task, Change, Millis)>,
    pub verdict: Verdict,
}

/// What git made of everything that was wanted.
#[derive(Debug)]
pub struct Chained {
    pub main: Sha,
    /// The commit that the stacks stand on, and its tree: main, or the candidate whose tree main has.
    pub base: (Sha, Sha),
    /// How main got there since we last knew it.
    pub moved: MainMoved,
    pub stacks: Vec<Stack>,
}

#[derive(Debug)]
pub struct Stack {
    pub links: Vec<Link>,
    /// Those who were left out, and why.
    pub left_out: Vec<(Change, Stand)>,
    pub verdict: Verdict,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MainMoved {
    Not,
    Outside,
    Rewritten,
}

pub fn link(world: &World, question: &Question) -> Result<Chained, Fault> {
    let Question { known, base, wanted } = question;
    let main = world.repo.main_tip(&world.settings.branch)?;
    let moved = match known {
        None => MainMoved::Not,
        Some(known) if *known == main => MainMoved::Not,
        Some(known) if world.repo.is_ancestor(known, &main)? => MainMoved::Outside,
        Some(_) => MainMoved::Rewritten,
    };
    let base = match base.as_ref().filter(|_| known.as_ref() == Some(&main)) {
        Some(base) => base.clone(),
        None => (main.clone(), world.repo.anatomy(&main)?.tree),
    };
    let heads = wanted.iter().flat_map(|wanted| &wanted.entries).map(|(_, change, _)| &change.head);
    let growth = world.repo.growth(&base.0, heads)?;
    let desk = Desk { world, main: &base.0, growth };
    let stacks = wanted.iter().map(|wanted| stack(&desk, wanted)).collect::<Result<_, _>>()?;
    Ok(Chained { main, base, moved, stacks })
}

/// What all stacks are built with.
struct Desk<'a> {
    world: &'a World,
    /// The commit that they stand on.
    main: &'a Sha,
    /// How the heads grew out of it: git is asked once, and not for each link.
    growth: Growth,
}

fn stack(desk: &Desk<'_>, wanted: &Wanted) -> Result<Stack, Fault> {
    let mut stack = Stack { links: Vec::new(), left_out: Vec::new(), verdict: wanted.verdict };
    let mut tip = desk.main.clone();
    for (task, change, since) in &wanted.entries {
        match merge(desk, &tip, &stack.links, change)? {
            Merge::Clean { tree } => {
                let (candidate, history) = compose(desk.world, &tip, task, change, &tree, *since)?;
                tip = candidate.clone();
                stack.links.push(Link { change: change.clone(), candidate, tree, history });
            }
            Merge::Contained if stack.links.is_empty() => {
                stack.left_out.push((change.clone(), Stand::Contained));
            }
            Merge::Conflict { files, commits } if stack.links.is_empty() => {
                stack.left_out.push((change.clone(), Stand::Conflict { files, commits }));
            }
            Merge::Contained | Merge::Conflict { .. } => {
                let stand = alone(desk, change, &stack.links)?;
                stack.left_out.push((change.clone(), stand));
            }
        }
    }
    Ok(stack)
}

/// The change on top of `tip`, in the form that the project wants. The same inputs give the same commit, so a
/// candidate that is built again after a crash is the same.
fn compose(
    world: &World,
    tip: &Sha,
    task: &Task,
    change: &Change,
    tree: &Sha,
    since: Millis,
) -> Result<(Sha, History), Fault> {
    let (repo, head) = (&world.repo, &change.head);
    let wanted = world.settings.policy.queue.history;
    if wanted == History::Merge {
        let text = message::merge_commit(task, head);
        return Ok((repo.commit_tree(tree, &[tip, head], &text, since)?, wanted));
    }
    let commits = repo.commits(tip, head)?;
    if wanted == History::Rebase {
        let text = |commit: &Commit| message::replayed(&commit.message, &task.id, head);
        match repo.replay(&commits, tip, since, text)? {
            Replayed::Clean { tip, tree: replayed } if replayed == *tree => return Ok((tip, wanted)),
            // One by one they give another tree than the one that is to be tested, or nothing at all.
            Replayed::Clean { .. } | Replayed::NotPossible => {}
        }
    }
    let subjects: Vec<String> = commits.into_iter().map(|commit| commit.subject).collect();
    let text = message::squash_commit(task, head, &subjects);
    Ok((repo.commit_tree(tree, &[tip], &text, since)?, History::Squash))
}

/// It does not merge on top of the others: is that main's doing, or theirs?
fn alone(desk: &Desk<'_>, change: &Change, before: &[Link]) -> Result<Stand, Fault> {
    Ok(match merge(desk, desk.main, &[], change)? {
        Merge::Clean { .. } => {
            let by: BTreeSet<TaskId> = before.iter().map(|link| link.change.task.clone()).collect();
            Stand::Held { by }
        }
        Merge::Contained => Stand::Contained,
        Merge::Conflict { files, commits } => Stand::Conflict { files, commits },
    })
}

enum Merge {
    Clean { tree: Sha },
    Contained,
    Conflict { files: Vec<String>, commits: Vec<String> },
}

/// The change on top of `tip`, which is main with the links before it.
fn merge(desk: &Desk<'_>, tip: &Sha, before: &[Link], change: &Change) -> Result<Merge, Fault> {
    let (repo, head) = (&desk.world.repo, &change.head);
    // Squashed and rebased changes become other commits, so what they hold is not held by the tip.
    let merged = |link: &Link| link.history == History::Merge && desk.growth.holds(&link.change.head, head);
    if desk.growth.is_in_base(head) || before.iter().any(merged) || repo.contains_mark(tip, head)? {
        return Ok(Merge::Contained);
    }
    match repo.merge_tree(tip, head)? {
        Merged::Clean { tree } => Ok(Merge::Clean { tree }),
        Merged::Conflict { files } => {
            let commits = match repo.merge_base(tip, head)? {
                Some(base) => repo.commits_touching(&base, tip, &files.iter().cloned().collect())?,
                None => Vec::new(),
            };
            let commits = commits.iter().map(|touch| format!("{} {}", touch.commit.short(), touch.subject));
            Ok(Merge::Conflict { files: files.iter().cloned().collect(), commits: commits.collect() })
        }
    }
}
