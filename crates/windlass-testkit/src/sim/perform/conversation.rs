//! Conversations as the real hands take them over, and what goes on to a successor with them.

use windlass_adapters::shim::Message;
use windlass_core::brief::Memory;
use windlass_core::id::SessionId;
use windlass_core::session::Role;
use windlass_core::task::{Start, Task};
use windlass_engine::{Known, Left, inherited};
use windlass_store::Store;

use super::{Fault, Hands};
use crate::sim::probe::sometimes;
use crate::sim::world::World;

/// The conversation that a session is to have.
#[derive(Debug)]
pub struct Taken {
    pub known: Known,
    pub memory: Memory,
}

impl Taken {
    pub fn new(name: &SessionId) -> Self {
        let known = Known { id: format!("conversation of {name}"), cost_seen_micro_usd: 0 };
        Self { known, memory: Memory::New }
    }
}

impl World {
    pub(super) fn take_over(
        &mut self,
        hands: Hands<'_>,
        name: &SessionId,
        start: &Start,
    ) -> Result<Taken, Fault> {
        let Start::Recover { predecessor } = start else { return Ok(Taken::new(name)) };
        let before = hands.store.identity(predecessor)?;
        let Some((id, cost)) = before.and_then(|old| old.session_id.map(|id| (id, old.cost_seen_micro_usd)))
        else {
            sometimes!(self, "a lost conversation was begun anew");
            return Ok(Taken::new(name));
        };
        if !self.talks.homes.contains(name) {
            if !self.talks.homes.contains(predecessor) {
                return Ok(Taken::new(name));
            }
            self.talks.move_home(predecessor, name);
        }
        Ok(Taken { known: Known { id, cost_seen_micro_usd: cost }, memory: Memory::Resumed })
    }

    pub(super) fn passed_on(
        &self,
        hands: Hands<'_>,
        start: &Start,
        memory: Memory,
    ) -> Result<Vec<Message>, Fault> {
        let mut line = Vec::new();
        let mut next = match start {
            Start::Fresh => None,
            Start::Recover { predecessor }
            | Start::Continue { predecessor }
            | Start::Retry { predecessor, .. } => Some(predecessor.clone()),
        };
        while let Some(name) = next {
            let session = self.sessions.get(&name);
            line.push(session.map_or_else(Left::default, |session| Left {
                inbox: session.inbox.clone(),
                facts: session.facts.clone(),
            }));
            next = hands.store.identity(&name)?.and_then(|identity| identity.predecessor_id);
        }
        Ok(inherited(memory, &line))
    }

    /// A critic's home goes at its end, the others when their task has ended.
    pub(super) fn forget_homes(&mut self, task: Option<&Task>, name: &SessionId) {
        let review = self.sessions.get(name).is_some_and(|session| session.role == Role::Review);
        if review || task.is_none() {
            self.talks.homes.remove(name);
        }
        if let Some(task) = task.filter(|task| task.state.is_terminal()) {
            self.talks
                .homes
                .retain(|home| (1..=task.sessions).all(|nth| *home != SessionId::dev(&task.id, nth)));
        }
    }
}
