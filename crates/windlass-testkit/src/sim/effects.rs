//! What a daemon's threads do: effects, readings of the forge, questions to git; and what goes wrong with them.

use windlass_core::task::Task;
use windlass_core::time::Millis;
use windlass_engine::{Cause, Order, Outcome, Question, Seen};

use super::drive::Drive;
use super::perform::Hands;
use super::plan::{CrashPoint, EffectFault, LinkFault, Mishap, ReadFault};
use super::probe::sometimes;
use super::world::{DaemonId, Happening, World};

impl Drive {
    pub(super) fn perform(&mut self, daemon: DaemonId, nth: u32, order: &Order, task: Option<&Task>) {
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

    pub(super) fn read(&mut self, daemon: DaemonId, nth: u32, since: Option<Millis>) {
        let mut world = self.world.lock();
        let before = world.read_at;
        let cause = Cause::IssuesSeen(world.read(nth, since));
        // What one reads who was replaced is of no use to anybody.
        if daemon != self.started {
            world.read_at = before;
        }
        world.after(1, Happening::Hear { daemon, cause });
    }

    pub(super) fn link(&mut self, daemon: DaemonId, nth: u32, question: &Question) {
        let mut world = self.world.lock();
        let fails = world.mishap(|mishap| match mishap {
            Mishap::Link { nth: planned, how: LinkFault::Failed } if *planned == nth => Some(()),
            _ => None,
        });
        let answer = match fails {
            Some(()) => Err("git was killed".to_owned()),
            None => Ok(world.link(question)),
        };
        world.after(1, Happening::Hear { daemon, cause: Cause::ChainBuilt(answer) });
    }
}

impl World {
    fn read(&mut self, nth: u32, since: Option<Millis>) -> Result<Seen, String> {
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
}
