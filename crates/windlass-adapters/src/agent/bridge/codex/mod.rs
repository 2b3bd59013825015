//! The bridge to codex: a process for each message, which goes on with the same thread.

mod event;

pub use event::{Event, read};

use std::io::{self, BufRead, Write};
use std::path::PathBuf;
use std::process::ExitStatus;

use serde::{Deserialize, Serialize};

use super::memory::Memory;
use super::program::{Heard, Program};
use super::{Talk, Turn, failure};
use crate::agent::Conversation;
use crate::files;
use crate::shim::Failure;

/// Plugins and apps are looked for on the network, and codex asks for its own newer version there.
const QUIET: [&str; 10] = [
    "--disable",
    "plugins",
    "--disable",
    "apps",
    "--disable",
    "remote_plugin",
    "-c",
    "analytics.enabled=false",
    "-c",
    "check_for_update_on_startup=false",
];
/// The provider that a profile declares, by the name that codex is told.
const PROVIDER: &str = "profile";
/// The variable by which codex gets its key, whoever the provider is.
pub const KEY: &str = "CODEX_API_KEY";
/// Once may be a moment without a network.
const WAITS: usize = 2;

/// What the bridge is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Codex {
    pub binary: String,
    pub model: Option<String>,
    pub base_url: Option<String>,
    pub conversation: Conversation,
    pub home: PathBuf,
}

/// How far a turn has come.
#[derive(Debug, Default)]
struct Course {
    turn: Turn,
    completed: bool,
    waits: usize,
    complaint: String,
}

impl Codex {
    pub(super) fn run(&self) -> io::Result<()> {
        self.forget_index()?;
        let mut talk = Talk::new(io::stdin().lock(), io::stdout().lock(), self.conversation.id());
        while let Some(text) = talk.hear()? {
            talk.begin()?;
            let turn = self.turn(&mut talk, &text)?;
            talk.end(&turn)?;
        }
        Ok(())
    }

    /// Codex finds a thread by an index with absolute paths, and our home may have been moved here since it was made.
    /// Without one it looks into the folder of its threads and makes another.
    fn forget_index(&self) -> io::Result<()> {
        files::remove_tree(&self.index()).map_err(io::Error::other)?;
        std::fs::create_dir_all(self.index())
    }

    fn index(&self) -> PathBuf {
        self.home.join(".windlass/codex-index")
    }

    fn turn(&self, talk: &mut Talk<impl BufRead, impl Write>, text: &str) -> io::Result<Turn> {
        let memory = Memory::new(&self.home, self.conversation.id());
        let known = memory.recall().map_err(io::Error::other)?;
        if let (None, Conversation::Resumed(id)) = (&known, &self.conversation) {
            return Ok(Turn { failure: Some(failure::lost(id)), ..Turn::default() });
        }
        let mut program = Program::start(&self.argv(known.as_deref()))?;
        program.say(text)?;
        program.close_stdin();
        let mut course = Course::default();
        course.turn.usage.model.clone_from(&self.model);
        let status = loop {
            match program.hear()? {
                Heard::Line(line) => course.take(read(&line), &memory, talk)?,
                Heard::Complaint(line) => {
                    writeln!(io::stderr(), "{line}")?;
                    course.complaint = line;
                }
                Heard::Ended(status) => break status,
            }
            if course.waits >= WAITS {
                program.end()?;
                return Ok(course.turn);
            }
        };
        course.end(status)
    }

    fn argv(&self, thread: Option<&str>) -> Vec<String> {
        let mut argv = vec![self.binary.clone(), "exec".to_owned()];
        argv.extend(thread.into_iter().flat_map(|thread| ["resume".to_owned(), thread.to_owned()]));
        argv.extend(
            ["--json", "--dangerously-bypass-approvals-and-sandbox", "--skip-git-repo-check"]
                .map(str::to_owned),
        );
        argv.extend(QUIET.map(str::to_owned));
        let mut set = |key: &str, value: &str| {
            argv.extend(["-c".to_owned(), format!("{key}={}", serde_json::Value::from(value))]);
        };
        set("sqlite_home", &self.index().to_string_lossy());
        if let Some(model) = &self.model {
            set("model", model);
        }
        if let Some(url) = &self.base_url {
            set("model_provider", PROVIDER);
            set(&format!("model_providers.{PROVIDER}.name"), PROVIDER);
            set(&format!("model_providers.{PROVIDER}.base_url"), url);
            set(&format!("model_providers.{PROVIDER}.env_key"), KEY);
            set(&format!("model_providers.{PROVIDER}.wire_api"), "responses");
        }
        argv.push("-".to_owned());
        argv
    }
}

impl Course {
    fn take(
        &mut self,
        event: Option<Event>,
        memory: &Memory,
        talk: &mut Talk<impl BufRead, impl Write>,
    ) -> io::Result<()> {
        for tool in event.iter().flat_map(Event::tools) {
            talk.used(tool)?;
        }
        match event {
            // At once, so that a turn that is killed can be gone on with.
            Some(Event::Thread(id)) => memory.keep(&id)?,
            Some(Event::Said(text)) => {
                talk.said(&text)?;
                self.turn.text = text;
            }
            Some(Event::Completed(total)) => {
                let spent = memory.spend(total)?;
                self.turn.usage.input = spent.input.saturating_sub(spent.cached);
                self.turn.usage.cache_read = spent.cached;
                self.turn.usage.output = spent.output;
                self.completed = true;
            }
            Some(Event::Failed(text)) => self.turn.failure = Some(failure::by_words(&text)),
            Some(Event::Waits(text)) => {
                self.waits += 1;
                self.turn.failure = Some(failure::by_words(&text));
            }
            Some(
                Event::Ran(_) | Event::Changed(_) | Event::Searched(_) | Event::Planned | Event::Called(_),
            )
            | None => {}
        }
        Ok(())
    }

    /// Its end without a word about the turn is a failure, or a death that its session shares.
    fn end(mut self, status: ExitStatus) -> io::Result<Turn> {
        if self.completed {
            self.turn.failure = None;
        } else if status.code().is_none() {
            return Err(io::Error::other(format!("codex was ended: {status}")));
        } else if self.complaint.contains("no rollout found") {
            self.turn.failure = Some(failure::lost(&self.complaint));
        } else if self.turn.failure.is_none() {
            let text = format!("codex ended with {status}: {}", self.complaint);
            self.turn.failure = Some(Failure { status: None, kind: "error".to_owned(), text });
        }
        Ok(self.turn)
    }
}

#[cfg(test)]
mod tests;
