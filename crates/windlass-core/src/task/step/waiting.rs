//! The task waits for a slot, a person or a provider; its session can be resumed.

use super::{Move, Stale, Step, anywhere};
use crate::message;
use crate::task::{AbandonReason, Deadline, Effect, Event, Feedback, Start, State};

pub(super) fn on(m: Move<'_>, event: &Event) -> Result<Step, Stale> {
    match event {
        Event::SlotGranted => resume(m),
        Event::Answered { by, text } => answered(m, by, text),
        Event::Told { by, text } => told(m, by, text),
        Event::Due { deadline } => due(m, *deadline),
        Event::UsageSeen { .. }
        | Event::ChangeOpened { .. }
        | Event::MergeComplete { .. }
        | Event::AbandonAsked { .. }
        | Event::IssueClosed => anywhere::on(m, event),
        // The session's turn goes on for a moment after it asked; what it says then changes nothing.
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
        | Event::CriticGranted
        | Event::Away { .. }
        | Event::MergeConflict { .. }
        | Event::Ejected { .. }
        | Event::AlreadyOnMain { .. }
        | Event::Withdrawn { .. }
        | Event::RetryAsked { .. }
        | Event::EffectFailed { .. } => Err(Stale),
    }
}

/// The same session goes on with what it was waiting for, unless its money is spent: then it gets no other turn.
fn resume(mut m: Move<'_>) -> Result<Step, Stale> {
    let State::AwaitingSlot { feedback } = m.task.state.clone() else { return Err(Stale) };
    if let Feedback::Retry { reason } = feedback {
        return begin_anew(m, reason);
    }
    if m.is_spent() {
        return m.abandon(AbandonReason::Budget);
    }
    m.task.tally.nudges = 0;
    m.say(message::feedback(&m.task, &feedback));
    pass_on(&mut m);
    m.go(State::Revising { feedback, heard: None })
}

/// A new session in the kept workspace.
fn begin_anew(mut m: Move<'_>, reason: String) -> Result<Step, Stale> {
    m.order(Effect::MakeWorkspace { branch: m.task.branch.clone() });
    m.succeed(|predecessor| Start::Retry { predecessor, reason });
    pass_on(&mut m);
    m.go(State::Dispatched)
}

fn pass_on(m: &mut Move<'_>) {
    for text in std::mem::take(&mut m.task.said) {
        m.say(text);
    }
}

fn answered(m: Move<'_>, by: &str, text: &str) -> Result<Step, Stale> {
    match &m.task.state {
        State::AwaitingHuman { .. } => {
            m.send_back(Feedback::Answer { by: by.to_owned(), text: text.to_owned() })
        }
        State::AwaitingSlot { .. }
        | State::Limited { .. }
        | State::Dispatched
        | State::Running { .. }
        | State::Revising { .. }
        | State::HandingOff { .. }
        | State::AwaitingCi { .. }
        | State::AwaitingCritic { .. }
        | State::Queued { .. }
        | State::Merged { .. }
        | State::Closed { .. }
        | State::Abandoned { .. } => Err(Stale),
    }
}

/// A word from a person answers the question if there is one; else it is said when the session goes on, and not before: it
/// has no slot.
fn told(mut m: Move<'_>, by: &str, text: &str) -> Result<Step, Stale> {
    if let State::AwaitingHuman { .. } = &m.task.state {
        return answered(m, by, text);
    }
    m.task.said.push(message::told(by, text));
    m.stay()
}

fn due(mut m: Move<'_>, deadline: Deadline) -> Result<Step, Stale> {
    match (deadline, &m.task.state) {
        (Deadline::Answer, State::AwaitingHuman { .. }) => m.abandon(AbandonReason::NoHumanAnswer),
        (Deadline::Renotify, State::AwaitingHuman { question, .. }) => {
            let (question, notified_at) = (question.clone(), m.at);
            m.order(Effect::Comment { text: message::question(&m.task, &question) });
            m.task.state = State::AwaitingHuman { question, notified_at };
            m.stay()
        }
        (Deadline::Limit, State::Limited { .. }) => m.send_back(Feedback::LimitOver),
        (
            Deadline::WallClock
            | Deadline::Ci
            | Deadline::Critic
            | Deadline::Handoff
            | Deadline::Answer
            | Deadline::Renotify
            | Deadline::Limit,
            _,
        ) => Err(Stale),
    }
}
