//! Whether anything keeps an issue from being worked on now, and what would help.

use windlass_core::id::IssueNumber;
use windlass_core::schedule::{Hold, Skip};
use windlass_core::task::State;
use windlass_store::Store;

use crate::backlog::{self, Backlog};
use crate::commands::why;
use crate::daemon::Daemon;
use crate::error::CliError;
use crate::exit::Exit;
use crate::project::{self, Project};
use crate::train;

/// What keeps it from going on. Nobody who only waits will see it end.
#[derive(Debug)]
pub struct Held {
    code: &'static str,
    pub exit: Exit,
    pub why: String,
}

#[derive(Debug)]
pub enum Standing {
    /// It is worked on, or will be at once.
    Goes,
    /// Its turn comes by itself.
    Waits(String),
    Held(Held),
}

pub fn look(
    project: &Project,
    store: &dyn Store,
    issue: IssueNumber,
    only: Option<IssueNumber>,
) -> Result<Standing, CliError> {
    if let Some(task) = project::task_of(store, issue)? {
        return of_task(project, store, &task.state);
    }
    let mut decision = Backlog::look(project, store, windlass_engine::now(), only)?.decision;
    Ok(decision.skipped.remove(&issue).map_or(Standing::Goes, of_issue))
}

/// A session or a build that was begun goes on whatever holds the others up.
fn of_task(project: &Project, store: &dyn Store, state: &State) -> Result<Standing, CliError> {
    match state {
        State::AwaitingSlot { .. } => {
            let hold = backlog::hold(project, store)?;
            Ok(hold.as_ref().map_or_else(|| Standing::Waits("all slots are in use".into()), held))
        }
        State::AwaitingCritic { .. } if state.wants_critic() => {
            Ok(backlog::hold(project, store)?.as_ref().map_or(Standing::Goes, held))
        }
        State::Queued { .. } => Ok(match train::pause(store)? {
            Some(pause) => {
                let why = format!("the queue is paused: {}", pause.sentence());
                Standing::Held(Held { code: "paused", exit: Exit::Limit, why })
            }
            None => Standing::Goes,
        }),
        State::Dispatched
        | State::Running { .. }
        | State::Revising { .. }
        | State::HandingOff { .. }
        | State::AwaitingCi { .. }
        | State::AwaitingCritic { .. }
        | State::AwaitingHuman { .. }
        | State::Limited { .. }
        | State::Merged { .. }
        | State::Closed { .. }
        | State::Abandoned { .. } => Ok(Standing::Goes),
    }
}

fn of_issue(skip: Skip) -> Standing {
    let why = skip.sentence();
    let because = |code, exit| Standing::Held(Held { code, exit, why: why.clone() });
    match skip {
        Skip::NoSlot { .. } | Skip::TooManyOpenChanges { .. } => Standing::Waits(why),
        Skip::Held(hold) => held(&hold),
        Skip::WaitsFor(_) | Skip::WaitsLong { .. } => because("waits", Exit::Pending),
        Skip::NotInBacklog
        | Skip::Blocked
        | Skip::Underspecified
        | Skip::AbandonAsked
        | Skip::MissingDependency(_)
        | Skip::Circle(_)
        | Skip::TooManyDependencies(_) => because("held-back", Exit::NeedsHuman),
        Skip::Ended => because("ended", Exit::WorkFailed),
    }
}

fn held(hold: &Hold) -> Standing {
    let code = match hold {
        Hold::Paused(_) => "paused",
        Hold::LowMemory { .. } | Hold::LowDisk { .. } | Hold::LowInodes { .. } => "guard",
        Hold::DaySpent { .. } => "budget",
    };
    Standing::Held(Held { code, exit: Exit::Limit, why: hold.sentence() })
}

impl Held {
    pub fn error(&self, project: &Project, issue: IssueNumber) -> CliError {
        let mut error = CliError::new(self.code, self.exit, format!("{issue} cannot go on now"));
        error.next = self.ways(project, issue);
        error.why(self.why.as_str())
    }

    /// What would help, in the words of `why`; whether the factory is up is no part of it.
    pub fn ways(&self, project: &Project, issue: IssueNumber) -> Vec<String> {
        match why::look_with(project, issue, Daemon::Unknown) {
            Ok(why) => why.next,
            Err(_) => vec![format!("windlass why {}", issue.0)],
        }
    }
}
