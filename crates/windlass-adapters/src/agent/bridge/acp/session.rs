//! One agent process with one session of the Agent Client Protocol: requests, and what comes until each is answered.

use std::io;
use std::process::ExitStatus;

use serde_json::{Value, json};

use super::Acp;
use super::message::{Message, NO_SESSION, Permission, Update, permit, read};
use crate::agent::Conversation;
use crate::agent::bridge::failure;
use crate::agent::bridge::memory::Memory;
use crate::agent::bridge::program::{Heard, Program};
use crate::shim::Failure;

const PROTOCOL_VERSION: u64 = 1;
/// JSON-RPC: we have no such method, as we have said at the beginning.
const NO_METHOD: i64 = -32_601;

#[derive(Debug, thiserror::Error)]
pub(super) enum CallError {
    #[error("the agent has ended: {0}")]
    Ended(ExitStatus),
    #[error("cannot speak with the agent")]
    Broken(#[from] io::Error),
    /// The agent lives and says no.
    #[error("{}", .0.text)]
    Refused(Failure),
}

#[derive(Debug)]
pub(super) struct Session {
    line: Line,
    id: String,
    pub model: Option<String>,
}

/// The agent's process and the number of our last request to it.
#[derive(Debug)]
struct Line {
    program: Program,
    last: u64,
    permission: Permission,
}

impl Session {
    /// Starts the agent and goes on with the conversation, or begins it.
    pub fn open(told: &Acp) -> Result<Self, CallError> {
        let mut line = Line { program: Program::start(&told.command)?, last: 0, permission: told.permission };
        match line.enter(told) {
            Ok((id, model)) => Ok(Self { line, id, model }),
            Err(error) => {
                // One that does not let us in is not left behind.
                line.program.end()?;
                Err(error)
            }
        }
    }

    /// Everything that the agent does for one message; the answer says how it ended.
    pub fn prompt(
        &mut self,
        text: &str,
        told: impl FnMut(Update) -> io::Result<()>,
    ) -> Result<Value, CallError> {
        let params = json!({"sessionId": self.id, "prompt": [{"type": "text", "text": text}]});
        self.line.call("session/prompt", &params, told)
    }

    pub fn end(self) -> io::Result<()> {
        self.line.program.end()
    }
}

impl Line {
    fn enter(&mut self, told: &Acp) -> Result<(String, Option<String>), CallError> {
        let capabilities = json!({"fs": {"readTextFile": false, "writeTextFile": false}, "terminal": false});
        let hello = json!({
            "protocolVersion": PROTOCOL_VERSION,
            "clientCapabilities": capabilities,
            "clientInfo": {"name": "windlass", "version": env!("CARGO_PKG_VERSION")},
        });
        let agent = self.call("initialize", &hello, silent)?;
        if agent["protocolVersion"] != PROTOCOL_VERSION {
            return Err(refused(format!("the agent speaks version {}", agent["protocolVersion"])));
        }
        let cwd = std::env::current_dir()?;
        let mut params = json!({"cwd": cwd, "mcpServers": []});
        let memory = Memory::new(&told.home, told.conversation.id());
        let known = memory.recall().map_err(io::Error::other)?;
        let loads = agent["agentCapabilities"]["loadSession"] == true;
        let (id, opened) = match (known, &told.conversation) {
            (Some(id), _) if loads => {
                params["sessionId"] = json!(id);
                // It tells the whole conversation again, which is in the transcript already.
                let opened = self.call("session/load", &params, silent).map_err(|error| gone(&id, error))?;
                (id, opened)
            }
            (_, Conversation::Resumed(id)) => return Err(CallError::Refused(failure::lost(id))),
            (_, Conversation::New(_)) => {
                let opened = self.call("session/new", &params, silent)?;
                let id =
                    opened["sessionId"].as_str().ok_or_else(|| refused("a session without a name".into()))?;
                memory.keep(id)?;
                (id.to_owned(), opened)
            }
        };
        Ok((id, opened["models"]["currentModelId"].as_str().map(str::to_owned)))
    }

    fn call(
        &mut self,
        method: &str,
        params: &Value,
        mut told: impl FnMut(Update) -> io::Result<()>,
    ) -> Result<Value, CallError> {
        self.last += 1;
        self.say(&json!({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params}))?;
        loop {
            match self.program.hear()? {
                Heard::Ended(status) => return Err(CallError::Ended(status)),
                Heard::Complaint(text) => {
                    io::Write::write_all(&mut io::stderr(), format!("{text}\n").as_bytes())?
                }
                Heard::Line(line) => match read(&line) {
                    Some(Message::Answer { id, result }) if id == self.last => {
                        return result.map_err(CallError::Refused);
                    }
                    Some(Message::Asks { id, method, params }) => self.answer(&id, &method, &params)?,
                    Some(Message::Update(update)) => told(update)?,
                    Some(Message::Answer { .. }) | None => {}
                },
            }
        }
    }

    fn answer(&mut self, id: &Value, method: &str, params: &Value) -> io::Result<()> {
        if method == "session/request_permission" {
            let result = permit(params, self.permission);
            return self.say(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
        }
        let error = json!({"code": NO_METHOD, "message": format!("there is no `{method}` here")});
        self.say(&json!({"jsonrpc": "2.0", "id": id, "error": error}))
    }

    fn say(&mut self, message: &Value) -> io::Result<()> {
        self.program.say(&format!("{message}\n"))
    }
}

fn silent(_: Update) -> io::Result<()> {
    Ok(())
}

fn refused(text: String) -> CallError {
    CallError::Refused(Failure { status: None, kind: "error".to_owned(), text })
}

/// Agents say in words of their own that they know no such session, some only that something went wrong. So it is lost
/// unless the words are about something else: a login, a limit, a provider that is down.
fn gone(id: &str, error: CallError) -> CallError {
    match error {
        CallError::Refused(failure) if matches!(failure.kind.as_str(), NO_SESSION | failure::UNKNOWN) => {
            CallError::Refused(failure::lost(id))
        }
        CallError::Refused(_) | CallError::Ended(_) | CallError::Broken(_) => error,
    }
}
