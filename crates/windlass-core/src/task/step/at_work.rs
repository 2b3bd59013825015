//! The agent works: dispatched, running, revising or handing off.

use super::{Move, Stale, Step, anywhere};
use crate::id::Sha;
use crate::message;
use crate::phase::Phase;
use crate::task::{
    AbandonReason, BuildLane, Crash, Deadline, Effect, Event, Refusal, Rejection, Start, State, Trouble,
    Urgency,
};
use crate::time::{Millis, Span};

/// The first wait after a provider's failure; each further one in a row is twice as long.
const FIRST_WAIT: Span = Span::secs(2);
const LONGEST_WAIT: Span = Span::mins(30);

pub(super) fn on(mut m: Move<'_>, event: &Event) -> Result<Step, Stale> {
    match event {
        Event::WorkspaceReady { base } => {
            m.task.base = Some(base.clone());
            m.stay()
        }
        Event::SessionStarted { .. } => started(m),
        Event::PhaseSeen { phase, .. } => phase_seen(m, phase),
        Event::PhaseUnknown { excerpt, .. } => phase_unknown(m, excerpt),
        Event::TurnEnded { .. } => turn_ended(m),
        Event::AgentCrashed { how, .. } => crashed(m, how),
        Event::WorkFetched { head, tree, .. } => to_ci(m, head, tree),
        Event::WorkRejected { why, .. } => rejected(m, why),
        Event::LimitHit { until, what, .. } => provider_failed(m, Some(*until), what),
        Event::ProviderFailed { trouble: Trouble::Passing, what, .. } => provider_failed(m, None, what),
        Event::ProviderFailed { trouble: Trouble::NeedsPerson, what, .. } => provider_refused(m, what),
        Event::ContextWarning { urgency, .. } => context_warning(m, *urgency),
        Event::HandoffComplete { .. } => handed_off(m),
        Event::Told { by, text } => {
            m.say(message::told(by, text));
            m.stay()
        }
        Event::Due { deadline } => due(m, *deadline),
        Event::EffectFailed { effect, why } => effect_failed(m, effect, why),
        Event::UsageSeen { .. }
        | Event::Away { .. }
        | Event::ChangeOpened { .. }
        | Event::MergeComplete { .. }
        | Event::AbandonAsked { .. }
        | Event::IssueClosed => anywhere::on(m, event),
        Event::BuildPassed { .. }
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
        | Event::RetryAsked { .. }
        | Event::CriticGranted
        | Event::SlotGranted => Err(Stale),
    }
}

fn started(m: Move<'_>) -> Result<Step, Stale> {
    match &m.task.state {
        State::Dispatched => m.go(State::Running { heard: None }),
        // A successor took over in the middle of a task: the state goes on as it is.
        State::Running { .. } | State::Revising { .. } => m.stay(),
        State::HandingOff { .. } => m.go(State::Running { heard: None }),
        State::AwaitingCi { .. }
        | State::AwaitingCritic { .. }
        | State::AwaitingSlot { .. }
        | State::AwaitingHuman { .. }
        | State::Limited { .. }
        | State::Queued { .. }
        | State::Merged { .. }
        | State::Closed { .. }
        | State::Abandoned { .. } => Err(Stale),
    }
}

fn phase_seen(mut m: Move<'_>, phase: &Phase) -> Result<Step, Stale> {
    match phase {
        Phase::AwaitingCi | Phase::AwaitingReview | Phase::Done => {
            hear(&mut m, phase);
            let effect = Effect::FetchWork { session: m.task.session.clone(), branch: m.task.branch.clone() };
            m.order(effect);
            m.stay()
        }
        Phase::Escalate { reason } => m.ask(message::escalation(reason)),
        Phase::Failed { reason } => match Refusal::parse(reason) {
            Some(refusal) => m.abandon(AbandonReason::Refused { refusal }),
            None => m.abandon(AbandonReason::AgentFailed { reason: reason.clone() }),
        },
    }
}

/// A signal that nobody understands is answered like silence: so often and no more.
fn phase_unknown(mut m: Move<'_>, excerpt: &str) -> Result<Step, Stale> {
    let text = message::phase_unknown(excerpt);
    if m.task.tally.nudges >= m.policy.caps.nudges {
        return m.abandon(AbandonReason::AgentFailed { reason: text });
    }
    m.task.tally.nudges += 1;
    m.say(text);
    m.stay()
}

/// Remembers the signal, so that the end of the turn is not taken for silence. Who signals has started, and a
/// session that has work ready need not be replaced any more.
fn hear(m: &mut Move<'_>, phase: &Phase) {
    match &mut m.task.state {
        State::Running { heard } | State::Revising { heard, .. } => *heard = Some(phase.clone()),
        state @ (State::Dispatched | State::HandingOff { .. }) => {
            *state = State::Running { heard: Some(phase.clone()) };
        }
        State::AwaitingCi { .. }
        | State::AwaitingCritic { .. }
        | State::AwaitingSlot { .. }
        | State::AwaitingHuman { .. }
        | State::Limited { .. }
        | State::Queued { .. }
        | State::Merged { .. }
        | State::Closed { .. }
        | State::Abandoned { .. } => {}
    }
}

fn heard(m: &Move<'_>) -> bool {
    matches!(&m.task.state, State::Running { heard: Some(_) } | State::Revising { heard: Some(_), .. })
}

fn forget(m: &mut Move<'_>) {
    if let State::Running { heard } | State::Revising { heard, .. } = &mut m.task.state {
        *heard = None;
    }
}

/// The agent stopped. Silence is answered with reminders, then taken for the end.
fn turn_ended(mut m: Move<'_>) -> Result<Step, Stale> {
    m.task.tally.outages = 0;
    m.task.tally.forgotten = 0;
    if heard(&m) {
        return m.stay();
    }
    if matches!(m.task.state, State::HandingOff { .. }) {
        return handed_off(m);
    }
    if m.task.tally.nudges >= m.policy.caps.nudges {
        return m.abandon(AbandonReason::IdlePrompt);
    }
    m.task.tally.nudges += 1;
    m.say(message::nudge(&m.task));
    m.stay()
}

fn to_ci(mut m: Move<'_>, head: &Sha, tree: &Sha) -> Result<Step, Stale> {
    if !heard(&m) {
        return Err(Stale);
    }
    push(&mut m, head, tree);
    m.go(State::AwaitingCi { head: head.clone(), tree: tree.clone() })
}

/// A new head: the branch is pushed, the change is opened if there is none, the build starts.
pub(super) fn push(m: &mut Move<'_>, head: &Sha, tree: &Sha) {
    let (branch, expected) = (m.task.branch.clone(), m.task.pushed.clone());
    m.order(Effect::PushBranch { branch: branch.clone(), head: head.clone(), expected });
    if m.task.change.is_none() {
        m.order(Effect::OpenChange { branch, head: head.clone() });
    }
    m.order(Effect::StartBuild { head: head.clone(), tree: tree.clone(), lane: BuildLane::Branch });
    m.task.pushed = Some(head.clone());
    m.task.tally.ci_infra = 0;
    m.task.tally.no_verdicts = 0;
    m.task.tally.nudges = 0;
    m.task.tally.outages = 0;
    m.task.tally.forgotten = 0;
}

fn rejected(mut m: Move<'_>, why: &Rejection) -> Result<Step, Stale> {
    if !heard(&m) {
        return Err(Stale);
    }
    if let Rejection::WorkspaceGone = why {
        let detail = "the workspace is gone".to_owned();
        return m.abandon(AbandonReason::CrashRecoveryFailed { detail });
    }
    if m.task.tally.nudges >= m.policy.caps.nudges {
        let reason = message::rejection(&m.task, why);
        return m.abandon(AbandonReason::AgentFailed { reason });
    }
    m.task.tally.nudges += 1;
    forget(&mut m);
    m.say(message::work_rejected(&m.task, why));
    m.stay()
}

/// The process was lost in the middle of its turn: bring it back, but not for ever.
fn crashed(mut m: Move<'_>, how: &Crash) -> Result<Step, Stale> {
    if heard(&m) {
        return m.stay();
    }
    // Only a person does that.
    if *how == Crash::Stopped {
        return recover(m);
    }
    if *how == Crash::ConversationLost {
        return forgot(m);
    }
    let (at, window) = (m.at, m.policy.caps.restart_window);
    m.task.tally.restarts.retain(|restart| at.since(*restart) < window);
    if m.task.tally.restarts.len() >= m.policy.caps.restarts as usize {
        let detail = format!("{}, after {} restarts", message::crash(how), m.task.tally.restarts.len());
        return m.abandon(AbandonReason::CrashRecoveryFailed { detail });
    }
    m.task.tally.restarts.push(at);
    if *how == Crash::ContextFull {
        m.succeed(|predecessor| Start::Continue { predecessor });
        return m.stay();
    }
    recover(m)
}

/// No fault of the agent, so no restart is counted, and its successor begins a new conversation. One that is lost
/// again before any turn has ended is followed as often as a crash.
fn forgot(mut m: Move<'_>) -> Result<Step, Stale> {
    if m.task.tally.forgotten >= m.policy.caps.restarts {
        let detail = message::crash(&Crash::ConversationLost);
        return m.abandon(AbandonReason::CrashRecoveryFailed { detail });
    }
    m.task.tally.forgotten += 1;
    recover(m)
}

/// A successor goes on in the same workspace; one that was lost is made again.
fn recover(mut m: Move<'_>) -> Result<Step, Stale> {
    m.order(Effect::MakeWorkspace { branch: m.task.branch.clone() });
    m.succeed(|predecessor| Start::Recover { predecessor });
    m.stay()
}

/// The session waits, and goes on by itself when the provider does; one that never does is shown to a person.
fn provider_failed(mut m: Move<'_>, until: Option<Millis>, what: &str) -> Result<Step, Stale> {
    if heard(&m) {
        return m.stay();
    }
    match wait_for_provider(&mut m, until) {
        Ok(until) => m.go(State::Limited { until, what: what.to_owned() }),
        Err(times) => m.ask(message::provider_is_down(times, what)),
    }
}

/// When to try again; or how often it was tried, when that is often enough.
pub(super) fn wait_for_provider(m: &mut Move<'_>, until: Option<Millis>) -> Result<Millis, u32> {
    let before = m.task.tally.outages;
    m.task.tally.outages += 1;
    if before >= m.policy.caps.outages {
        m.task.tally.outages = 0;
        return Err(before);
    }
    let wait = Span(FIRST_WAIT.0 << before.min(16)).min(LONGEST_WAIT);
    Ok(until.filter(|until| *until > m.at).unwrap_or(m.at + wait))
}

fn provider_refused(m: Move<'_>, what: &str) -> Result<Step, Stale> {
    if heard(&m) { m.stay() } else { m.ask(message::provider_refuses(what)) }
}

fn context_warning(mut m: Move<'_>, urgency: Urgency) -> Result<Step, Stale> {
    // Who has signalled is at rest, and its work is ready.
    if heard(&m) {
        return Err(Stale);
    }
    match (&m.task.state, urgency) {
        (State::HandingOff { .. }, _) => Err(Stale),
        (_, Urgency::Low) => m.stay(),
        (_, Urgency::Medium) => {
            m.say(message::checkpoint_now());
            m.stay()
        }
        (_, Urgency::High) => {
            m.say(message::hand_off());
            let feedback = if let State::Revising { feedback, .. } = &m.task.state {
                Some(feedback.clone())
            } else {
                None
            };
            m.go(State::HandingOff { urgency, feedback })
        }
    }
}

fn handed_off(mut m: Move<'_>) -> Result<Step, Stale> {
    let State::HandingOff { feedback, .. } = m.task.state.clone() else { return Err(Stale) };
    m.succeed(|predecessor| Start::Continue { predecessor });
    m.go(match feedback {
        Some(feedback) => State::Revising { feedback, heard: None },
        None => State::Running { heard: None },
    })
}

fn due(m: Move<'_>, deadline: Deadline) -> Result<Step, Stale> {
    match deadline {
        Deadline::WallClock => m.abandon(AbandonReason::WallClock),
        Deadline::Handoff => handed_off(m),
        Deadline::Ci | Deadline::Critic | Deadline::Renotify | Deadline::Answer | Deadline::Limit => {
            Err(Stale)
        }
    }
}

fn effect_failed(m: Move<'_>, effect: &str, why: &str) -> Result<Step, Stale> {
    match &m.task.state {
        State::Dispatched => {
            m.abandon(AbandonReason::AgentFailed { reason: message::effect_failed(effect, why) })
        }
        State::Running { .. }
        | State::Revising { .. }
        | State::HandingOff { .. }
        | State::AwaitingCi { .. }
        | State::AwaitingCritic { .. }
        | State::AwaitingSlot { .. }
        | State::AwaitingHuman { .. }
        | State::Limited { .. }
        | State::Queued { .. }
        | State::Merged { .. }
        | State::Closed { .. }
        | State::Abandoned { .. } => m.ask(message::effect_failed(effect, why)),
    }
}
