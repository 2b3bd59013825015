//! Carries out effects in the simulated world, by the same rules as the real hands: each fit to be done twice.

mod build;
mod conversation;
mod forge;
mod land;
mod session;
mod workspace;

pub use conversation::Taken;
use windlass_core::task::{Effect, Task};
use windlass_engine::{Order, Outcome, Report};
use windlass_store::{SqliteStore, StoreError};

use super::world::{DaemonId, World};

/// Why an effect was not carried out.
#[derive(Debug)]
pub enum Fault {
    Later(String),
    ForGood(String),
    /// The daemon died in the middle of it.
    Died,
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        Self::Later(error.to_string())
    }
}

/// Who acts, and on whose memory.
#[derive(Debug, Clone, Copy)]
pub struct Hands<'a> {
    pub daemon: DaemonId,
    pub store: &'a SqliteStore,
}

impl World {
    /// `None` when the daemon died in it.
    pub fn perform(&mut self, hands: Hands<'_>, order: &Order, task: Option<&Task>) -> Option<Outcome> {
        match self.carry_out(hands, order, task) {
            Ok(report) => {
                self.seen.done.insert(order.key.clone());
                Some(Outcome::Done(Box::new(report)))
            }
            Err(Fault::Later(error)) => Some(Outcome::Later { error }),
            Err(Fault::ForGood(error)) => Some(Outcome::GiveUp { error }),
            Err(Fault::Died) => None,
        }
    }

    fn carry_out(&mut self, hands: Hands<'_>, order: &Order, task: Option<&Task>) -> Result<Report, Fault> {
        let owner = || task.ok_or_else(|| Fault::ForGood("the task of this effect is not known".into()));
        match &order.effect {
            Effect::MakeWorkspace { .. } => self.make_workspace(owner()?),
            Effect::StartSession { session, start } => self.start_dev(hands, order, owner()?, session, start),
            Effect::Say { session, text } => self.say(order, session, text),
            Effect::WakeSession { session } => Ok(self.wake(session)),
            Effect::StopSession { session } => {
                self.stop_session(session);
                self.forget_homes(task, session);
                Ok(Report { stopped: Some(session.clone()), ..Report::default() })
            }
            Effect::FetchWork { session, branch } => self.fetch(owner()?, session, branch),
            Effect::PushBranch { branch, head, expected } => {
                self.push_branch(owner()?, branch, head, expected.as_ref())
            }
            Effect::OpenChange { branch, head } => self.open_change(order, branch, head),
            Effect::StartBuild { .. } => Err(Fault::ForGood("a build is started by the heart itself".into())),
            Effect::StartReview { session, head } => self.start_review(hands, order, owner()?, session, head),
            Effect::Comment { text } => self.comment(order, owner()?, text),
            Effect::SetLabels { add, remove } => self.set_labels(owner()?, add, remove),
            Effect::SetStatus { .. } => self.reach_forge().map(|()| Report::default()),
            Effect::PostReview { .. } => self.post_review(order, owner()?),
            Effect::CloseIssue => self.close_issue(owner()?),
            Effect::EndChange { ending } => self.end_change(ending),
            Effect::RemoveWorkspace { branch } => self.remove_workspace(owner()?, branch),
            Effect::RunBuild { build, slot } => self.run_build(hands, order, build, *slot),
            Effect::StopBuild { build, .. } => Ok(self.stop_build(build)),
            // The simulated repository forgets nothing: a candidate needs no name to be kept.
            Effect::HoldCandidate { .. } => Ok(Report::default()),
            Effect::Land { links, expected, at } => self.land(hands, order, links, expected, *at),
        }
    }

    /// Between two steps of an effect: here the daemon may die.
    fn step(&mut self) -> Result<(), Fault> {
        match &mut self.cut {
            None => Ok(()),
            Some(0) => Err(Fault::Died),
            Some(left) => {
                *left -= 1;
                Ok(())
            }
        }
    }

    /// The forge is another machine.
    fn reach_forge(&mut self) -> Result<(), Fault> {
        if self.now < self.outage_until && !self.is_calm() {
            return Err(Fault::Later("the forge answered 503".into()));
        }
        Ok(())
    }
}
