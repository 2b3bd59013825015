//! What may happen to a live task in any state.

use super::{Move, Stale, Step};
use crate::id::Sha;
use crate::message;
use crate::task::{AbandonReason, ClosedHow, Ending, Event, State};

pub(super) fn on(mut m: Move<'_>, event: &Event) -> Result<Step, Stale> {
    match event {
        Event::UsageSeen { cost_micro_usd, tokens, .. } => {
            m.task.tally.cost_micro_usd = m.task.tally.cost_micro_usd.saturating_add(*cost_micro_usd);
            m.task.tally.tokens = m.task.tally.tokens.saturating_add(*tokens);
            let stops = m.is_spent() && m.task.state.holds_slot();
            if stops { m.abandon(AbandonReason::Budget) } else { m.stay() }
        }
        Event::Away { since } => {
            let away = m.at.since((*since).max(m.task.since));
            m.task.since = m.task.since + away;
            m.stay()
        }
        Event::ChangeOpened { number } => {
            if m.task.change.is_some() {
                return Err(Stale);
            }
            m.task.change = Some(*number);
            m.stay()
        }
        Event::MergeComplete { commit, .. } => merged(m, commit),
        Event::AbandonAsked { by } => m.abandon(AbandonReason::Operator { by: by.clone() }),
        Event::IssueClosed => {
            let ending = m.task.change.map(|number| Ending::Closed { number });
            let comment = message::closed_by_person(&m.task);
            m.finish(State::Closed { how: ClosedHow::IssueClosed }, comment, ending)
        }
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
        | Event::RetryAsked { .. }
        | Event::CriticGranted
        | Event::SlotGranted
        | Event::Due { .. }
        | Event::EffectFailed { .. } => Err(Stale),
    }
}

/// Main holds the work: proved by git, so it ends every other story about the task.
pub(super) fn merged(m: Move<'_>, commit: &Sha) -> Result<Step, Stale> {
    let ending = m.task.change.map(|number| Ending::Merged { number, commit: commit.clone() });
    let comment = message::merged(&m.task, commit);
    m.finish(State::Merged { commit: commit.clone() }, comment, ending)
}
