//! The real store as the heart gets it: every commit is counted, checked and hashed, and some are not survived.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use windlass_core::build::{Build, TreeVerdict};
use windlass_core::command::Command;
use windlass_core::id::{BuildId, EffectKey, IssueNumber, Recipe, SessionId, Sha, TaskId};
use windlass_core::session::{Hook, Identity};
use windlass_core::task::Task;
use windlass_core::time::Millis;
use windlass_store::{
    Committed, Decision, EffectRecord, EventQuery, LoggedEvent, PendingEffect, PostedCommand, SqliteStore,
    Store, StoreError, TaskQuery, UsageQuery, UsageRow, Versioned, Which, Write,
};

use super::death::die;
use super::plan::CrashPoint;
use super::world::{DaemonId, Shared};

type Result<T> = std::result::Result<T, StoreError>;

#[derive(Debug)]
pub struct Ledger {
    pub store: SqliteStore,
    pub world: Shared,
    pub daemon: DaemonId,
}

impl Store for Ledger {
    fn commit(&self, write: Write) -> Result<Committed> {
        let nth = {
            let mut world = self.world.lock();
            world.counts.commits += 1;
            let nth = world.counts.commits;
            if world.dies(CrashPoint::BeforeCommit(nth)) {
                drop(world);
                die();
            }
            nth
        };
        let done = self.store.commit(write.clone());
        let mut world = self.world.lock();
        if done.is_ok() {
            let epoch = self.store.epoch().unwrap_or_default();
            world.committed(self.daemon, epoch, &write);
            if world.dies(CrashPoint::AfterCommit(nth)) {
                drop(world);
                die();
            }
        }
        done
    }

    fn post_command(&self, command: &Command, by: &str, at: Millis) -> Result<i64> {
        self.store.post_command(command, by, at)
    }

    fn epoch(&self) -> Option<u64> {
        self.store.epoch()
    }

    fn must_lead(&self) -> Result<()> {
        self.store.must_lead()
    }

    fn live_tasks(&self) -> Result<Vec<Versioned<Task>>> {
        self.store.live_tasks()
    }

    fn task(&self, id: &TaskId) -> Result<Option<Versioned<Task>>> {
        self.store.task(id)
    }

    fn newest_task_of(&self, issue: IssueNumber) -> Result<Option<Versioned<Task>>> {
        self.store.newest_task_of(issue)
    }

    fn count_tasks_of(&self, issue: IssueNumber) -> Result<u32> {
        self.store.count_tasks_of(issue)
    }

    fn tasks_page(&self, query: &TaskQuery) -> Result<Vec<Versioned<Task>>> {
        self.store.tasks_page(query)
    }

    fn tasks_due(&self, now: Millis) -> Result<Vec<Versioned<Task>>> {
        self.store.tasks_due(now)
    }

    fn next_wake(&self) -> Result<Option<Millis>> {
        self.store.next_wake()
    }

    fn ended_since(&self, at: Millis) -> Result<Vec<Versioned<Task>>> {
        self.store.ended_since(at)
    }

    fn counts_by_state(&self) -> Result<BTreeMap<String, u64>> {
        self.store.counts_by_state()
    }

    fn pending_effects(&self) -> Result<Vec<PendingEffect>> {
        self.store.pending_effects()
    }

    fn effect(&self, key: &EffectKey) -> Result<Option<EffectRecord>> {
        self.store.effect(key)
    }

    fn identities(&self, which: Which) -> Result<Vec<Identity>> {
        self.store.identities(which)
    }

    fn identities_of(&self, task: &TaskId) -> Result<Vec<Identity>> {
        self.store.identities_of(task)
    }

    fn identity(&self, name: &SessionId) -> Result<Option<Identity>> {
        self.store.identity(name)
    }

    fn hook(&self, identity: &SessionId) -> Result<Option<Hook>> {
        self.store.hook(identity)
    }

    fn open_builds(&self) -> Result<Vec<Build>> {
        self.store.open_builds()
    }

    fn builds_of(&self, task: &TaskId) -> Result<Vec<Build>> {
        self.store.builds_of(task)
    }

    fn build(&self, id: &BuildId) -> Result<Option<Build>> {
        self.store.build(id)
    }

    fn latest_build(&self, tree: &Sha, recipe: &Recipe) -> Result<Option<Build>> {
        self.store.latest_build(tree, recipe)
    }

    fn verdict(&self, tree: &Sha, recipe: &Recipe) -> Result<Option<TreeVerdict>> {
        self.store.verdict(tree, recipe)
    }

    fn usage(&self, query: &UsageQuery) -> Result<Vec<UsageRow>> {
        self.store.usage(query)
    }

    fn cost(&self, query: &UsageQuery) -> Result<u64> {
        self.store.cost(query)
    }

    fn waiting_commands(&self) -> Result<Vec<PostedCommand>> {
        self.store.waiting_commands()
    }

    fn command(&self, id: i64) -> Result<Option<PostedCommand>> {
        self.store.command(id)
    }

    fn decisions(&self) -> Result<Vec<Decision>> {
        self.store.decisions()
    }

    fn decision(&self, issue: IssueNumber) -> Result<Option<Decision>> {
        self.store.decision(issue)
    }

    fn control(&self, key: &str) -> Result<Option<String>> {
        self.store.control(key)
    }

    fn events(&self, query: &EventQuery) -> Result<Vec<LoggedEvent>> {
        self.store.events(query)
    }

    fn for_each_event(
        &self,
        query: &EventQuery,
        each: &mut dyn FnMut(LoggedEvent) -> ControlFlow<()>,
    ) -> Result<()> {
        self.store.for_each_event(query, each)
    }

    fn last_seq(&self) -> Result<i64> {
        self.store.last_seq()
    }
}
