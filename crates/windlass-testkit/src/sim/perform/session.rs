//! Sessions: started, spoken to, woken.

use windlass_adapters::shim::Message;
use windlass_core::id::{SessionId, Sha};
use windlass_core::session::Role;
use windlass_core::task::{Event, Start, Task};
use windlass_engine::{Order, Report, Started};

use super::{Fault, Hands, Taken};
use crate::sim::probe::sometimes;
use crate::sim::session::Session;
use crate::sim::world::World;

/// How a session begins.
struct Opening {
    session: Session,
    passed_on: Vec<Message>,
    taken: Taken,
}

impl World {
    pub(super) fn start_dev(
        &mut self,
        hands: Hands<'_>,
        order: &Order,
        task: &Task,
        name: &SessionId,
        start: &Start,
    ) -> Result<Report, Fault> {
        let taken = self.take_over(hands, name, start)?;
        self.step()?;
        let passed_on = self.passed_on(hands, start, taken.memory)?;
        let session = Session::new(Role::Dev, task, None, hands.daemon, &taken);
        let mut report = self.begin(order, name, Opening { session, passed_on, taken })?;
        report.event = Some(Event::SessionStarted { session: name.clone() });
        Ok(report)
    }

    pub(super) fn start_review(
        &mut self,
        hands: Hands<'_>,
        order: &Order,
        task: &Task,
        name: &SessionId,
        head: &Sha,
    ) -> Result<Report, Fault> {
        let taken = Taken::new(name);
        let session = Session::new(Role::Review, task, Some(head.clone()), hands.daemon, &taken);
        self.begin(order, name, Opening { session, passed_on: Vec::new(), taken })
    }

    /// Puts the brief into the inbox and starts the process, unless both were done before.
    fn begin(&mut self, order: &Order, name: &SessionId, opening: Opening) -> Result<Report, Fault> {
        let Opening { session, passed_on, taken } = opening;
        let adopted = order.probe && self.sessions.get(name).is_some_and(|known| !known.facts.is_empty());
        if !adopted {
            self.reach_forge()?;
            self.step()?;
            self.talks.homes.insert(name.clone());
            let folder = self.sessions.entry(name.clone()).or_insert(session);
            folder.say(Message { id: order.key.to_string(), text: "the brief".into() });
            for message in passed_on {
                sometimes!(self, "a person's word was passed on");
                folder.say(message);
            }
            self.step()?;
            // A shim that runs, or that came to its end, is not started a second time.
            let known = &self.sessions[name];
            if !known.alive && !known.ended {
                self.act(&order.key, "a session was started");
                self.spawn(name);
                self.check_inherited(name);
            }
            self.step()?;
        }
        let started = Some(Started {
            session: name.clone(),
            worktree: format!("workspace of {name}"),
            conversation: Some(taken.known),
            terminal: None,
        });
        Ok(Report { adopted, started, ..Report::default() })
    }

    pub(super) fn say(&mut self, order: &Order, name: &SessionId, text: &str) -> Result<Report, Fault> {
        let Some(session) = self.sessions.get_mut(name) else {
            return Err(Fault::ForGood(format!("{name} has no folder")));
        };
        let message = Message { id: order.key.to_string(), text: text.to_owned() };
        self.talks.said(&session.task, &message);
        session.say(message);
        self.step()?;
        Ok(self.wake(name))
    }

    pub(super) fn wake(&mut self, name: &SessionId) -> Report {
        self.spawn(name);
        let started = Some(Started {
            session: name.clone(),
            worktree: String::new(),
            conversation: None,
            terminal: None,
        });
        Report { started, ..Report::default() }
    }
}
