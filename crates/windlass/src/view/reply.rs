//! What commands that do something say about it, for programs.

use schemars::JsonSchema;
use serde::Serialize;

pub const SCHEMA: &str = "windlass.done/1";
pub const NEW_SCHEMA: &str = "windlass.new/1";
pub const INIT_SCHEMA: &str = "windlass.init/1";
pub const UP_SCHEMA: &str = "windlass.up/1";
pub const DOWN_SCHEMA: &str = "windlass.down/1";
pub const ANSWER_SCHEMA: &str = "windlass.answer/1";

/// Something was done, and there is no more to say.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Reply {
    pub schema: &'static str,
    pub what: String,
    pub issue: Option<u64>,
    /// Nothing was done: this is what would be.
    pub dry_run: bool,
}

impl Reply {
    pub fn new(what: impl Into<String>, issue: Option<u64>) -> Self {
        Self { schema: SCHEMA, what: what.into(), issue, dry_run: false }
    }
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct NewReply {
    pub schema: &'static str,
    pub number: u64,
    pub title: String,
    pub labels: Vec<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct InitReply {
    pub schema: &'static str,
    pub project: String,
    pub root: String,
    pub config: String,
    pub state_dir: String,
    pub branch: String,
    /// None: it has to be set before the factory can start.
    pub ci: Option<String>,
    /// None: it has to be set before the factory can start.
    pub agent: Option<String>,
    /// Agents that are installed here.
    pub agents: Vec<AgentFound>,
    /// Where issues and changes live.
    pub forge: &'static str,
    /// Where `origin` lies, which is only read; without credentials.
    pub remote: Option<String>,
    pub next: Vec<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct AgentFound {
    /// As in `kind` of the configuration.
    pub kind: &'static str,
    pub program: String,
    /// As in `command` of the configuration; none for a kind that needs none.
    pub command: Option<Vec<String>>,
    /// None: it does not say.
    pub version: Option<String>,
    /// key, missing or unknown.
    pub login: &'static str,
    /// The variable that holds a key for it, never the key; none if there is none, or if it has its own ways.
    pub key: Option<&'static str>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct UpReply {
    pub schema: &'static str,
    pub pid: Option<u32>,
    /// It was up before.
    pub already: bool,
    pub log: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct DownReply {
    pub schema: &'static str,
    pub was_running: bool,
    pub processes_left: usize,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Answered {
    pub schema: &'static str,
    pub command: i64,
    /// done, or waiting for the factory to be up.
    pub status: &'static str,
    pub text: String,
}
