//! Claude Code in a terminal of its own: a private tmux server, into which messages are typed when the program is free.
//!
//! Nothing is ever read off the screen. Whether the program is free, has taken a message or has ended its turn is known from its
//! own files and hooks; that it is gone, from the kernel.

mod accept;
mod error;
mod neutral;
mod pane;
mod papers;
mod record;
mod said;
mod tmux;
mod turn;

pub use error::TerminalError;
pub use record::SCREEN;
pub use tmux::{Keyboard, Tmux, Viewer};

use std::io::{self, BufRead, Write};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{Talk, Turn};
use crate::agent::Conversation;
use crate::shim::Failure;
use pane::{Pane, Wait};
use papers::Papers;

/// How to run the program, and where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Terminal {
    /// The program with its arguments, but for the conversation.
    pub argv: Vec<String>,
    pub conversation: Conversation,
    /// The session's folder: hooks write there, and the server has its socket in it.
    pub folder: PathBuf,
    pub home: PathBuf,
    pub workspace: PathBuf,
}

impl Terminal {
    pub(super) fn run(&self) -> io::Result<()> {
        let mut talk = Talk::new(io::stdin().lock(), io::stdout().lock(), self.conversation.id());
        self.speak(&mut talk).map_err(io::Error::other)
    }

    fn speak<R: BufRead, W: Write>(&self, talk: &mut Talk<R, W>) -> Result<(), TerminalError> {
        let papers = Papers::new(&self.folder, &self.home, self.conversation.id());
        let session = match (&self.conversation, papers.is_begun()?) {
            // Also when it was told to begin: a name is never used twice.
            (_, true) => "--resume",
            (Conversation::New(_), false) => "--session-id",
            (Conversation::Resumed(_), false) => {
                let heard = talk.hear()?;
                return self.is_lost(talk, heard);
            }
        };
        accept::all(&self.home, &self.workspace, std::env::var("ANTHROPIC_API_KEY").ok().as_deref())?;
        let mut argv = self.argv.clone();
        argv.extend([session.to_owned(), self.conversation.id().to_owned()]);
        let mut heard = talk.hear()?;
        let mut pane = match Pane::open(&self.folder, &self.workspace, &argv) {
            // It was gone before anybody could look at it.
            Err(TerminalError::AgentGone) if session == "--resume" => return self.is_lost(talk, heard),
            opened => opened?,
        };
        let mut papers = papers.of_process(pane.pid)?;
        while let Some(text) = heard {
            talk.begin()?;
            let turn = match turn::take(&mut pane, &mut papers, talk, &text) {
                // It was cut off before it had written anything that can be resumed.
                Err(TerminalError::AgentGone) if session == "--resume" && !papers.was_free => {
                    return self.is_lost(talk, Some(text));
                }
                turn => turn?,
            };
            let Some(turn) = turn else { break };
            talk.end(&turn)?;
            heard = match pane.wait_spoken()? {
                Wait::Spoken => talk.hear()?,
                Wait::Gone => None,
            };
        }
        pane.end()
    }

    /// The program would say so on its screen and go; who asked is told as if it had answered.
    fn is_lost<R: BufRead, W: Write>(
        &self,
        talk: &mut Talk<R, W>,
        mut heard: Option<String>,
    ) -> Result<(), TerminalError> {
        while heard.is_some() {
            talk.begin()?;
            talk.end(&self.lost())?;
            heard = talk.hear()?;
        }
        Ok(())
    }

    fn lost(&self) -> Turn {
        let text = format!("No conversation found with session ID: {}", self.conversation.id());
        let failure = Failure { status: None, kind: "error_during_execution".into(), text };
        Turn { failure: Some(failure), ..Turn::default() }
    }
}
