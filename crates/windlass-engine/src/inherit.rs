//! What people said to earlier sessions of a task and its next session has to hear again.

use std::collections::BTreeSet;

use windlass_adapters::shim::{Fact, Message};
use windlass_core::brief::Memory;
use windlass_core::message;

/// What a session left behind: all that it was told, and what its shim wrote down.
#[derive(Debug, Clone, Default)]
pub struct Left {
    pub inbox: Vec<Message>,
    pub facts: Vec<Fact>,
}

/// What a successor is told besides its brief, in the order in which it was said. `line` begins with its predecessor, and
/// each is followed by its own. What we said ourselves is in the brief, or void.
pub fn inherited(memory: Memory, line: &[Left]) -> Vec<Message> {
    let mut messages: Vec<Message> = match memory {
        // What was handed over is in the conversation.
        Memory::Resumed => line.first().map(Left::unheard).unwrap_or_default(),
        // Who ended a turn well has answered for all that it remembered, its own predecessors' included. Who did not may
        // have had the rest only in a conversation that is lost.
        Memory::New => {
            let since = line.iter().position(Left::has_answered).map_or(line.len(), |at| at + 1);
            line[..since].iter().rev().flat_map(Left::unanswered).collect()
        }
    };
    let mut known = BTreeSet::new();
    messages.retain(|message| message::is_told(&message.text) && known.insert(message.id.clone()));
    messages
}

impl Left {
    fn has_answered(&self) -> bool {
        self.facts.iter().any(|fact| matches!(fact, Fact::TurnEnded { end, .. } if end.is_good()))
    }

    /// Never handed to the program.
    fn unheard(&self) -> Vec<Message> {
        self.without(|fact, id| matches!(fact, Fact::Delivered { message, .. } if message == id))
    }

    /// Never handed over, or cut off in the middle.
    fn unanswered(&self) -> Vec<Message> {
        self.without(|fact, id| match fact {
            Fact::TurnEnded { message, end, .. } => message == id && end.is_good(),
            Fact::Started { .. } | Fact::Delivered { .. } | Fact::Exited(_) => false,
        })
    }

    fn without(&self, settles: impl Fn(&Fact, &str) -> bool) -> Vec<Message> {
        let open = |message: &&Message| !self.facts.iter().any(|fact| settles(fact, &message.id));
        self.inbox.iter().filter(open).cloned().collect()
    }
}

#[cfg(test)]
mod tests;
