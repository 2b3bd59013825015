//! The change is pushed and its build runs.

use super::{Move, Stale, Step, anywhere, at_work};
use crate::forge::StatusState;
use crate::id::Sha;
use crate::message;
use crate::phase::Phase;
use crate::task::{AbandonReason, BuildLane, Critic, Deadline, Effect, Event, Feedback, State};

pub(super) fn on(mut m: Move<'_>, head: &Sha, tree: &Sha, event: &Event) -> Result<Step, Stale> {
    match event {
        Event::BuildPassed { tree: built } if built == tree => passed(m, head, tree),
        Event::BuildFailed { tree: built, failing, log } if built == tree => failed(m, head, failing, log),
        Event::BuildBroke { tree: built, why } if built == tree => broke(m, head, tree, why),
        Event::PhaseSeen { phase, .. } => phase_seen(m, phase),
        Event::WorkFetched { head: new, tree, .. } => new_head(m, head, new, tree),
        Event::Told { by, text } => m.send_back(Feedback::Told { by: by.clone(), text: text.clone() }),
        Event::Due { deadline: Deadline::Ci } => {
            m.task.said.push(message::ci_timeout(head));
            m.ask(message::ci_timeout(head))
        }
        Event::EffectFailed { effect, why } => m.ask(message::effect_failed(effect, why)),
        Event::UsageSeen { .. }
        | Event::Away { .. }
        | Event::ChangeOpened { .. }
        | Event::MergeComplete { .. }
        | Event::AbandonAsked { .. }
        | Event::IssueClosed => anywhere::on(m, event),
        Event::BuildPassed { .. }
        | Event::BuildFailed { .. }
        | Event::BuildBroke { .. }
        | Event::Due { .. }
        | Event::WorkspaceReady { .. }
        | Event::SessionStarted { .. }
        | Event::PhaseUnknown { .. }
        | Event::TurnEnded { .. }
        | Event::AgentCrashed { .. }
        | Event::WorkRejected { .. }
        | Event::LimitHit { .. }
        | Event::ProviderFailed { .. }
        | Event::ContextWarning { .. }
        | Event::HandoffComplete { .. }
        | Event::VerdictGiven { .. }
        | Event::NoVerdict { .. }
        | Event::CriticFailed { .. }
        | Event::MergeConflict { .. }
        | Event::Ejected { .. }
        | Event::AlreadyOnMain { .. }
        | Event::Withdrawn { .. }
        | Event::Answered { .. }
        | Event::RetryAsked { .. }
        | Event::CriticGranted
        | Event::SlotGranted => Err(Stale),
    }
}

fn passed(mut m: Move<'_>, head: &Sha, tree: &Sha) -> Result<Step, Stale> {
    let description = "tests passed".to_owned();
    m.order(Effect::SetStatus { head: head.clone(), state: StatusState::Success, description });
    review(m, head, tree)
}

/// Every head is read by a critic session of its own.
pub(super) fn review(m: Move<'_>, head: &Sha, tree: &Sha) -> Result<Step, Stale> {
    m.go(State::AwaitingCritic { head: head.clone(), tree: tree.clone(), critic: Critic::Wanted })
}

fn failed(mut m: Move<'_>, head: &Sha, failing: &[String], log: &str) -> Result<Step, Stale> {
    let description = "tests failed".to_owned();
    m.order(Effect::SetStatus { head: head.clone(), state: StatusState::Failure, description });
    if m.task.tally.ci_fixes >= m.policy.caps.ci_fixes {
        return m.abandon(AbandonReason::CiExhausted);
    }
    m.task.tally.ci_fixes += 1;
    let head = head.short().to_owned();
    m.send_back(Feedback::CiFailed { head, failing: failing.to_vec(), log: log.to_owned() })
}

/// CI could not run: nobody is blamed; once more, then a person is asked.
fn broke(mut m: Move<'_>, head: &Sha, tree: &Sha, why: &str) -> Result<Step, Stale> {
    if m.task.tally.ci_infra >= m.policy.caps.ci_infra_retries {
        let description = "CI could not run".to_owned();
        m.order(Effect::SetStatus { head: head.clone(), state: StatusState::Error, description });
        return m.ask(message::ci_broke(head, why));
    }
    m.task.tally.ci_infra += 1;
    m.order(Effect::StartBuild { head: head.clone(), tree: tree.clone(), lane: BuildLane::Branch });
    m.stay()
}

/// The agent went on after its signal. A new head voids what is known of the old one.
pub(super) fn phase_seen(mut m: Move<'_>, phase: &Phase) -> Result<Step, Stale> {
    match phase {
        Phase::AwaitingCi | Phase::AwaitingReview | Phase::Done => {
            let effect = Effect::FetchWork { session: m.task.session.clone(), branch: m.task.branch.clone() };
            m.order(effect);
            m.stay()
        }
        Phase::Escalate { reason } => m.ask(message::escalation(reason)),
        Phase::Failed { reason } => m.abandon(AbandonReason::AgentFailed { reason: reason.clone() }),
    }
}

pub(super) fn new_head(mut m: Move<'_>, old: &Sha, head: &Sha, tree: &Sha) -> Result<Step, Stale> {
    if old == head {
        return Err(Stale);
    }
    at_work::push(&mut m, head, tree);
    m.go(State::AwaitingCi { head: head.clone(), tree: tree.clone() })
}
