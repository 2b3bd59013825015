//! The bridge to any agent that speaks the Agent Client Protocol over its standard streams.

mod message;
mod session;

pub use message::{Message, Permission, read};

use std::io::{self, BufRead, Write};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{Talk, Tool, Turn, failure};
use crate::agent::Conversation;
use message::{Update, stopped, usage};
use session::{CallError, Session};

/// What goose says in place of an error when its provider has failed it: the turn then looks as if it had ended well.
const HIDDEN_ERROR: &str = "Ran into this error: ";

/// What the bridge is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Acp {
    pub command: Vec<String>,
    pub permission: Permission,
    pub conversation: Conversation,
    pub home: PathBuf,
}

impl Acp {
    pub(super) fn run(&self) -> io::Result<()> {
        let mut talk = Talk::new(io::stdin().lock(), io::stdout().lock(), self.conversation.id());
        let mut open: Option<Session> = None;
        while let Some(text) = talk.hear()? {
            talk.begin()?;
            let turn = match self.turn(&mut open, &mut talk, &text) {
                Ok(turn) => turn,
                Err(CallError::Refused(failure)) => Turn { failure: Some(failure), ..Turn::default() },
                Err(error) => return Err(io::Error::other(error)),
            };
            talk.end(&turn)?;
        }
        // Not all agents end when nobody speaks to them any more.
        open.map_or(Ok(()), Session::end)
    }

    /// The agent is started by the first message, so that what is wrong with it is said as the end of a turn.
    fn turn(
        &self,
        open: &mut Option<Session>,
        talk: &mut Talk<impl BufRead, impl Write>,
        text: &str,
    ) -> Result<Turn, CallError> {
        let session = match open.take() {
            Some(session) => open.insert(session),
            None => open.insert(Session::open(self)?),
        };
        let mut course = Course { talk, said: String::new(), turn: Turn::default() };
        let answer = session.prompt(text, |update| course.take(update))?;
        let mut turn = course.end()?;
        let cost = turn.usage.cost_micro_usd;
        turn.usage = usage(&answer);
        turn.usage.cost_micro_usd = cost;
        turn.usage.model.clone_from(&session.model);
        turn.failure = stopped(&answer).or_else(|| hidden(&turn.text));
        Ok(turn)
    }
}

fn hidden(text: &str) -> Option<crate::shim::Failure> {
    text.strip_prefix(HIDDEN_ERROR).map(failure::by_words)
}

/// How far a turn has come.
struct Course<'a, R, W> {
    talk: &'a mut Talk<R, W>,
    /// What the agent says comes in pieces, and is passed on when it does something else.
    said: String,
    turn: Turn,
}

impl<R: BufRead, W: Write> Course<'_, R, W> {
    fn take(&mut self, update: Update) -> io::Result<()> {
        match update {
            Update::Says(piece) => {
                if piece.starts_with(HIDDEN_ERROR) {
                    self.pass_on()?;
                }
                self.said.push_str(&piece);
            }
            Update::Uses(used) => {
                self.pass_on()?;
                self.talk.used(used.tool())?;
            }
            Update::Plans => {
                self.pass_on()?;
                self.talk.used(Tool::Plan)?;
            }
            Update::Fills { used, size, cost_micro_usd } => {
                self.talk.holds(used)?;
                self.turn.window = Some(size);
                self.turn.usage.cost_micro_usd = cost_micro_usd.or(self.turn.usage.cost_micro_usd);
            }
        }
        Ok(())
    }

    fn pass_on(&mut self) -> io::Result<()> {
        if self.said.is_empty() {
            return Ok(());
        }
        self.turn.text = std::mem::take(&mut self.said);
        self.talk.said(&self.turn.text)
    }

    fn end(mut self) -> io::Result<Turn> {
        self.pass_on()?;
        Ok(self.turn)
    }
}

#[cfg(test)]
mod tests;
