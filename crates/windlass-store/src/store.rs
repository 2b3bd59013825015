//! The interface of the memory, in the words of the factory. Every engine passes the same contract tests.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use windlass_core::build::{Build, TreeVerdict};
use windlass_core::command::Command;
use windlass_core::id::{BuildId, EffectKey, IssueNumber, Recipe, SessionId, Sha, TaskId};
use windlass_core::session::{Hook, Identity};
use windlass_core::task::Task;
use windlass_core::time::Millis;

use crate::error::StoreError;
use crate::rows::{
    Decision, EffectRecord, EventQuery, LoggedEvent, PendingEffect, PostedCommand, TaskQuery, UsageQuery,
    Versioned, Which,
};
use crate::write::{Committed, UsageRow, Write};

type Result<T> = std::result::Result<T, StoreError>;

pub trait Store: Send + Sync + std::fmt::Debug {
    /// All of it or nothing. When this returns, it is on the disk.
    fn commit(&self, write: Write) -> Result<Committed>;
    /// Leaves a command for the daemon; the answer is its number. The one thing that a client may write.
    fn post_command(&self, command: &Command, by: &str, at: Millis) -> Result<i64>;
    /// The epoch under which this store writes; `None` for one that only reads and posts commands.
    fn epoch(&self) -> Option<u64>;
    /// An error if another daemon has taken over since. Every commit asks this too; it is for acts that follow none.
    fn must_lead(&self) -> Result<()>;

    /// Oldest first.
    fn live_tasks(&self) -> Result<Vec<Versioned<Task>>>;
    fn task(&self, id: &TaskId) -> Result<Option<Versioned<Task>>>;
    fn newest_task_of(&self, issue: IssueNumber) -> Result<Option<Versioned<Task>>>;
    fn count_tasks_of(&self, issue: IssueNumber) -> Result<u32>;
    fn tasks_page(&self, query: &TaskQuery) -> Result<Vec<Versioned<Task>>>;
    /// Live tasks whose time has come by `now`, the most overdue first.
    fn tasks_due(&self, now: Millis) -> Result<Vec<Versioned<Task>>>;
    /// When the next live task has to be looked at.
    fn next_wake(&self) -> Result<Option<Millis>>;
    /// Tasks that ended at `at` or later, oldest first.
    fn ended_since(&self, at: Millis) -> Result<Vec<Versioned<Task>>>;
    /// How many tasks stand in each state, ended ones included. A state without tasks is not named.
    fn counts_by_state(&self) -> Result<BTreeMap<String, u64>>;

    /// In the order in which they were given.
    fn pending_effects(&self) -> Result<Vec<PendingEffect>>;
    fn effect(&self, key: &EffectKey) -> Result<Option<EffectRecord>>;

    /// Oldest first.
    fn identities(&self, which: Which) -> Result<Vec<Identity>>;
    fn identities_of(&self, task: &TaskId) -> Result<Vec<Identity>>;
    fn identity(&self, name: &SessionId) -> Result<Option<Identity>>;
    fn hook(&self, identity: &SessionId) -> Result<Option<Hook>>;

    /// Those that wait or run, oldest first.
    fn open_builds(&self) -> Result<Vec<Build>>;
    /// All of one task, the newest first.
    fn builds_of(&self, task: &TaskId) -> Result<Vec<Build>>;
    fn build(&self, id: &BuildId) -> Result<Option<Build>>;
    fn latest_build(&self, tree: &Sha, recipe: &Recipe) -> Result<Option<Build>>;
    fn verdict(&self, tree: &Sha, recipe: &Recipe) -> Result<Option<TreeVerdict>>;

    /// Oldest first.
    fn usage(&self, query: &UsageQuery) -> Result<Vec<UsageRow>>;
    /// The sum over the same rows, in millionths of a dollar.
    fn cost(&self, query: &UsageQuery) -> Result<u64>;

    /// In the order in which they came.
    fn waiting_commands(&self) -> Result<Vec<PostedCommand>>;
    fn command(&self, id: i64) -> Result<Option<PostedCommand>>;
    fn decisions(&self) -> Result<Vec<Decision>>;
    fn decision(&self, issue: IssueNumber) -> Result<Option<Decision>>;
    fn control(&self, key: &str) -> Result<Option<String>>;

    fn events(&self, query: &EventQuery) -> Result<Vec<LoggedEvent>>;
    /// Hands over one event at a time, up to what is logged when the call begins. `each` may use the store.
    fn for_each_event(
        &self,
        query: &EventQuery,
        each: &mut dyn FnMut(LoggedEvent) -> ControlFlow<()>,
    ) -> Result<()>;
    /// The number of the newest event; 0 in an empty log.
    fn last_seq(&self) -> Result<i64>;
}
