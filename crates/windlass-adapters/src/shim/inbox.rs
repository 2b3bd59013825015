//! The messages that wait for the program, in order, each handed out once.

use std::collections::{BTreeSet, VecDeque};
use std::path::PathBuf;

use super::error::ShimError;
use super::journal;
use super::life::{Life, now};
use super::protocol::{FACTS, Fact, INBOX, Message};

#[derive(Debug)]
pub(super) struct Inbox {
    path: PathBuf,
    offset: u64,
    delivered: BTreeSet<String>,
    waiting: VecDeque<Message>,
}

impl Inbox {
    /// Knows what earlier lives have handed out.
    pub fn open(life: &Life) -> Result<Self, ShimError> {
        let path = life.folder.join(INBOX);
        journal::open(&path).map_err(|source| life.failed(INBOX, source))?;
        let mut delivered = BTreeSet::new();
        let mut offset = 0;
        loop {
            let (facts, next) = journal::values::<Fact>(&life.folder.join(FACTS), offset)?;
            for fact in facts {
                if let Fact::Delivered { message, .. } = fact {
                    delivered.insert(message);
                }
            }
            if next == offset {
                break;
            }
            offset = next;
        }
        Ok(Self { path, offset: 0, delivered, waiting: VecDeque::new() })
    }

    /// How many messages were handed out, in all lives.
    pub fn delivered(&self) -> usize {
        self.delivered.len()
    }

    /// The next message. That it is handed out is written down first.
    pub fn next(&mut self, life: &mut Life) -> Result<Option<Message>, ShimError> {
        self.look()?;
        let Some(message) = self.waiting.pop_front() else { return Ok(None) };
        self.delivered.insert(message.id.clone());
        life.record(&Fact::Delivered { message: message.id.clone(), at: now() })?;
        Ok(Some(message))
    }

    fn look(&mut self) -> Result<(), ShimError> {
        let (messages, next) = journal::values::<Message>(&self.path, self.offset)?;
        self.offset = next;
        for message in messages {
            let known = self.delivered.contains(&message.id)
                || self.waiting.iter().any(|waiting| waiting.id == message.id);
            if !known {
                self.waiting.push_back(message);
            }
        }
        Ok(())
    }
}
