//! Sessions: started, spoken to, woken.

use windlass_core::id::{SessionId, Sha};
use windlass_core::session::Role;
use windlass_core::task::{Event, Task};
use windlass_engine::{Order, Report, Started};

use super::{Fault, Hands};
use crate::sim::session::Session;
use crate::sim::world::World;

impl World {
    pub(super) fn start_dev(
        &mut self,
        hands: Hands<'_>,
        order: &Order,
        task: &Task,
        name: &SessionId,
    ) -> Result<Report, Fault> {
        let session = Session::new(Role::Dev, &task.id, task.issue, None, hands.daemon);
        let mut report = self.begin(order, name, session)?;
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
        let session = Session::new(Role::Review, &task.id, task.issue, Some(head.clone()), hands.daemon);
        self.begin(order, name, session)
    }

    /// Puts the brief into the inbox and starts the process, unless both were done before.
    fn begin(&mut self, order: &Order, name: &SessionId, session: Session) -> Result<Report, Fault> {
        let adopted = order.probe && self.sessions.get(name).is_some_and(|known| !known.facts.is_empty());
        if !adopted {
            self.reach_forge()?;
            self.step()?;
            let folder = self.sessions.entry(name.clone()).or_insert(session);
            folder.say(order.key.as_str(), "the brief");
            self.step()?;
            // A shim that runs, or that came to its end, is not started a second time.
            let known = &self.sessions[name];
            if !known.alive && !known.ended {
                self.act(&order.key, "a session was started");
                self.spawn(name);
            }
            self.step()?;
        }
        let started = Some(Started {
            session: name.clone(),
            worktree: format!("workspace of {name}"),
            conversation: None,
            terminal: None,
        });
        Ok(Report { adopted, started, ..Report::default() })
    }

    pub(super) fn say(&mut self, order: &Order, name: &SessionId, text: &str) -> Result<Report, Fault> {
        let Some(session) = self.sessions.get_mut(name) else {
            return Err(Fault::ForGood(format!("{name} has no folder")));
        };
        session.say(order.key.as_str(), text);
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
