//! What must hold of tasks at work: caps, money, slots, turns; and which situations were reached.

use windlass_adapters::git::RESCUE;
use windlass_core::id::{SessionId, Sha, TaskId};
use windlass_core::journal::Fact;
use windlass_core::task::{AbandonReason, ClosedHow, Crash, Event, Feedback, State, Task};
use windlass_store::{Op, Write};

use super::Rule;
use crate::sim::probe::sometimes;
use crate::sim::world::{Workspace, World};

impl World {
    pub(super) fn check_caps(&mut self, task: &Task) {
        let (tally, caps) = (&task.tally, &self.settings.policy.caps);
        // A person who is asked about one conflict too many may let it go on.
        let answers = self.answers.get(&task.issue).copied().unwrap_or(0);
        let within = [
            ("critic rounds", tally.critic_rounds, caps.critic_rounds),
            ("fixes", tally.ci_fixes, caps.ci_fixes),
            ("builds that could not run", tally.ci_infra, caps.ci_infra_retries),
            ("reminders", tally.nudges, caps.nudges),
            ("conflicts", tally.conflicts, caps.conflicts + 1 + answers),
            ("restarts", u32::try_from(tally.restarts.len()).unwrap_or(u32::MAX), caps.restarts),
        ];
        if let Some((what, used, cap)) = within.into_iter().find(|(_, used, cap)| used > cap) {
            self.complain(Rule::Caps, format!("{} used {used} {what}, {cap} are allowed", task.id));
        }
        // What is counted by those who are asked, not by those who count.
        let asked = task.retries + 1;
        let rounds = (self.settings.policy.caps.critic_rounds - 1) * asked;
        let sent_back = self.seen.sent_back.get(&task.id).copied().unwrap_or(0);
        if sent_back > rounds {
            let what =
                format!("{} was sent back by critics {sent_back} times, {rounds} are allowed", task.id);
            self.complain(Rule::Caps, what);
        }
    }

    pub(super) fn check_budget(&mut self, before: &Task, after: &Task) {
        let cap = self.settings.policy.caps.cost_micro_usd;
        let enters = after.state.holds_slot() && !before.state.holds_slot();
        if enters && after.tally.cost_micro_usd > cap {
            let spent = after.tally.cost_micro_usd;
            self.complain(Rule::Budget, format!("{} gets a slot and has spent {spent} of {cap}", after.id));
        }
    }

    /// Nobody works without a slot, also not on a person's retry.
    pub(super) fn check_task_slots(&mut self) {
        let at_work = self.seen.tasks.values().filter(|task| task.state.holds_slot()).count();
        let limit = self.plan.parallel as usize;
        if at_work > limit {
            self.complain(Rule::TaskSlots, format!("{at_work} tasks in {limit} slots"));
        }
    }

    /// A session that is to work is one that is looked at.
    pub(super) fn check_listened(&mut self) {
        let deaf = |task: &&Task| {
            matches!(task.state, State::Running { .. } | State::Revising { .. } | State::HandingOff { .. })
                && !self.seen.read.contains_key(&task.session)
        };
        if let Some(task) = self.seen.tasks.values().find(deaf) {
            let what = format!("{} works on {} and nobody listens", task.session, task.id);
            self.complain(Rule::Noticed, what);
        }
    }

    /// Who has waited longest for a slot gets it first.
    pub(super) fn check_turns(&mut self, write: &Write) {
        let granted: Vec<TaskId> = write.ops.iter().filter_map(granted).collect();
        let Some(latest) =
            granted.iter().filter_map(|id| self.seen.tasks.get(id)).map(|task| task.since).max()
        else {
            return;
        };
        let waits = |task: &&Task| {
            matches!(task.state, State::AwaitingSlot { .. })
                && task.since < latest
                && !granted.contains(&task.id)
                && !write
                    .ops
                    .iter()
                    .any(|op| matches!(op, Op::SaveTask { task: other, .. } if other.id == task.id))
        };
        if let Some(task) = self.seen.tasks.values().find(waits) {
            let what = format!("{} waits since {:?} and {granted:?} go before", task.id, task.since);
            self.complain(Rule::InTurn, what);
        }
    }

    /// One live dev session per workspace, one live session under each name.
    pub fn one_session_only(&mut self, name: &SessionId) {
        let session = &self.sessions[name];
        let same = |(other, found): &(&SessionId, &crate::sim::session::Session)| {
            *other != name && found.alive && found.task == session.task && found.head.is_none()
        };
        if session.head.is_some() {
            return;
        }
        if let Some((other, _)) = self.sessions.iter().find(same) {
            let what = format!("{name} starts in the workspace in which {other} works");
            self.complain(Rule::OneSession, what);
        }
    }

    /// What a workspace held is on main, or under the name by which it is found again. Files that were in no commit
    /// can only be there.
    pub fn check_saved(&mut self, task: &TaskId, gone: &Workspace) {
        let holds = |at: &Sha| self.git.is_ancestor(&gone.head, at);
        let kept = self.git.refs.get(&format!("{RESCUE}{task}")).is_some_and(holds);
        let safe = kept || (!gone.dirty && holds(&self.git.main()));
        if !safe {
            let what = format!("the workspace of {task} is gone, and {} is nowhere else", gone.head);
            self.complain(Rule::Saved, what);
        }
    }

    pub(super) fn probe_pause(&mut self, reason: &str) {
        if reason.starts_with("main was rewritten") {
            sometimes!(self, "main was rewritten and the queue paused");
        } else if reason.starts_with("tests could not run") {
            sometimes!(self, "the queue paused because tests could not run");
        } else if reason.starts_with("main's own tests") {
            sometimes!(self, "the queue paused because main is red");
        }
    }

    pub(super) fn probe_event(&mut self, task: &TaskId, event: &Event) {
        let heard = self.seen.tasks.get(task).is_some_and(|task| {
            matches!(task.state, State::Running { heard: Some(_) } | State::Revising { heard: Some(_), .. })
        });
        match event {
            Event::Ejected { .. } => sometimes!(self, "a change was ejected"),
            Event::MergeConflict { .. } => sometimes!(self, "a conflict went back to its session"),
            Event::AlreadyOnMain { .. } => sometimes!(self, "an entry was on main already"),
            Event::RetryAsked { .. } => sometimes!(self, "retried after it was abandoned"),
            Event::NoVerdict { why, .. } if why.contains("the verdict is for") => {
                sometimes!(self, "a verdict on another head was not taken");
            }
            Event::CriticFailed { .. } => sometimes!(self, "a critic's provider was waited for"),
            Event::NoVerdict { .. } => sometimes!(self, "no verdict, and another critic was asked"),
            Event::AgentCrashed { how: Crash::Silent, .. } => sometimes!(self, "a silent agent was replaced"),
            Event::AgentCrashed { .. } if heard => {
                sometimes!(self, "an agent died when it had said all");
            }
            Event::AgentCrashed { .. } => sometimes!(self, "a dead agent was brought back"),
            _ => {}
        }
    }

    pub(super) fn probe_step(&mut self, before: &Task, after: &Task) {
        if let State::AwaitingSlot { feedback: Feedback::ChangesRequested { .. } } = &after.state {
            *self.seen.sent_back.entry(after.id.clone()).or_default() += 1;
        }
        match (&before.state, &after.state) {
            (State::AwaitingHuman { .. }, State::AwaitingSlot { .. }) => {
                sometimes!(self, "a question was answered");
            }
            (_, State::Closed { how: ClosedHow::IssueClosed }) => sometimes!(self, "closed by a person"),
            (_, State::Abandoned { reason }) => self.probe_end(reason),
            (_, _) => {}
        }
    }

    fn probe_end(&mut self, reason: &AbandonReason) {
        match reason {
            AbandonReason::Iterations => sometimes!(self, "the critic's rounds were used up"),
            AbandonReason::Budget => sometimes!(self, "the money was spent"),
            AbandonReason::BlockedByCritic => sometimes!(self, "the critic blocked"),
            AbandonReason::Operator { by } if by.starts_with("label") => {
                sometimes!(self, "abandoned by label");
            }
            AbandonReason::Operator { .. } => sometimes!(self, "abandoned by command"),
            AbandonReason::NoHumanAnswer => sometimes!(self, "a question timed out"),
            AbandonReason::Refused { .. } => sometimes!(self, "the agent refused"),
            AbandonReason::IdlePrompt => sometimes!(self, "the agent was reminded until it was given up"),
            AbandonReason::WallClock
            | AbandonReason::CrashRecoveryFailed { .. }
            | AbandonReason::CiExhausted
            | AbandonReason::AgentFailed { .. } => {}
        }
    }
}

fn granted(op: &Op) -> Option<TaskId> {
    match op {
        Op::Log(entry) if entry.fact == Fact::Task(Event::SlotGranted) => entry.task.clone(),
        _ => None,
    }
}
