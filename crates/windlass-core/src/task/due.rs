//! Which deadline of a task comes next.

use super::{Critic, Deadline, Event, State, Task};
use crate::policy::Policy;
use crate::time::{Millis, Span};

/// When the task must be looked at again, and what has then come due.
pub fn wake_at(policy: &Policy, task: &Task) -> Option<(Millis, Deadline)> {
    let limits = &policy.limits;
    match &task.state {
        State::Dispatched | State::Running { .. } | State::Revising { .. } => {
            Some((wall_clock(policy, task), Deadline::WallClock))
        }
        State::HandingOff { .. } => Some((task.since + limits.handoff, Deadline::Handoff)),
        State::AwaitingCi { .. } => Some((task.since + limits.ci_wait, Deadline::Ci)),
        State::AwaitingCritic { critic: Critic::Down { until, .. }, .. } => Some((*until, Deadline::Limit)),
        State::AwaitingCritic { critic: Critic::Reading { .. }, .. } => {
            Some((task.since + limits.critic, Deadline::Critic))
        }
        State::AwaitingHuman { notified_at, .. } => {
            let answer = (task.since + limits.answer, Deadline::Answer);
            let renotify = (*notified_at + limits.renotify, Deadline::Renotify);
            Some(if answer.0 <= renotify.0 { answer } else { renotify })
        }
        State::Limited { until, .. } => Some((*until, Deadline::Limit)),
        State::AwaitingCritic { critic: Critic::Wanted, .. }
        | State::AwaitingSlot { .. }
        | State::Queued { .. }
        | State::Merged { .. }
        | State::Closed { .. }
        | State::Abandoned { .. } => None,
    }
}

/// The deadline that has passed by `now`, as an event.
pub fn due(policy: &Policy, task: &Task, now: Millis) -> Option<Event> {
    let (at, deadline) = wake_at(policy, task)?;
    (at <= now).then_some(Event::Due { deadline })
}

fn wall_clock(policy: &Policy, task: &Task) -> Millis {
    let left = (policy.limits.session.0 - task.tally.active.0).max(0);
    task.counted_at + Span(left)
}
