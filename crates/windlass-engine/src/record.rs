//! Writes down what happened: event, new state and orders in one transaction. Nothing else writes task state.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};

use windlass_core::activity::{Activity, ContextUse};
use windlass_core::build::Build;
use windlass_core::id::{BuildId, EffectKey, IssueNumber, SessionId, TaskId};
use windlass_core::journal::{Entry, Fact, FactoryFact};
use windlass_core::policy::Policy;
use windlass_core::session::{Hook, Identity, IdentityStatus, Role};
use windlass_core::task::{self, Effect, Event, Start, State, Step, Task};
use windlass_core::text;
use windlass_core::time::Millis;
use windlass_store::{Op, Store, StoreError, Which, Write};

use crate::layout::Layout;

/// An effect that waits to be carried out.
#[derive(Debug, Clone)]
pub struct Order {
    pub key: EffectKey,
    pub owner: Option<TaskId>,
    pub effect: Effect,
    pub attempt: u32,
    pub not_before: Millis,
    /// An earlier daemon may have begun it: look before doing it again.
    pub probe: bool,
}

/// What the heart knows by heart, all of it read from the store at the start, and the page being written.
#[derive(Debug)]
pub struct Book {
    pub tasks: BTreeMap<TaskId, Task>,
    versions: BTreeMap<TaskId, u64>,
    pub identities: BTreeMap<SessionId, Identity>,
    pub builds: BTreeMap<BuildId, Build>,
    /// Issues whose newest task has ended: only a person's retry starts them again.
    pub ended: BTreeSet<IssueNumber>,
    /// What all have cost since a time, as the store said; forgotten when it learns of more.
    spent: Option<(Millis, u64)>,
    page: Page,
    policy: Policy,
    layout: Layout,
}

#[derive(Debug, Default)]
struct Page {
    ops: Vec<Op>,
    orders: Vec<Order>,
    cancelled: Vec<TaskId>,
    mirrors: Vec<Mirror>,
    /// Tasks that ended on this page: the store does not know it yet.
    ended: BTreeMap<TaskId, Task>,
}

/// A record that is also written out as a file, for people and other tools.
#[derive(Debug)]
pub enum Mirror {
    Identity(Box<Identity>),
    Hook(Box<Hook>),
}

/// What a committed page asks for.
#[derive(Debug, Default)]
pub struct Written {
    pub orders: Vec<Order>,
    pub cancelled: Vec<TaskId>,
    pub mirrors: Vec<Mirror>,
}

impl Book {
    pub fn new(policy: Policy, layout: Layout) -> Self {
        Self {
            tasks: BTreeMap::new(),
            versions: BTreeMap::new(),
            identities: BTreeMap::new(),
            builds: BTreeMap::new(),
            ended: BTreeSet::new(),
            spent: None,
            page: Page::default(),
            policy,
            layout,
        }
    }

    /// From now on decisions follow this one.
    pub fn take_policy(&mut self, policy: Policy) {
        self.policy = policy;
    }

    /// All that is live in the store.
    pub fn stored(store: &dyn Store, policy: &Policy, layout: &Layout) -> Result<Self, StoreError> {
        let mut book = Self::new(policy.clone(), layout.clone());
        for task in store.live_tasks()? {
            book.remember(task.value, task.version);
        }
        for identity in store.identities(Which::Live)? {
            book.identities.insert(identity.name.clone(), identity);
        }
        for build in store.open_builds()? {
            book.builds.insert(build.id.clone(), build);
        }
        Ok(book)
    }

    /// Takes a stored task into memory.
    pub fn remember(&mut self, task: Task, version: u64) {
        self.versions.insert(task.id.clone(), version);
        self.tasks.insert(task.id.clone(), task);
    }

    /// The issue's task, if it is in memory or ended on the page that is being written.
    pub fn task_of(&self, issue: IssueNumber) -> Option<&Task> {
        self.tasks.values().chain(self.page.ended.values()).find(|task| task.issue == issue)
    }

    /// Whether the task is in memory, or can be taken back from the page that is being written.
    pub fn recall(&mut self, id: &TaskId) -> bool {
        if let Some(task) = self.page.ended.remove(id) {
            self.tasks.insert(id.clone(), task);
        }
        self.tasks.contains_key(id)
    }

    pub fn is_blank(&self) -> bool {
        self.page.ops.is_empty()
    }

    pub fn put(&mut self, op: Op) {
        self.page.ops.push(op);
    }

    pub fn log(&mut self, at: Millis, fact: FactoryFact) {
        self.put(Op::Log(Entry { at, task: None, issue: None, fact: Fact::Factory(fact) }));
    }

    pub fn log_of(&mut self, at: Millis, task: &TaskId, fact: FactoryFact) {
        let issue = task.issue();
        self.put(Op::Log(Entry { at, task: Some(task.clone()), issue, fact: Fact::Factory(fact) }));
    }

    /// Orders an effect that belongs to no step of a task.
    pub fn order(&mut self, at: Millis, key: EffectKey, owner: Option<TaskId>, effect: Effect) {
        self.put(Op::Intend {
            key: key.clone(),
            owner: owner.clone(),
            effect: effect.clone(),
            not_before: at,
            at,
        });
        self.page.orders.push(Order { key, owner, effect, attempt: 0, not_before: at, probe: false });
    }

    /// Whether the page being written orders such an effect.
    pub fn orders(&self, test: impl Fn(&Effect) -> bool) -> bool {
        self.page.orders.iter().any(|order| test(&order.effect))
    }

    /// Whether the page being written makes void what was ordered for the task's work.
    pub fn cancels(&self, task: &TaskId) -> bool {
        self.page.cancelled.contains(task)
    }

    pub fn save_build(&mut self, build: Build) {
        self.put(Op::SaveBuild(build.clone()));
        match build.status {
            windlass_core::build::BuildStatus::Ended { .. } => self.builds.remove(&build.id),
            _ => self.builds.insert(build.id.clone(), build),
        };
    }

    pub fn save_identity(&mut self, identity: Identity) {
        self.put(Op::SaveIdentity(identity.clone()));
        self.page.mirrors.push(Mirror::Identity(Box::new(identity.clone())));
        if identity.status == IdentityStatus::Active {
            self.identities.insert(identity.name.clone(), identity);
        } else {
            self.identities.remove(&identity.name);
        }
    }

    /// Takes an issue.
    pub fn claim(&mut self, at: Millis, asked: task::Claim) {
        let Step { task, effects } = task::claim(&self.policy, asked, at);
        let fact = FactoryFact::TaskClaimed {
            title: text::one_line(&task.title, 250),
            branch: task.branch.clone(),
            session: task.session.clone(),
        };
        let mut task = task;
        let orders = self.number(at, &mut task, effects);
        self.put(Op::InsertTask { task: task.clone(), wake_at: self.wake(&task) });
        self.remember(task.clone(), 1);
        self.log_of(at, &task.id, fact);
        self.checkpoint(at, &task);
        self.intend(at, &task, orders, &Activity::default());
    }

    /// One event of one task. Answers whether it changed anything.
    pub fn happened(&mut self, at: Millis, id: &TaskId, event: &Event) -> bool {
        let Some(before) = self.tasks.get(id).cloned() else {
            tracing::debug!(task = %id, event = event.name(), "event for a task that is not live");
            return false;
        };
        let Some(Step { task: mut after, effects }) = self.step(&before, at, event) else {
            tracing::debug!(task = %id, event = event.name(), state = before.state.name(), "stale event");
            if before.state.is_terminal() {
                self.tasks.remove(id);
            }
            return false;
        };
        let moved = std::mem::discriminant(&before.state) != std::mem::discriminant(&after.state);
        let orders = self.number(at, &mut after, effects);
        let expected = self.versions.get(id).copied().unwrap_or(1);
        self.versions.insert(id.clone(), expected + 1);
        self.put(Op::Log(Entry {
            at,
            task: Some(id.clone()),
            issue: Some(before.issue),
            fact: Fact::Task(event.clone()),
        }));
        self.put(Op::SaveTask { task: after.clone(), expected, wake_at: self.wake(&after), at });
        self.tasks.insert(id.clone(), after.clone());
        let activity = self.activity(&before);
        self.identity_after(at, &before, &after, event);
        if moved {
            self.moved(at, &before, &after, event);
        }
        if after.state.is_terminal() && !before.state.is_terminal() {
            self.cancel(at, id);
        }
        self.intend(at, &after, orders, &activity);
        if after.session != before.session && !moved {
            self.checkpoint(at, &after);
        }
        if after.state.is_terminal() {
            self.tasks.remove(id);
            self.ended.insert(after.issue);
            self.page.ended.insert(id.clone(), after);
        }
        true
    }

    /// A panic while serving one task parks that task and stops nothing else.
    fn step(&self, task: &Task, at: Millis, event: &Event) -> Option<Step> {
        let run =
            |event: &Event| catch_unwind(AssertUnwindSafe(|| task::step(&self.policy, task, at, event)));
        match run(event) {
            Ok(answer) => answer.ok(),
            Err(_) => {
                tracing::error!(task = %task.id, event = event.name(), "a rule panicked");
                let parked = Event::EffectFailed {
                    effect: "step".into(),
                    why: format!("a rule panicked on {}", event.name()),
                };
                run(&parked).ok().and_then(Result::ok)
            }
        }
    }

    fn wake(&self, task: &Task) -> Option<Millis> {
        task::wake_at(&self.policy, task).map(|(at, _)| at)
    }

    /// Gives each effect its key: task, running number, name.
    fn number(&self, at: Millis, task: &mut Task, effects: Vec<Effect>) -> Vec<Order> {
        let orders = effects.into_iter().map(|effect| {
            task.effects += 1;
            let key = EffectKey::new(format!("{}:{}:{}", task.id, task.effects, effect.name()));
            Order { key, owner: Some(task.id.clone()), effect, attempt: 0, not_before: at, probe: false }
        });
        orders.collect()
    }

    /// What was ordered for the task's work is void, also what stands on this page.
    fn cancel(&mut self, at: Millis, id: &TaskId) {
        self.put(Op::CancelEffects { owner: id.clone(), at });
        self.page.cancelled.push(id.clone());
        self.page.orders.retain(|order| order.owner.as_ref() != Some(id) || !order.effect.ends_with_task());
    }

    fn intend(&mut self, at: Millis, task: &Task, orders: Vec<Order>, activity: &Activity) {
        for order in orders {
            self.register(at, task, &order.effect, activity);
            self.put(Op::Intend {
                key: order.key.clone(),
                owner: order.owner.clone(),
                effect: order.effect.clone(),
                not_before: at,
                at,
            });
            self.page.orders.push(order);
        }
    }

    /// An identity is written before its process starts. A successor goes on where its predecessor was seen.
    fn register(&mut self, at: Millis, task: &Task, effect: &Effect, activity: &Activity) {
        let (name, role, head, predecessor) = match effect {
            Effect::StartSession { session, start } => (session, Role::Dev, None, predecessor(start)),
            Effect::StartReview { session, head } => (session, Role::Review, Some(head.clone()), None),
            _ => return,
        };
        let activity = predecessor.as_ref().map(|_| activity.clone()).unwrap_or_default();
        let identity = Identity {
            role,
            name: name.clone(),
            task: task.id.clone(),
            issue: task.issue,
            session_id: None,
            pid: None,
            tmux_session: None,
            node_id: task.node_id.clone(),
            bead_id: task.bead_id.clone(),
            worktree_path: self.layout.workspace(&task.id).to_string_lossy().into_owned(),
            hook_path: self.layout.hook(name).to_string_lossy().into_owned(),
            created_at: at,
            last_seen: at,
            status: IdentityStatus::Active,
            predecessor_id: predecessor.clone(),
            strikes: 0,
            head,
            phase_mark: None,
            facts_read: 0,
            cost_seen_micro_usd: 0,
            transcript_read: 0,
            hooks_read: 0,
            activity,
            context: ContextUse::default(),
        };
        self.save_identity(identity);
        let fact = FactoryFact::AgentRegistered { session: name.clone(), role, predecessor };
        self.log_of(at, &task.id, fact);
    }

    fn identity_after(&mut self, at: Millis, before: &Task, after: &Task, event: &Event) {
        let Some(mut identity) = self.identities.get(&before.session).cloned() else { return };
        match event {
            // Who had said all that it had to say goes on when it is told to.
            Event::AgentCrashed { .. } if after.session == before.session && !after.state.is_terminal() => {
                return;
            }
            Event::AgentCrashed { .. } => identity.status = IdentityStatus::Crashed,
            Event::SessionStarted { .. } | Event::TurnEnded { .. } | Event::PhaseSeen { .. } => {
                identity.last_seen = at;
                identity.strikes = 0;
            }
            _ => return,
        }
        self.save_identity(identity);
    }

    fn moved(&mut self, at: Millis, before: &Task, after: &Task, event: &Event) {
        let reason = match &after.state {
            State::Abandoned { reason } => reason.word(),
            State::AwaitingSlot { feedback } => feedback.word().to_owned(),
            _ => event.name().to_owned(),
        };
        let fact = FactoryFact::TaskMoved {
            from: before.state.name().to_owned(),
            to: after.state.name().to_owned(),
            reason,
            session: after.session.clone(),
        };
        self.log_of(at, &after.id, fact);
        match &after.state {
            State::Queued { head, .. } => {
                self.log_of(at, &after.id, FactoryFact::MergeReady { head: head.clone() });
            }
            State::HandingOff { .. } => {
                let session = after.session.clone();
                self.log_of(at, &after.id, FactoryFact::HandoffRequested { session });
            }
            _ => {}
        }
        if let (State::HandingOff { .. }, Event::Due { .. }) = (&before.state, event) {
            let session = before.session.clone();
            self.log_of(at, &after.id, FactoryFact::OrchestratorStuck { session });
        }
        self.begin_round(before, after);
        self.checkpoint(at, after);
    }

    /// Writes the page. Waits for a full disk or a busy database; any other failure ends the daemon.
    pub fn commit(&mut self, store: &dyn Store, wait: impl Fn(&StoreError)) -> Result<Written, StoreError> {
        let page = std::mem::take(&mut self.page);
        if !page.ops.is_empty() {
            if page.ops.iter().any(|op| matches!(op, Op::AddUsage(_))) {
                self.spent = None;
            }
            let write = Write::from(page.ops);
            loop {
                match store.commit(write.clone()) {
                    Ok(_) => break,
                    Err(error) if error.is_transient() => wait(&error),
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(Written { orders: page.orders, cancelled: page.cancelled, mirrors: page.mirrors })
    }
}

fn predecessor(start: &Start) -> Option<SessionId> {
    match start {
        Start::Fresh => None,
        Start::Recover { predecessor }
        | Start::Continue { predecessor }
        | Start::Retry { predecessor, .. } => Some(predecessor.clone()),
    }
}

mod checkpoint;
mod spent;
#[cfg(test)]
mod tests;
