//! The only part that changes the world: one arm per effect, each fit to be done twice.

mod conversation;
mod forge;
mod land;
#[cfg(test)]
mod place;
mod review_slots;
mod run_build;
mod session;
mod workspace;

use windlass_adapters::Remedy;
use windlass_adapters::files::FileError;
use windlass_adapters::forge::ForgeError;
use windlass_adapters::git::{FetchError, GitError, RescueError};
use windlass_adapters::shim::ShimError;
use windlass_core::crash;
use windlass_core::id::{SessionId, Sha};
use windlass_core::task::{Effect, Event, Task};
use windlass_core::text::causes;
use windlass_store::StoreError;

pub use land::Landing;
pub use review_slots::ReviewSlots;

use crate::record::Order;
use crate::world::World;

/// What came of an effect.
#[derive(Debug)]
pub enum Outcome {
    Done(Box<Report>),
    /// The world was not ready; the effect stays in the outbox.
    Later {
        error: String,
    },
    /// Only a person can change this.
    GiveUp {
        error: String,
    },
}

/// What is to be written down about an effect that was carried out.
#[derive(Debug, Default)]
pub struct Report {
    pub event: Option<Event>,
    /// It had happened before; nothing was done now.
    pub adopted: bool,
    pub started: Option<Started>,
    pub stopped: Option<SessionId>,
    pub landing: Option<Landing>,
    pub rescued: Option<(String, Sha)>,
}

/// A process that now runs for a session.
#[derive(Debug)]
pub struct Started {
    pub session: SessionId,
    pub worktree: String,
    /// What is said in it, if that can be resumed.
    pub conversation: Option<Known>,
    /// The socket of its tmux server, if it has a terminal.
    pub terminal: Option<String>,
}

/// A conversation as it was when a session took it up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    pub id: String,
    pub cost_seen_micro_usd: u64,
}

/// An effect that could not be carried out.
#[derive(Debug)]
pub struct Fault {
    remedy: Remedy,
    error: String,
}

/// Carries out one effect. `task` is its owner as it is now.
pub fn perform(world: &World, slots: &ReviewSlots, order: &Order, task: Option<&Task>) -> Outcome {
    if let Some(error) = crash::before_effect(order.effect.name(), order.key.as_str()) {
        return Outcome::Later { error };
    }
    let outcome = match carry_out(world, slots, order, task) {
        Ok(report) => Outcome::Done(Box::new(report)),
        Err(Fault { remedy: Remedy::TryAgain, error }) => Outcome::Later { error },
        Err(Fault { remedy: Remedy::AskHuman, error }) => Outcome::GiveUp { error },
    };
    match crash::after_effect() {
        Some(error) => Outcome::Later { error },
        None => outcome,
    }
}

fn carry_out(
    world: &World,
    slots: &ReviewSlots,
    order: &Order,
    task: Option<&Task>,
) -> Result<Report, Fault> {
    let owner = || task.ok_or_else(|| Fault::for_good("the task of this effect is not known"));
    match &order.effect {
        Effect::MakeWorkspace { branch } => workspace::make(world, owner()?, branch),
        Effect::StartSession { session, start } => session::start_dev(world, order, owner()?, session, start),
        Effect::Say { session, text } => session::say(world, order, session, text),
        Effect::WakeSession { session } => session::wake(world, session),
        Effect::StopSession { session } => session::stop(world, slots, task, session),
        Effect::FetchWork { session, branch } => workspace::fetch(world, owner()?, session, branch),
        Effect::PushBranch { branch, head, expected } => {
            forge::push_branch(world, owner()?, branch, head, expected.as_ref())
        }
        Effect::OpenChange { branch, head } => forge::open_change(world, owner()?, branch, head),
        Effect::StartBuild { .. } => Err(Fault::for_good("a build is started by the heart itself")),
        Effect::StartReview { session, head } => {
            session::start_review(world, slots, order, owner()?, session, head)
        }
        Effect::Comment { text } => forge::comment(world, order, owner()?, text),
        Effect::SetLabels { add, remove } => forge::set_labels(world, owner()?, add, remove),
        Effect::SetStatus { head, state, description } => forge::set_status(world, head, *state, description),
        Effect::PostReview { head, decision, body } => {
            forge::post_review(world, order, owner()?, head, *decision, body)
        }
        Effect::CloseIssue => forge::close_issue(world, owner()?),
        Effect::EndChange { ending } => forge::end_change(world, ending),
        Effect::RemoveWorkspace { branch } => workspace::remove(world, order, owner()?, branch),
        Effect::RunBuild { build, slot } => run_build::run(world, order, build, *slot),
        Effect::StopBuild { build, .. } => run_build::stop(world, build),
        Effect::HoldCandidate { build } => run_build::hold(world, build),
        Effect::Land { links, expected, at } => land::land(world, &land::Plan { links, expected, at: *at }),
    }
}

impl Report {
    fn event(event: Event) -> Self {
        Self { event: Some(event), ..Self::default() }
    }
}

impl Fault {
    pub fn error(&self) -> &str {
        &self.error
    }

    fn for_good(error: impl Into<String>) -> Self {
        Self { remedy: Remedy::AskHuman, error: error.into() }
    }
}

macro_rules! fault_from {
    ($($error:ty),*) => {$(
        impl From<$error> for Fault {
            fn from(error: $error) -> Self {
                Self { remedy: error.remedy(), error: causes(&error) }
            }
        }
    )*};
}
fault_from!(GitError, FetchError, RescueError, ForgeError, FileError, ShimError);

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        let remedy = if error.is_transient() { Remedy::TryAgain } else { Remedy::AskHuman };
        Self { remedy, error: causes(&error) }
    }
}
