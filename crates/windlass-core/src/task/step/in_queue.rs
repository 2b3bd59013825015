//! The approved head waits in the merge queue.

use super::{Move, Stale, Step, anywhere, in_ci};
use crate::id::Sha;
use crate::message;
use crate::task::{AbandonReason, ClosedHow, Ending, Event, Feedback, State};

pub(super) fn on(mut m: Move<'_>, head: &Sha, event: &Event) -> Result<Step, Stale> {
    match event {
        Event::MergeConflict { head: entry, files, commits } if entry == head => {
            m.task.tally.conflicts += 1;
            if m.task.tally.conflicts > m.policy.caps.conflicts {
                return m.ask(message::conflicts_again(files));
            }
            m.send_back(Feedback::Conflict { files: files.clone(), commits: commits.clone() })
        }
        Event::Ejected { head: entry, failing, log } if entry == head => ejected(m, failing, log),
        Event::AlreadyOnMain { head: entry } if entry == head => {
            let ending = m.task.change.map(|number| Ending::Merged { number, commit: head.clone() });
            let comment = message::already_on_main(&m.task, head);
            m.finish(State::Closed { how: ClosedHow::AlreadyOnMain }, comment, ending)
        }
        Event::Withdrawn { by } => m.ask(message::withdrawn(by)),
        Event::PhaseSeen { phase, .. } => in_ci::phase_seen(m, phase),
        Event::WorkFetched { head: new, tree, .. } => in_ci::new_head(m, head, new, tree),
        Event::Told { by, text } => m.send_back(Feedback::Told { by: by.clone(), text: text.clone() }),
        Event::EffectFailed { effect, why } => m.ask(message::effect_failed(effect, why)),
        Event::UsageSeen { .. }
        | Event::ChangeOpened { .. }
        | Event::MergeComplete { .. }
        | Event::AbandonAsked { .. }
        | Event::IssueClosed => anywhere::on(m, event),
        Event::MergeConflict { .. }
        | Event::Ejected { .. }
        | Event::AlreadyOnMain { .. }
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
        | Event::VerdictGiven { .. }
        | Event::NoVerdict { .. }
        | Event::CriticFailed { .. }
        | Event::Answered { .. }
        | Event::RetryAsked { .. }
        | Event::CriticGranted
        | Event::Away { .. }
        | Event::SlotGranted
        | Event::Due { .. } => Err(Stale),
    }
}

fn ejected(mut m: Move<'_>, failing: &[String], log: &str) -> Result<Step, Stale> {
    if m.task.tally.ci_fixes >= m.policy.caps.ci_fixes {
        return m.abandon(AbandonReason::CiExhausted);
    }
    m.task.tally.ci_fixes += 1;
    m.send_back(Feedback::GateFailed { failing: failing.to_vec(), log: log.to_owned() })
}
