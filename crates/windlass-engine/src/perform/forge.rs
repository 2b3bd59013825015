//! What people see on the forge: branches, changes, comments, labels, reviews, statuses.

use windlass_adapters::forge::{ForgeError, NewChange, NewReview};
use windlass_adapters::git::{Expect, Swap};
use windlass_core::forge::{ChangeState, ReviewDecision, StatusState};
use windlass_core::id::Sha;
use windlass_core::task::{Ending, Event, Task};
use windlass_core::{crash, message, text};

use super::{Fault, Report};
use crate::clock;
use crate::record::Order;
use crate::world::World;

const STATUS_CONTEXT: &str = "windlass/ci";

/// Moves the task's branch, but only from where we left it.
pub fn push_branch(
    world: &World,
    task: &Task,
    branch: &str,
    head: &Sha,
    expected: Option<&Sha>,
) -> Result<Report, Fault> {
    let name = format!("refs/heads/{branch}");
    let expect = expected.map_or(Expect::Absent, Expect::At);
    let adopted = match world.repo.update_ref(&name, head, expect)? {
        Swap::Done => false,
        Swap::Lost { actual: Some(actual) } if actual == *head => true,
        Swap::Lost { actual } => {
            let actual = actual.map_or_else(|| "gone".to_owned(), |sha| sha.to_string());
            return Err(Fault::for_good(format!("`{branch}` was moved by somebody else, it is {actual}")));
        }
    };
    crash::step("pushed");
    if let Some(number) = task.change {
        world.forge.update_change_head(number, head)?;
    }
    Ok(Report { adopted, ..Report::default() })
}

pub fn open_change(world: &World, task: &Task, branch: &str, head: &Sha) -> Result<Report, Fault> {
    let open = world.forge.find_change(branch)?.filter(|change| change.state == ChangeState::Open);
    let adopted = open.is_some();
    let change = match open {
        Some(change) => change,
        None => world.forge.open_change(
            &NewChange {
                branch: branch.to_owned(),
                base: world.settings.branch.clone(),
                head: head.clone(),
                title: text::one_line(&task.title, 250),
                body: message::change_body(task),
                issue: Some(task.issue),
            },
            clock::now(),
        )?,
    };
    if change.head != *head {
        world.forge.update_change_head(change.number, head)?;
    }
    let event = Some(Event::ChangeOpened { number: change.number });
    Ok(Report { event, adopted, ..Report::default() })
}

pub fn comment(world: &World, order: &Order, task: &Task, text: &str) -> Result<Report, Fault> {
    world.forge.comment(task.issue, &order.key, text, clock::now())?;
    Ok(Report::default())
}

pub fn set_labels(world: &World, task: &Task, add: &[String], remove: &[String]) -> Result<Report, Fault> {
    let add: Vec<&str> = add.iter().map(String::as_str).collect();
    if !add.is_empty() {
        world.forge.add_labels(task.issue, &add, clock::now())?;
    }
    crash::step("added");
    for name in remove {
        world.forge.remove_label(task.issue, name, clock::now())?;
    }
    Ok(Report::default())
}

pub fn set_status(world: &World, head: &Sha, state: StatusState, description: &str) -> Result<Report, Fault> {
    world.forge.set_status(head, STATUS_CONTEXT, state, description, clock::now())?;
    Ok(Report::default())
}

pub fn post_review(
    world: &World,
    order: &Order,
    task: &Task,
    head: &Sha,
    decision: ReviewDecision,
    body: &str,
) -> Result<Report, Fault> {
    let number = match task.change {
        Some(number) => number,
        None => return Err(Fault::for_good("there is no change to review")),
    };
    let review = NewReview { key: order.key.clone(), head: head.clone(), decision, body: body.to_owned() };
    world.forge.post_review(number, &review, clock::now())?;
    Ok(Report::default())
}

pub fn close_issue(world: &World, task: &Task) -> Result<Report, Fault> {
    world.forge.close_issue(task.issue, clock::now())?;
    Ok(Report::default())
}

pub fn end_change(world: &World, ending: &Ending) -> Result<Report, Fault> {
    let done = match ending {
        Ending::Merged { number, commit } => world.forge.mark_merged(*number, commit),
        Ending::Closed { number } => world.forge.close_change(*number),
    };
    match done {
        Ok(()) => Ok(Report::default()),
        // It has ended some other way already; the forge's word stands.
        Err(ForgeError::Conflict { .. }) => Ok(Report { adopted: true, ..Report::default() }),
        Err(error) => Err(error.into()),
    }
}
