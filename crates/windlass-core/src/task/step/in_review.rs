//! The build is green and the critic reads the head.

use super::{Move, Stale, Step, anywhere, at_work, in_ci};
use crate::bugs::{self, Bug};
use crate::forge::ReviewDecision;
use crate::id::{SessionId, Sha};
use crate::message;
use crate::task::{AbandonReason, Critic, Deadline, Effect, Event, Feedback, State, Trouble};
use crate::time::Millis;
use crate::verdict::{CriticReport, Decision, ledger_after};

pub(super) fn on(m: Move<'_>, head: &Sha, tree: &Sha, critic: &Critic, event: &Event) -> Result<Step, Stale> {
    match event {
        Event::VerdictGiven { report } if report.head == *head || bugs::is(Bug::StaleVerdict) => {
            let Critic::Reading { .. } = critic else { return Err(Stale) };
            verdict(m, tree, report)
        }
        Event::NoVerdict { head: read, why } if read == head => {
            let Critic::Reading { .. } = critic else { return Err(Stale) };
            no_verdict(m, head, tree, why)
        }
        Event::CriticFailed { head: read, trouble, until, what } if read == head => {
            let Critic::Reading { .. } = critic else { return Err(Stale) };
            critic_failed(m, (head, tree), *trouble, *until, what)
        }
        Event::CriticGranted => {
            let Critic::Wanted = critic else { return Err(Stale) };
            granted(m, head, tree)
        }
        Event::Due { deadline: Deadline::Limit } => {
            let Critic::Down { .. } = critic else { return Err(Stale) };
            in_ci::review(m, head, tree)
        }
        Event::PhaseSeen { phase, .. } => in_ci::phase_seen(m, phase),
        Event::WorkFetched { head: new, tree, .. } => in_ci::new_head(m, head, new, tree),
        Event::Told { by, text } => m.send_back(Feedback::Told { by: by.clone(), text: text.clone() }),
        Event::Due { deadline: Deadline::Critic } => {
            let Critic::Reading { .. } = critic else { return Err(Stale) };
            m.ask(message::critic_timeout(head))
        }
        Event::EffectFailed { effect, why } => m.ask(message::effect_failed(effect, why)),
        Event::UsageSeen { .. }
        | Event::Away { .. }
        | Event::ChangeOpened { .. }
        | Event::MergeComplete { .. }
        | Event::AbandonAsked { .. }
        | Event::IssueClosed => anywhere::on(m, event),
        Event::VerdictGiven { .. }
        | Event::NoVerdict { .. }
        | Event::CriticFailed { .. }
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
        | Event::BuildPassed { .. }
        | Event::BuildFailed { .. }
        | Event::BuildBroke { .. }
        | Event::MergeConflict { .. }
        | Event::Ejected { .. }
        | Event::AlreadyOnMain { .. }
        | Event::Withdrawn { .. }
        | Event::Answered { .. }
        | Event::RetryAsked { .. }
        | Event::SlotGranted => Err(Stale),
    }
}

/// Nothing holds us up: a critic's session starts.
fn granted(mut m: Move<'_>, head: &Sha, tree: &Sha) -> Result<Step, Stale> {
    m.task.reviews += 1;
    let session = SessionId::review(&m.task.id, m.task.reviews);
    m.order(Effect::StartReview { session: session.clone(), head: head.clone() });
    let critic = Critic::Reading { session };
    m.go(State::AwaitingCritic { head: head.clone(), tree: tree.clone(), critic })
}

fn verdict(mut m: Move<'_>, tree: &Sha, report: &CriticReport) -> Result<Step, Stale> {
    m.task.tally.outages = 0;
    m.task.findings = ledger_after(&m.task.findings, report);
    let body = message::review(&m.task, report);
    let decision = match report.verdict {
        Decision::Approve => ReviewDecision::Approved,
        Decision::RequestChanges | Decision::Block => ReviewDecision::ChangesRequested,
    };
    m.order(Effect::PostReview { head: report.head.clone(), decision, body });
    match report.verdict {
        Decision::Approve => m.go(State::Queued { head: report.head.clone(), tree: tree.clone() }),
        Decision::Block => m.abandon(AbandonReason::BlockedByCritic),
        Decision::RequestChanges => {
            m.task.tally.critic_rounds += u32::from(!bugs::is(Bug::UncountedRounds));
            if m.task.tally.critic_rounds >= m.policy.caps.critic_rounds {
                return m.abandon(AbandonReason::Iterations);
            }
            let (round, text) = (m.task.tally.critic_rounds, message::findings(&m.task, report));
            m.send_back(Feedback::ChangesRequested { round, text })
        }
    }
}

/// No verdict is never an approval: one more session, then a person is asked.
fn no_verdict(mut m: Move<'_>, head: &Sha, tree: &Sha, why: &str) -> Result<Step, Stale> {
    if m.task.tally.no_verdicts >= 1 {
        return m.ask(message::no_verdict(head, why));
    }
    m.task.tally.no_verdicts += 1;
    in_ci::review(m, head, tree)
}

/// No fault of the critic's: another is asked when its provider works again.
fn critic_failed(
    mut m: Move<'_>,
    (head, tree): (&Sha, &Sha),
    trouble: Trouble,
    until: Option<Millis>,
    what: &str,
) -> Result<Step, Stale> {
    if trouble == Trouble::NeedsPerson {
        return m.ask(message::provider_refuses(what));
    }
    let until = match at_work::wait_for_provider(&mut m, until) {
        Ok(until) => until,
        Err(times) => return m.ask(message::provider_is_down(times, what)),
    };
    let critic = Critic::Down { until, what: what.to_owned() };
    m.go(State::AwaitingCritic { head: head.clone(), tree: tree.clone(), critic })
}
