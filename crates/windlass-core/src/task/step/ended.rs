//! The task has ended. Only the world's proof of a merge or a person's retry can change it.

use super::{Move, Stale, Step, anywhere};
use crate::task::{Effect, Event, Feedback, State, Tally};

pub(super) fn on(m: Move<'_>, event: &Event) -> Result<Step, Stale> {
    match event {
        Event::MergeComplete { commit, .. } => match &m.task.state {
            State::Merged { .. } => Err(Stale),
            State::Closed { .. }
            | State::Abandoned { .. }
            | State::Dispatched
            | State::Running { .. }
            | State::Revising { .. }
            | State::HandingOff { .. }
            | State::AwaitingCi { .. }
            | State::AwaitingCritic { .. }
            | State::AwaitingSlot { .. }
            | State::AwaitingHuman { .. }
            | State::Limited { .. }
            | State::Queued { .. } => anywhere::merged(m, commit),
        },
        Event::RetryAsked { .. } => retry(m),
        Event::ChangeOpened { .. } => anywhere::on(m, event),
        Event::WorkspaceReady { .. }
        | Event::SessionStarted { .. }
        | Event::PhaseSeen { .. }
        | Event::PhaseUnknown { .. }
        | Event::TurnEnded { .. }
        | Event::AgentCrashed { .. }
        | Event::WorkFetched { .. }
        | Event::WorkRejected { .. }
        | Event::LimitHit { .. }
        | Event::ProviderFailed { .. }
        | Event::UsageSeen { .. }
        | Event::ContextWarning { .. }
        | Event::HandoffComplete { .. }
        | Event::BuildPassed { .. }
        | Event::BuildFailed { .. }
        | Event::BuildBroke { .. }
        | Event::VerdictGiven { .. }
        | Event::NoVerdict { .. }
        | Event::CriticFailed { .. }
        | Event::MergeConflict { .. }
        | Event::Ejected { .. }
        | Event::AlreadyOnMain { .. }
        | Event::Withdrawn { .. }
        | Event::Answered { .. }
        | Event::Told { .. }
        | Event::AbandonAsked { .. }
        | Event::IssueClosed
        | Event::CriticGranted
        | Event::Away { .. }
        | Event::SlotGranted
        | Event::Due { .. }
        | Event::EffectFailed { .. } => Err(Stale),
    }
}

/// A person asked for another try: fresh caps, and a new session as soon as a slot is free.
fn retry(mut m: Move<'_>) -> Result<Step, Stale> {
    let State::Abandoned { reason } = m.task.state.clone() else { return Err(Stale) };
    m.task.retries += 1;
    m.task.tally = Tally::default();
    let labels = &m.policy.labels;
    let add = vec![labels.in_progress.clone()];
    let remove = vec![
        labels.blocked.clone(),
        labels.abandon.clone(),
        labels.needs_review.clone(),
        labels.underspecified.clone(),
        labels.backlog.clone(),
    ];
    m.order(Effect::SetLabels { add, remove });
    m.send_back(Feedback::Retry { reason: reason.sentence() })
}
