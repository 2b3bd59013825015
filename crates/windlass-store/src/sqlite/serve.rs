//! Answers the store's interface: one call per question.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::PoisonError;

use windlass_core::build::{Build, TreeVerdict};
use windlass_core::command::Command;
use windlass_core::id::{BuildId, EffectKey, IssueNumber, Recipe, SessionId, Sha, TaskId};
use windlass_core::session::{Hook, Identity};
use windlass_core::task::Task;
use windlass_core::time::Millis;

use super::writer::{self, Work, write_now};
use super::{Access, SqliteStore, builds, effects, events, people, sessions, tasks, usage};
use crate::error::StoreError;
use crate::rows::{
    Decision, EffectRecord, EventQuery, LoggedEvent, PendingEffect, PostedCommand, RawEvent, TaskQuery,
    UsageQuery, Versioned, Which,
};
use crate::store::Store;
use crate::write::{Committed, UsageRow, Write};

type Result<T> = std::result::Result<T, StoreError>;

impl SqliteStore {
    /// As `for_each_event`, without looking into the events: for one who hands all of them on.
    pub fn for_each_raw_event(
        &self,
        query: &EventQuery,
        each: &mut dyn FnMut(RawEvent) -> ControlFlow<()>,
    ) -> Result<()> {
        let page = |page: &EventQuery| self.read("read events", |conn| events::list_raw(conn, page));
        events::for_each(query, self.last_seq()?, page, |event| event.seq, each)
    }

    pub(super) fn path(&self) -> std::path::PathBuf {
        match &self.access {
            Access::Daemon { readers, .. }
            | Access::Client { readers, .. }
            | Access::ReadOnly { readers } => readers.path().to_owned(),
            Access::Memory { .. } => Path::new(":memory:").to_owned(),
        }
    }
}

impl Store for SqliteStore {
    fn commit(&self, write: Write) -> Result<Committed> {
        let last_seq = match &self.access {
            Access::Daemon { writer, .. } => writer.submit(Work::Commit(write))?,
            Access::Memory { memory, epoch, .. } => {
                write_now(&memory.conn(), Some(*epoch), Work::Commit(write))?
            }
            Access::Client { .. } => return Err(StoreError::ClientOnly { path: self.path() }),
            Access::ReadOnly { .. } => return Err(StoreError::ReadOnly { path: self.path() }),
        };
        Ok(Committed { last_seq })
    }

    fn post_command(&self, command: &Command, by: &str, at: Millis) -> Result<i64> {
        let work = Work::Post { command: command.clone(), by: by.to_owned(), at };
        match &self.access {
            Access::Daemon { writer, .. } => writer.submit(work),
            Access::Client { poster: conn, .. } => {
                write_now(&conn.lock().unwrap_or_else(PoisonError::into_inner), None, work)
            }
            Access::Memory { memory, .. } => write_now(&memory.conn(), None, work),
            Access::ReadOnly { .. } => Err(StoreError::ReadOnly { path: self.path() }),
        }
    }

    fn epoch(&self) -> Option<u64> {
        match &self.access {
            Access::Daemon { epoch, .. } | Access::Memory { epoch, .. } => Some(*epoch),
            Access::Client { .. } | Access::ReadOnly { .. } => None,
        }
    }

    fn must_lead(&self) -> Result<()> {
        self.with_reader(|conn| writer::must_lead(conn, self.epoch()))
    }

    fn live_tasks(&self) -> Result<Vec<Versioned<Task>>> {
        self.read("list the live tasks", tasks::live)
    }

    fn task(&self, id: &TaskId) -> Result<Option<Versioned<Task>>> {
        self.read("read a task", |conn| tasks::by_id(conn, id))
    }

    fn newest_task_of(&self, issue: IssueNumber) -> Result<Option<Versioned<Task>>> {
        self.read("read an issue's newest task", |conn| tasks::newest_of(conn, issue))
    }

    fn count_tasks_of(&self, issue: IssueNumber) -> Result<u32> {
        self.read("count an issue's tasks", |conn| tasks::count_of(conn, issue))
    }

    fn tasks_page(&self, query: &TaskQuery) -> Result<Vec<Versioned<Task>>> {
        self.read("list tasks", |conn| tasks::page(conn, query))
    }

    fn tasks_due(&self, now: Millis) -> Result<Vec<Versioned<Task>>> {
        self.read("list the tasks that are due", |conn| tasks::due(conn, now))
    }

    fn next_wake(&self) -> Result<Option<Millis>> {
        self.read("find when the next task is due", tasks::next_wake)
    }

    fn ended_since(&self, at: Millis) -> Result<Vec<Versioned<Task>>> {
        self.read("list the tasks that ended", |conn| tasks::ended_since(conn, at))
    }

    fn counts_by_state(&self) -> Result<BTreeMap<String, u64>> {
        self.read("count tasks", tasks::counts_by_state)
    }

    fn pending_effects(&self) -> Result<Vec<PendingEffect>> {
        self.read("list the effects that wait", effects::pending)
    }

    fn effect(&self, key: &EffectKey) -> Result<Option<EffectRecord>> {
        self.read("read an effect", |conn| effects::by_key(conn, key))
    }

    fn identities(&self, which: Which) -> Result<Vec<Identity>> {
        self.read("list identities", |conn| sessions::identities(conn, which))
    }

    fn identities_of(&self, task: &TaskId) -> Result<Vec<Identity>> {
        self.read("list a task's identities", |conn| sessions::of_task(conn, task))
    }

    fn identity(&self, name: &SessionId) -> Result<Option<Identity>> {
        self.read("read an identity", |conn| sessions::identity(conn, name))
    }

    fn hook(&self, identity: &SessionId) -> Result<Option<Hook>> {
        self.read("read a hook", |conn| sessions::hook(conn, identity))
    }

    fn open_builds(&self) -> Result<Vec<Build>> {
        self.read("list the open builds", builds::open)
    }

    fn builds_of(&self, task: &TaskId) -> Result<Vec<Build>> {
        self.read("list a task's builds", |conn| builds::of_task(conn, task))
    }

    fn build(&self, id: &BuildId) -> Result<Option<Build>> {
        self.read("read a build", |conn| builds::by_id(conn, id))
    }

    fn latest_build(&self, tree: &Sha, recipe: &Recipe) -> Result<Option<Build>> {
        self.read("read a tree's latest build", |conn| builds::latest(conn, tree, recipe))
    }

    fn verdict(&self, tree: &Sha, recipe: &Recipe) -> Result<Option<TreeVerdict>> {
        self.read("read a tree's verdict", |conn| builds::verdict(conn, tree, recipe))
    }

    fn usage(&self, query: &UsageQuery) -> Result<Vec<UsageRow>> {
        self.read("list usage", |conn| usage::list(conn, query))
    }

    fn cost(&self, query: &UsageQuery) -> Result<u64> {
        self.read("add up usage", |conn| usage::cost(conn, query))
    }

    fn waiting_commands(&self) -> Result<Vec<PostedCommand>> {
        self.read("list the commands that wait", people::waiting)
    }

    fn command(&self, id: i64) -> Result<Option<PostedCommand>> {
        self.read("read a command", |conn| people::command(conn, id))
    }

    fn decisions(&self) -> Result<Vec<Decision>> {
        self.read("list the decisions", people::decisions)
    }

    fn decision(&self, issue: IssueNumber) -> Result<Option<Decision>> {
        self.read("read a decision", |conn| people::decision(conn, issue))
    }

    fn control(&self, key: &str) -> Result<Option<String>> {
        self.read("read a control", |conn| people::control(conn, key))
    }

    fn events(&self, query: &EventQuery) -> Result<Vec<LoggedEvent>> {
        self.read("list events", |conn| events::list(conn, query))
    }

    fn for_each_event(
        &self,
        query: &EventQuery,
        each: &mut dyn FnMut(LoggedEvent) -> ControlFlow<()>,
    ) -> Result<()> {
        events::for_each(query, self.last_seq()?, |page| self.events(page), |event| event.seq, each)
    }

    fn last_seq(&self) -> Result<i64> {
        self.read("read the last event's number", events::last_seq)
    }
}
