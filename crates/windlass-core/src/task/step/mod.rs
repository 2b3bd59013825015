//! The rule book: given a task and what happened, the next state and the orders that follow.
//!
//! One file per situation; each names every event once, so a new event stops the build at every decision.

mod anywhere;
mod at_work;
mod ended;
mod in_ci;
mod in_queue;
mod in_review;
mod waiting;

use super::{AbandonReason, Effect, Ending, Event, Feedback, Start, State, Tally, Task};
use crate::bugs::{self, Bug};
use crate::id::{IssueNumber, SessionId, TaskId};
use crate::message;
use crate::policy::Policy;
use crate::time::Millis;

/// A task as it is after an event, and what must be done about it, in this order.
#[must_use]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    pub task: Task,
    pub effects: Vec<Effect>,
}

/// The event says nothing new to this task: it came late, twice, or is about an older session or head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stale;

/// What is known when an issue is taken.
#[derive(Debug, Clone)]
pub struct Claim {
    pub issue: IssueNumber,
    pub title: String,
    /// The how-manieth task of this issue.
    pub nth: u32,
    pub branch_prefix: String,
}

/// The branch of an issue's n-th task.
pub fn branch_of(prefix: &str, IssueNumber(issue): IssueNumber, nth: u32) -> String {
    if nth == 1 { format!("{prefix}{issue}") } else { format!("{prefix}{issue}-{nth}") }
}

/// Takes an issue: the first step of a task.
pub fn claim(policy: &Policy, claim: Claim, at: Millis) -> Step {
    let id = TaskId::nth(claim.issue, claim.nth);
    let session = SessionId::dev(&id, 1);
    let branch = branch_of(&claim.branch_prefix, claim.issue, claim.nth);
    let task = Task {
        id,
        issue: claim.issue,
        title: claim.title,
        branch: branch.clone(),
        state: State::Dispatched,
        since: at,
        session: session.clone(),
        sessions: 1,
        reviews: 0,
        base: None,
        change: None,
        pushed: None,
        retries: 0,
        tally: Tally::default(),
        findings: Vec::new(),
        said: Vec::new(),
        effects: 0,
        counted_at: at,
        bead_id: None,
        node_id: None,
    };
    let labels = &policy.labels;
    let effects = vec![
        Effect::MakeWorkspace { branch },
        Effect::StartSession { session, start: Start::Fresh },
        Effect::SetLabels {
            add: vec![labels.in_progress.clone()],
            remove: vec![labels.backlog.clone(), labels.blocked.clone()],
        },
    ];
    Step { task, effects }
}

/// What `event` makes of `task`.
pub fn step(policy: &Policy, task: &Task, at: Millis, event: &Event) -> Result<Step, Stale> {
    if event.session().is_some_and(|session| *session != task.session) {
        return Err(Stale);
    }
    let move_ = Move::begin(policy, task, at, event);
    match &task.state {
        State::Dispatched | State::Running { .. } | State::Revising { .. } | State::HandingOff { .. } => {
            at_work::on(move_, event)
        }
        State::AwaitingCi { head, tree } => in_ci::on(move_, head, tree, event),
        State::AwaitingCritic { head, tree, critic } => in_review::on(move_, head, tree, critic, event),
        State::Queued { head, .. } => in_queue::on(move_, head, event),
        State::AwaitingSlot { .. } | State::AwaitingHuman { .. } | State::Limited { .. } => {
            waiting::on(move_, event)
        }
        State::Merged { .. } | State::Closed { .. } | State::Abandoned { .. } => ended::on(move_, event),
    }
}

/// One step under way: the task as it will be, and the orders so far.
struct Move<'a> {
    policy: &'a Policy,
    at: Millis,
    task: Task,
    effects: Vec<Effect>,
}

impl<'a> Move<'a> {
    fn begin(policy: &'a Policy, task: &Task, at: Millis, event: &Event) -> Self {
        let mut task = task.clone();
        if task.state.holds_slot() {
            let until = if let Event::Away { since } = event { at.min(*since) } else { at };
            task.tally.active = task.tally.active + until.since(task.counted_at);
        }
        task.counted_at = at.max(task.counted_at);
        Self { policy, at, task, effects: Vec::new() }
    }

    fn order(&mut self, effect: Effect) {
        self.effects.push(effect);
    }

    fn say(&mut self, text: String) {
        self.order(Effect::Say { session: self.task.session.clone(), text });
    }

    fn is_spent(&self) -> bool {
        let (tally, caps) = (&self.task.tally, &self.policy.caps);
        let spent = tally.cost_micro_usd > caps.cost_micro_usd || tally.tokens > caps.tokens;
        spent && !bugs::is(Bug::BudgetIgnored)
    }

    fn stay(self) -> Result<Step, Stale> {
        Ok(Step { task: self.task, effects: self.effects })
    }

    fn go(mut self, state: State) -> Result<Step, Stale> {
        let before = std::mem::replace(&mut self.task.state, state);
        // Whoever leaves the critic, for whatever reason, leaves no critic behind.
        if let Some(session) = before.critic() {
            self.order(Effect::StopSession { session: session.clone() });
        }
        self.task.since = self.at;
        self.stay()
    }

    /// The session has work again; it goes on when it gets a slot.
    fn send_back(self, feedback: Feedback) -> Result<Step, Stale> {
        self.go(State::AwaitingSlot { feedback })
    }

    /// Asks a person. The session stays resumable.
    fn ask(mut self, question: String) -> Result<Step, Stale> {
        let text = message::question(&self.task, &question);
        if !bugs::is(Bug::LostEscalation) {
            self.order(Effect::Comment { text });
        }
        let notified_at = self.at;
        self.go(State::AwaitingHuman { question, notified_at })
    }

    /// A new dev session takes over the workspace.
    fn succeed(&mut self, start: impl FnOnce(SessionId) -> Start) {
        let predecessor = self.task.session.clone();
        self.task.sessions += 1;
        self.task.session = SessionId::dev(&self.task.id, self.task.sessions);
        self.order(Effect::StopSession { session: predecessor.clone() });
        self.order(Effect::StartSession { session: self.task.session.clone(), start: start(predecessor) });
    }

    /// Ends without success: one comment, the right label, the workspace stays.
    fn abandon(mut self, reason: AbandonReason) -> Result<Step, Stale> {
        self.stop_session();
        let labels = &self.policy.labels;
        let (add, restore) = match &reason {
            AbandonReason::Iterations => (labels.needs_review.clone(), None),
            AbandonReason::Refused { .. } => (labels.underspecified.clone(), None),
            AbandonReason::AgentFailed { reason } if message::is_transient(reason) => {
                (labels.blocked.clone(), Some(labels.backlog.clone()))
            }
            AbandonReason::Operator { .. } => (labels.abandon.clone(), None),
            AbandonReason::Budget
            | AbandonReason::WallClock
            | AbandonReason::BlockedByCritic
            | AbandonReason::NoHumanAnswer
            | AbandonReason::CrashRecoveryFailed { .. }
            | AbandonReason::CiExhausted
            | AbandonReason::IdlePrompt
            | AbandonReason::AgentFailed { .. } => (labels.blocked.clone(), None),
        };
        let remove = vec![labels.in_progress.clone()];
        let add: Vec<String> = std::iter::once(add).chain(restore).collect();
        let text = message::abandoned(&self.task, &reason);
        self.order(Effect::SetLabels { add, remove });
        self.order(Effect::Comment { text });
        self.go(State::Abandoned { reason })
    }

    /// Ends with the work on main, or not needed: nothing of it stays behind.
    fn finish(mut self, state: State, comment: String, ending: Option<Ending>) -> Result<Step, Stale> {
        if bugs::is(Bug::RemovalBeforeStop) {
            self.order(Effect::RemoveWorkspace { branch: self.task.branch.clone() });
        }
        self.stop_session();
        self.order(Effect::RemoveWorkspace { branch: self.task.branch.clone() });
        if let Some(ending) = ending {
            self.order(Effect::EndChange { ending });
        }
        let labels = &self.policy.labels;
        let remove = vec![labels.in_progress.clone(), labels.blocked.clone()];
        self.order(Effect::SetLabels { add: Vec::new(), remove });
        self.order(Effect::Comment { text: comment });
        self.order(Effect::CloseIssue);
        self.go(state)
    }

    fn stop_session(&mut self) {
        self.order(Effect::StopSession { session: self.task.session.clone() });
    }
}
