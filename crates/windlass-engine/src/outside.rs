//! Everything outside the heart, as the heart reaches it: one seam, so that a simulator can stand behind it.
//!
//! What takes time is only begun here; its end comes back as a cause.

use std::fmt::Debug;
use std::time::Duration;

use windlass_core::build::BuildOutcome;
use windlass_core::command::Typist;
use windlass_core::id::{BuildId, SessionId, Sha};
use windlass_core::schedule::Hold;
use windlass_core::session::{Identity, Process};
use windlass_core::task::Task;
use windlass_core::time::Millis;

use crate::mirror;
use crate::queue::Wanted;
use crate::record::Order;
use crate::sessions::Look;
use crate::settings::Settings;

pub trait Outside: Debug + Send {
    /// Begins an effect; `Cause::EffectEnded` tells how it ended. `task` is its owner as it is now.
    fn begin(&mut self, order: Order, task: Option<Task>);

    /// Begins to read the issues that changed since then, or all; ends with `Cause::IssuesSeen`.
    fn read_issues(&mut self, since: Option<Millis>);

    /// Begins to ask git; ends with `Cause::ChainBuilt`.
    fn link(&mut self, question: Question);

    /// Whether the session's process lives.
    fn process(&self, identity: &Identity) -> Process;

    /// Whether the process through which a person types is still there.
    fn is_there(&self, typist: &Typist) -> bool;

    /// Wakes the heart when that process is gone, at once if it is. Asking again is fine.
    fn watch_typist(&mut self, typist: &Typist);

    /// What the session's files say since they were last read.
    fn read_session(&self, identity: &Identity, life: Life) -> Result<Look, String>;

    /// What moves when the session works.
    fn signs(&self, session: &SessionId) -> Signs;

    /// A session from before a restart: what it holds stays its own.
    fn remember(&mut self, identity: &Identity);

    /// Wakes the heart when the session signals something or its process ends.
    fn watch_session(&mut self, session: &SessionId);

    fn forget_session(&mut self, session: &SessionId);

    /// Wakes the heart when the build's process ends, at once if it has. Asking again is fine.
    fn watch_build(&mut self, build: &BuildId);

    /// How a build whose process is gone has ended; `None` when we stopped it ourselves and it must run again.
    fn build_result(&self, build: &BuildId) -> Option<BuildOutcome>;

    /// The guard of the machine that is not met, if any.
    fn room(&self) -> Option<Hold>;

    /// What the disk lacks for any work at all, if anything.
    fn full(&self) -> Option<Hold>;

    /// Writes a record out for people and other tools.
    fn mirror(&mut self, page: mirror::Page);

    /// The store cannot be written to: waits before the next try.
    fn wait_for_store(&self);

    /// What is begun from now on is done by these settings.
    fn reconfigure(&mut self, settings: &Settings);

    /// Ends every process of these, and waits until they are gone.
    fn stop_all(&mut self, sessions: Vec<SessionId>, builds: Vec<BuildId>);
}

/// What the queue asks git: how main stands to the one that we know, and what these entries are on top of it.
#[derive(Debug)]
pub struct Question {
    pub known: Option<Sha>,
    /// What the queue has planned on so far, with its tree; it holds for as long as main is the one that we know.
    pub base: Option<(Sha, Sha)>,
    pub wanted: Vec<Wanted>,
}

/// Whether a session's process is known to have ended, so that a turn without an end was cut off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Life {
    MayGoOn,
    Over,
}

/// Output and processor time of a session: a long quiet test run is work too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Signs {
    pub output: Option<Millis>,
    pub cpu: Option<Duration>,
}
