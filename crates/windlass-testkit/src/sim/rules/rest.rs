//! What must hold when the heart rests, and when everything has come to its end.

use windlass_core::deps::{self, Dependencies};
use windlass_core::forge::Issue;
use windlass_core::id::{EffectKey, SessionId};
use windlass_core::task::{ClosedHow, State, Task};
use windlass_engine::Mind;
use windlass_store::{SqliteStore, Store, StoreError, UsageQuery, Which, replay_states};

use super::Rule;
use crate::sim::plan::{MINUTE, Tick};
use crate::sim::world::World;

/// So long something may stay unseen: a forge that hangs, a notice that is lost, a clock that went back.
const PATIENCE: Tick = 18 * MINUTE;

impl World {
    /// Whatever the heart has in mind could be read from the store by the next one.
    pub fn check_mind(&mut self, store: &SqliteStore, mind: &Mind<'_>) -> Result<(), StoreError> {
        let stored = store.live_tasks()?;
        let tasks = stored.iter().map(|row| (&row.value.id, &row.value));
        if !mind.tasks.iter().eq(in_order(tasks)) {
            self.complain(Rule::Remembered, "the tasks in mind are not those in the store");
        }
        let stored = store.identities(Which::Live)?;
        if !mind.identities.iter().eq(in_order(stored.iter().map(|found| (&found.name, found)))) {
            self.complain(Rule::Remembered, "the sessions in mind are not those in the store");
        }
        let stored = store.open_builds()?;
        if !mind.builds.iter().eq(in_order(stored.iter().map(|found| (&found.id, found)))) {
            self.complain(Rule::Remembered, "the builds in mind are not those in the store");
        }
        let stored: Vec<EffectKey> = store.pending_effects()?.into_iter().map(|effect| effect.key).collect();
        let mut stored: Vec<&EffectKey> = stored.iter().collect();
        let mut orders: Vec<&EffectKey> = mind.orders.iter().map(|order| &order.key).collect();
        stored.sort();
        orders.sort();
        if stored != orders {
            let what = format!("effects in mind {orders:?}, in the store {stored:?}");
            self.complain(Rule::Remembered, what);
        }
        Ok(())
    }

    /// Somebody waits and a slot is free: not for long.
    pub fn check_idle_slot(&mut self) {
        let busy = self.seen.tasks.values().filter(|task| task.state.holds_slot()).count();
        let free = busy < self.plan.parallel as usize;
        let hindered = self.seen.paused
            || self.now < self.outage_until.max(self.hangs_until)
            || self.disk_full.is_some();
        let waits = |task: &Task| matches!(task.state, State::AwaitingSlot { .. });
        let wanted = self.seen.tasks.values().any(waits) || self.untaken().next().is_some();
        if !free || hindered || !wanted {
            self.seen.waits_since = None;
            return;
        }
        let since = *self.seen.waits_since.get_or_insert(self.now);
        if self.now - since > PATIENCE {
            let who: Vec<_> = self.untaken().map(|issue| issue.number).collect();
            self.complain(Rule::IdleSlot, format!("a slot is free and somebody waits, issues {who:?}"));
        }
    }

    /// What a session did is seen, also if nobody is told of it.
    pub fn check_noticed(&mut self) {
        let late = |(name, read): &(&SessionId, &u64)| {
            let session = self.sessions.get(*name);
            let news =
                session.filter(|session| session.facts.len() as u64 > **read).map(|session| session.news_at);
            news.is_some_and(|at| self.now - at.max(self.seen.served_since) > PATIENCE)
        };
        if let Some((name, _)) = self.seen.read.iter().find(late) {
            let what = format!("nobody sees what {name} did");
            self.complain(Rule::Noticed, what);
        }
    }

    /// Another daemon has to find its way first.
    pub fn daemon_changed(&mut self) {
        self.seen.waits_since = None;
        self.seen.served_since = self.now;
    }

    /// Issues that could be taken and never were.
    fn untaken(&self) -> impl Iterator<Item = &Issue> {
        let taken = |issue: &Issue| self.seen.tasks.values().any(|task| task.issue == issue.number);
        self.forge.all().filter(move |issue| issue.open && !taken(issue) && self.is_ready(issue))
    }

    fn is_ready(&self, issue: &Issue) -> bool {
        let labels = &self.settings.policy.labels;
        let marked = [&labels.backlog, &labels.priority, &labels.in_progress];
        let barred = [&labels.abandon, &labels.underspecified, &labels.blocked];
        let has = |name: &&String| issue.has_label(name);
        let Dependencies::On(on) = deps::parse(&issue.body) else { return false };
        let closed = |number| self.forge.issue(number).is_some_and(|other| !other.open);
        marked.iter().any(has) && !barred.iter().any(has) && on.into_iter().all(closed)
    }

    /// What has not come to its end yet; empty when all has.
    pub fn open_ends(&self, store: &SqliteStore) -> Result<Vec<String>, StoreError> {
        let mut open: Vec<String> = Vec::new();
        let tasks = self.seen.tasks.values().filter(|task| !task.state.is_terminal());
        open.extend(tasks.map(|task| format!("task {} is {:?}", task.id, task.state)));
        if !open.is_empty() {
            return Ok(open);
        }
        open.extend(self.untaken().map(|issue| format!("issue {} was never taken", issue.number)));
        let decided = store.decisions()?;
        let unknown = self
            .forge
            .all()
            .filter(|issue| issue.open && !decided.iter().any(|known| known.issue == issue.number));
        open.extend(unknown.map(|issue| format!("nothing is decided about issue {}", issue.number)));
        let alive = self.sessions.iter().filter(|(_, session)| session.alive);
        open.extend(alive.map(|(name, _)| format!("session {name} lives")));
        let alive = self.runs.iter().filter(|(_, run)| run.alive);
        open.extend(alive.map(|(id, _)| format!("build {id} runs")));
        open.extend(store.pending_effects()?.iter().map(|effect| format!("effect {} waits", effect.key)));
        open.extend(store.open_builds()?.iter().map(|build| format!("build {} is open", build.id)));
        let active = store.identities(Which::Live)?;
        open.extend(active.iter().map(|found| format!("identity {} is active", found.name)));
        let commands = store.waiting_commands()?;
        open.extend(commands.iter().map(|posted| format!("command {} has no answer", posted.id)));
        Ok(open)
    }

    fn check_money(&mut self, store: &SqliteStore) -> Result<(), StoreError> {
        for (issue, used) in self.talks.used_micro_usd.clone() {
            let counted = store.cost(&UsageQuery { issue: Some(issue), since: None })?;
            if counted != used {
                self.complain(Rule::Counted, format!("{issue} used {used}, and {counted} is counted"));
            }
        }
        Ok(())
    }

    /// Once, when all has ended.
    pub fn check_end(&mut self, store: &SqliteStore) -> Result<(), StoreError> {
        self.check_money(store)?;
        for wrong in replay_states(store)? {
            self.complain(Rule::Replays, format!("{wrong:?}"));
        }
        let main = self.git.main();
        for ((task, head), commit) in self.seen.landed.clone() {
            let state = self.seen.tasks.get(&task).map(|task| task.state.clone());
            let recorded = matches!(
                &state,
                Some(State::Merged { .. } | State::Closed { how: ClosedHow::AlreadyOnMain })
            );
            if !recorded && self.git.is_ancestor(&commit, &main) {
                self.complain(Rule::OnMain, format!("{task} landed {head} and is {state:?}"));
            }
        }
        for task in self.seen.tasks.values().cloned().collect::<Vec<_>>() {
            if let State::Merged { commit } = &task.state
                && !self.seen.was_reset
                && !self.git.is_ancestor(commit, &main)
            {
                self.complain(Rule::OnMain, format!("{} is merged and not on main", task.id));
            }
        }
        let lost: Vec<_> =
            self.seen.external.iter().filter(|theirs| !self.git.is_ancestor(theirs, &main)).collect();
        if !lost.is_empty() {
            let what = format!("{lost:?} is not on main any more");
            self.complain(Rule::OthersKept, what);
        }
        Ok(())
    }
}

/// Stored rows come in the order of their making, what is in mind in the order of names.
fn in_order<K: Ord, V>(rows: impl Iterator<Item = (K, V)>) -> impl Iterator<Item = (K, V)> {
    rows.collect::<std::collections::BTreeMap<K, V>>().into_iter()
}
