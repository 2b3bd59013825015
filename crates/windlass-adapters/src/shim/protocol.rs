//! What daemon and shim say to each other through the files of one folder.

use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::ExitStatus;

use serde::{Deserialize, Serialize};
use windlass_core::time::Millis;

use crate::process::GroupLimits;

/// Held locked by the shim for its whole life: the proof that it lives.
pub const LOCK: &str = "lock";
pub const LAUNCH: &str = "launch.json";
pub const INBOX: &str = "inbox.jsonl";
pub const FACTS: &str = "turns.jsonl";
pub const TRANSCRIPT: &str = "transcript.jsonl";
pub const STDERR: &str = "stderr.log";
/// Everything a build prints, as it came.
pub const LOG: &str = "log";
pub const EXIT: &str = "exit.json";
/// Where its control group is, written down before there is one.
pub const GROUP: &str = "cgroup.json";
/// Its appearance asks the shim to stop.
pub const STOP: &str = "stop";
/// What the shim itself had to say: empty unless something is wrong.
pub const SHIM_LOG: &str = "shim.log";

/// Every process below a shim carries this variable with the shim's folder.
pub const SESSION_DIR: &str = "WINDLASS_SESSION_DIR";

/// In its environment the shim gets variables for its program that are written down nowhere, since they may be secrets:
/// one JSON object, so that none of them means anything to the shim itself.
pub(super) const GIVEN: &str = "WINDLASS_GIVEN";

/// What to run and how to talk to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Launch {
    pub argv: Vec<String>,
    /// What to run in place of `argv` once a message was handed over: the same program, going on with its conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub again: Option<Vec<String>>,
    /// The environment but for what the shim is given at its start; nothing else is inherited.
    pub env: BTreeMap<String, String>,
    pub cwd: PathBuf,
    pub framing: Framing,
    /// For one life of the shim.
    pub wall_limit_ms: Option<i64>,
    /// How long a conversation without a message stays open.
    pub keep_warm_ms: i64,
    pub max_line_bytes: usize,
    pub max_output_bytes: u64,
    /// Between the request to stop and the kill.
    pub term_grace_ms: i64,
    /// For all processes of the program together.
    #[serde(default)]
    pub limits: GroupLimits,
}

/// How messages reach the program and how a turn ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Framing {
    /// No messages: one run, for builds.
    Once,
    /// One run per message; its end is the end of the turn.
    Turns,
    /// One run for all messages; a line of type `result` ends the turn.
    StreamJson,
}

/// One line of the inbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    pub id: String,
    pub text: String,
}

/// One line of the shim's journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "fact", rename_all = "snake_case")]
pub enum Fact {
    Started {
        pid: i32,
        start_time: u64,
        at: Millis,
    },
    /// Written down before the message is handed over: it is never handed over twice.
    Delivered {
        message: String,
        at: Millis,
    },
    TurnEnded {
        message: String,
        at: Millis,
        end: End,
    },
    Exited(Exit),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    Exit(i32),
    Signal(i32),
    Result(TurnResult),
}

/// What the program said about its own turn, as found in its `result` line.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TurnResult {
    #[serde(default)]
    pub is_error: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<serde_json::Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_cost_usd: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// The model that cost most in this conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Only of a turn that failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
    /// When the limit ends that the turn has met.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limited_until: Option<Millis>,
}

/// How a program explains a failed turn.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The provider's status code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u64>,
    /// The program's own words for how it ended.
    pub kind: String,
    pub text: String,
}

/// How it all ended. Exactly one of `code` and `signal`, or an `error` when nothing ran to an end.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exit {
    pub code: Option<i32>,
    pub signal: Option<i32>,
    pub at: Millis,
    /// The wall limit stopped it.
    pub timed_out: bool,
    /// A request to stop came before its end.
    pub stopped: bool,
    /// Processes that were still there after the program itself had ended.
    pub killed_leftovers: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl End {
    pub fn is_good(&self) -> bool {
        match self {
            Self::Exit(code) => *code == 0,
            Self::Signal(_) => false,
            Self::Result(result) => !result.is_error,
        }
    }

    pub(super) fn of(status: ExitStatus) -> Self {
        match (status.code(), status.signal()) {
            (Some(code), _) => Self::Exit(code),
            (None, Some(signal)) => Self::Signal(signal),
            (None, None) => Self::Exit(-1),
        }
    }
}

impl From<&End> for Exit {
    fn from(end: &End) -> Self {
        match end {
            End::Exit(code) => Self { code: Some(*code), ..Self::default() },
            End::Signal(signal) => Self { signal: Some(*signal), ..Self::default() },
            End::Result(result) => Self { code: Some(i32::from(result.is_error)), ..Self::default() },
        }
    }
}
