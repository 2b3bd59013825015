//! Everything that can wake the heart. A cause says only that something happened; what it means is looked up.

use windlass_core::forge::Issue;
use windlass_core::id::{BuildId, EffectKey, SessionId};

use crate::perform::Outcome;
use crate::queue::Chained;
use crate::settings::Reloaded;

#[derive(Debug)]
pub enum Cause {
    /// A file of the session changed: its phase or the shim's facts.
    SessionStirred(SessionId),
    /// The session's transcript grows: worth a look, but not at every line.
    SessionSpoke(SessionId),
    /// The session's shim let go of its lock.
    SessionGone(SessionId),
    BuildGone(BuildId),
    /// The process through which a person typed has ended.
    TypistGone,
    EffectEnded {
        key: EffectKey,
        outcome: Outcome,
    },
    /// Issues that are new or changed, and whether this was the whole list.
    IssuesSeen(Result<Seen, String>),
    ChainBuilt(Result<Chained, String>),
    /// Somebody touched the wake file: commands or issues may be waiting.
    Knock,
    /// The configuration has changed, or what it was changed to is not valid.
    Configured(Result<Box<Reloaded>, String>),
    Stop(Stopping),
}

#[derive(Debug)]
pub struct Seen {
    pub issues: Vec<Issue>,
}

/// How the daemon is to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stopping {
    /// Leave agents and builds running; the next daemon takes them over.
    Leave,
    /// A person took the factory down: end every process.
    Down,
}
