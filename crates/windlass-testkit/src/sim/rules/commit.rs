//! What must hold of every transaction that a daemon commits.

use windlass_core::build::{BuildOutcome, BuildStatus, TreeResult, TreeVerdict};
use windlass_core::id::{EffectKey, Sha, TaskId};
use windlass_core::journal::{Entry, Fact, FactoryFact};
use windlass_core::session::IdentityStatus;
use windlass_core::task::{Effect, Event, Feedback, State, Task};
use windlass_store::{Op, Write};

use super::Rule;
use crate::sim::ci::failing;
use crate::sim::git::Merged;
use crate::sim::probe::sometimes;
use crate::sim::world::{DaemonId, World};

impl World {
    pub fn committed(&mut self, daemon: DaemonId, epoch: u64, write: &Write) {
        self.trace.add(&write.ops);
        if epoch != self.seen.epoch {
            let newest = self.seen.epoch;
            self.complain(Rule::Fence, format!("daemon {daemon} of epoch {epoch} writes, {newest} is here"));
        }
        self.check_turns(write);
        for op in write.ops.iter() {
            self.check_op(write, op);
        }
        self.check_task_slots();
        self.check_listened();
    }

    fn check_op(&mut self, write: &Write, op: &Op) {
        match op {
            Op::InsertTask { task, .. } => self.check_new_task(task),
            Op::SaveTask { task, .. } => self.check_step(write, task),
            Op::Log(entry) => self.check_fact(entry),
            Op::Intend { key, owner, effect, .. } => self.check_intent(key, owner.as_ref(), effect),
            Op::EffectFailed { key, .. } => self.check_told(write, key),
            Op::EffectDone { key, result, .. } => self.check_done(key, result),
            Op::SaveVerdict(verdict) => self.check_verdict(verdict),
            Op::SaveBuild(build) => {
                if let BuildStatus::Ended { outcome: BuildOutcome::Passed { .. } } = &build.status {
                    self.seen.passed.insert(build.id.clone());
                }
            }
            Op::SaveIdentity(identity) => {
                self.seen.read.remove(&identity.name);
                if identity.strikes > 0 {
                    let (name, strikes) = (&identity.name, identity.strikes);
                    self.trace.note(self.now, || format!("{name} has {strikes} strikes"));
                }
                if identity.status == IdentityStatus::Active {
                    self.seen.read.insert(identity.name.clone(), identity.facts_read);
                }
            }
            Op::SetControl { key, value } => self.check_control(key, value.as_deref()),
            Op::EffectRetry { .. }
            | Op::CancelEffects { .. }
            | Op::SaveHook(_)
            | Op::AddUsage(_)
            | Op::AnswerCommand { .. }
            | Op::Decide { .. } => {}
        }
    }

    fn check_new_task(&mut self, task: &Task) {
        let live = |other: &&Task| other.issue == task.issue && !other.state.is_terminal();
        if let Some(other) = self.seen.tasks.values().find(live) {
            let what = format!("{} is taken as {} while {} is live", task.issue, task.id, other.id);
            self.complain(Rule::OneTask, what);
        }
        if self.seen.paused {
            self.complain(Rule::Paused, format!("{} is taken while paused", task.issue));
        }
        self.seen.tasks.insert(task.id.clone(), task.clone());
    }

    fn check_step(&mut self, write: &Write, task: &Task) {
        let Some(before) = self.seen.tasks.insert(task.id.clone(), task.clone()) else { return };
        if let Some(head) = &task.pushed {
            let heads = self.seen.heads.entry(task.id.clone()).or_default();
            if !heads.contains(head) {
                heads.push(head.clone());
            }
        }
        if before.state == task.state {
            self.check_caps(task);
            return;
        }
        self.check_caps(task);
        self.check_budget(&before, task);
        self.check_leaving(&before, task);
        match &task.state {
            State::Queued { head, .. } => {
                if !self.seen.approved.contains(&(task.id.clone(), head.clone())) {
                    let what = format!("{} waits for main with {head}, which no critic approved", task.id);
                    self.complain(Rule::Approved, what);
                }
            }
            State::AwaitingHuman { .. } if !matches!(before.state, State::AwaitingHuman { .. }) => {
                self.check_asked(write, task);
            }
            State::Merged { commit } => {
                sometimes!(self, "a task merged");
                if !self.seen.was_reset && !self.git.is_ancestor(commit, &self.git.main()) {
                    let what = format!("{} counts as merged and {commit} is not on main", task.id);
                    self.complain(Rule::OnMain, what);
                }
            }
            State::Dispatched
            | State::Running { .. }
            | State::AwaitingCi { .. }
            | State::AwaitingCritic { .. }
            | State::AwaitingSlot { .. }
            | State::Revising { .. }
            | State::AwaitingHuman { .. }
            | State::Limited { .. }
            | State::HandingOff { .. }
            | State::Closed { .. }
            | State::Abandoned { .. } => {}
        }
        self.probe_step(&before, task);
    }

    /// I7: from the queue a task goes to main, back to its session with a reason, to a person, or to its end.
    fn check_leaving(&mut self, before: &Task, after: &Task) {
        if !matches!(before.state, State::Queued { .. }) {
            return;
        }
        let fine = match &after.state {
            State::Merged { .. } | State::Closed { .. } | State::Abandoned { .. } => true,
            State::AwaitingHuman { .. } | State::AwaitingCi { .. } | State::Queued { .. } => true,
            State::AwaitingSlot { feedback } => match feedback {
                Feedback::Conflict { files, .. } => !files.is_empty(),
                Feedback::GateFailed { failing, .. } => !failing.is_empty(),
                Feedback::Told { .. } => true,
                Feedback::CiFailed { .. }
                | Feedback::ChangesRequested { .. }
                | Feedback::Answer { .. }
                | Feedback::LimitOver
                | Feedback::Retry { .. } => false,
            },
            State::Dispatched
            | State::Running { .. }
            | State::AwaitingCritic { .. }
            | State::Revising { .. }
            | State::Limited { .. }
            | State::HandingOff { .. } => false,
        };
        if !fine {
            self.complain(Rule::Leaves, format!("{} left the queue as {:?}", after.id, after.state));
        }
    }

    /// A question is ordered to be put where people read, in the same transaction.
    fn check_asked(&mut self, write: &Write, task: &Task) {
        let asks = |op: &Op| match op {
            Op::Intend { owner, effect: Effect::Comment { text }, .. } => {
                owner.as_ref() == Some(&task.id) && text.starts_with("**Needs you.**")
            }
            _ => false,
        };
        if !write.ops.iter().any(asks) {
            self.complain(Rule::Asked, format!("{} waits for a person whom nobody tells", task.id));
        }
    }

    fn check_fact(&mut self, entry: &Entry) {
        if let Some(task) = &entry.task {
            self.trace.note(self.now, || format!("{task} {}", said(&entry.fact)));
        } else {
            self.trace.note(self.now, || said(&entry.fact));
        }
        match &entry.fact {
            Fact::Factory(FactoryFact::QueuePaused { reason, .. }) => {
                self.probe_pause(reason);
                self.queue_stands();
            }
            Fact::Factory(FactoryFact::MainMovedOutside { .. }) => {
                sometimes!(self, "somebody's push was adopted");
            }
            Fact::Factory(FactoryFact::EffectDone { adopted: true, .. }) => {
                sometimes!(self, "an effect was found done after a crash");
            }
            Fact::Factory(FactoryFact::Resumed) => sometimes!(self, "paused and resumed by a person"),
            Fact::Factory(FactoryFact::Decided { decision }) if decision.starts_with("waits for") => {
                sometimes!(self, "an issue waited for another");
            }
            Fact::Task(event) => {
                if let Some(task) = &entry.task {
                    self.check_event(task, event);
                }
            }
            Fact::Factory(_) => {}
        }
    }

    fn check_event(&mut self, task: &TaskId, event: &Event) {
        self.probe_event(task, event);
        match event {
            Event::SlotGranted | Event::CriticGranted if self.seen.paused => {
                self.complain(Rule::Paused, format!("{task} goes on while paused"));
            }
            Event::Ejected { head, .. } if !self.seen.flakes && !self.fails(task, head) => {
                self.complain(Rule::Innocent, format!("{task} is sent back with {head}, which passes"));
            }
            _ => {}
        }
    }

    /// Whether the head breaks tests on a main that there was, alone or together with another that waits.
    fn fails(&mut self, task: &TaskId, head: &Sha) -> bool {
        let others = self.seen.tasks.values().filter(|other| other.id != *task);
        let others: Vec<Sha> = others.filter_map(|other| other.pushed.clone()).collect();
        for main in self.seen.mains.clone() {
            let mut bases = vec![main.clone()];
            for other in &others {
                if let Merged::Clean(tree) = self.git.merge(&main, other) {
                    bases.push(self.git.commit(&tree, &[&main, other], "what if", 0));
                }
            }
            for base in bases {
                if let Merged::Clean(tree) = self.git.merge(&base, head)
                    && !failing(&self.git.tree(&tree).expect("just made")).is_empty()
                {
                    return true;
                }
            }
        }
        false
    }

    fn check_intent(&mut self, key: &EffectKey, owner: Option<&TaskId>, effect: &Effect) {
        if let (Effect::Land { .. }, true) = (effect, self.seen.queue_stands) {
            self.complain(Rule::QueueStands, format!("{key} is ordered while the queue stands"));
        }
        self.seen.intents.insert(key.clone(), (owner.cloned(), effect.clone()));
    }

    /// A task that works or waits for a machine hears of it; who waits for a person or has ended need not.
    fn check_told(&mut self, write: &Write, key: &EffectKey) {
        let Some((Some(owner), _)) = self.seen.intents.get(key) else { return };
        let deaf = match self.seen.tasks.get(owner).map(|task| &task.state) {
            Some(
                State::Dispatched
                | State::Running { .. }
                | State::Revising { .. }
                | State::HandingOff { .. }
                | State::AwaitingCi { .. }
                | State::AwaitingCritic { .. }
                | State::Queued { .. },
            ) => false,
            Some(
                State::AwaitingSlot { .. }
                | State::AwaitingHuman { .. }
                | State::Limited { .. }
                | State::Merged { .. }
                | State::Closed { .. }
                | State::Abandoned { .. },
            )
            | None => true,
        };
        let told = |op: &Op| match op {
            Op::Log(entry) => {
                entry.task.as_ref() == Some(owner)
                    && matches!(entry.fact, Fact::Task(Event::EffectFailed { .. }))
            }
            _ => false,
        };
        if !deaf && !write.ops.iter().any(told) {
            let what = format!("{key} failed for good and {owner} does not hear of it");
            self.complain(Rule::Told, what);
        }
    }

    fn check_done(&mut self, key: &EffectKey, result: &serde_json::Value) {
        let own_row = matches!(self.seen.intents.get(key), Some((_, Effect::StartBuild { .. })));
        if !own_row && !self.seen.done.contains(key) {
            self.complain(Rule::Recorded, format!("{key} counts as done ({result}) and was not done"));
        }
    }

    fn check_verdict(&mut self, verdict: &TreeVerdict) {
        let truth = self.seen.results.get(&verdict.build);
        let fits = match (&verdict.result, truth) {
            (TreeResult::Pass, Some(Some(BuildOutcome::Passed { .. }))) => {
                self.seen.green.insert(verdict.tree.clone());
                true
            }
            (TreeResult::Fail { .. }, Some(Some(BuildOutcome::Failed { .. }))) => true,
            (TreeResult::Pass | TreeResult::Fail { .. }, _) => false,
        };
        if !fits {
            let what = format!("{} is written down as {:?}, it was {truth:?}", verdict.build, verdict.result);
            self.complain(Rule::Infra, what);
        }
    }

    fn check_control(&mut self, key: &str, value: Option<&str>) {
        match key {
            "paused" => self.seen.paused = value.is_some(),
            "queue_paused" => self.seen.queue_stands = value.is_some(),
            _ => {}
        }
    }

    /// One outward act under this key.
    pub fn act(&mut self, key: &EffectKey, what: &str) {
        self.trace.add(&(key, what));
        let acts = self.seen.acts.entry(key.clone()).or_default();
        *acts += 1;
        // Who sets main back has a landing that nobody wrote down done again.
        if *acts > 1 && !(self.seen.was_reset && key.as_str().starts_with("land:")) {
            let times = *acts;
            self.complain(Rule::Doubled, format!("{what} {times} times under {key}"));
        }
    }
}

fn said(fact: &Fact) -> String {
    let mut text = format!("{fact:?}");
    text.truncate(text.char_indices().nth(160).map_or(text.len(), |(at, _)| at));
    text
}
