//! What sessions do, between their signals: their work phase, and how full their context is.

use windlass_core::id::SessionId;
use windlass_core::session::{Identity, Role};
use windlass_core::task::{Event, State, Urgency};
use windlass_core::time::Millis;

use crate::heart::Heart;
use crate::outside::Life;

impl Heart {
    /// Looks at the sessions that have been speaking for long enough.
    pub(crate) fn listen(&mut self, now: Millis) {
        let due = self.spoke.iter().filter(|(_, at)| **at <= now).map(|(session, _)| session.clone());
        for session in due.collect::<Vec<_>>() {
            self.spoke.remove(&session);
            self.look_at(now, &session, Life::MayGoOn);
        }
    }

    /// A new phase or another file is worth a line in the hook: a successor begins there.
    pub(crate) fn note_progress(&mut self, now: Millis, before: &Identity, after: &Identity) {
        let (old, new) = (&before.activity, &after.activity);
        if (old.phase, old.files.len()) == (new.phase, new.files.len()) {
            return;
        }
        let task = self.book.tasks.get(&after.task).filter(|task| task.session == after.name).cloned();
        if let Some(task) = task {
            self.book.checkpoint(now, &task);
        }
    }

    /// Warns about a context that fills up, each time once, while the session works.
    pub(crate) fn watch_context(&mut self, now: Millis, session: &SessionId, compacts: bool) {
        let Some(mut identity) = self.book.identities.get(session).cloned() else { return };
        let working = self.book.tasks.get(&identity.task).is_some_and(|task| {
            task.session == *session
                && matches!(task.state, State::Running { heard: None } | State::Revising { heard: None, .. })
        });
        if !working || identity.role != Role::Dev {
            return;
        }
        let before = identity.context;
        // Who shortens its conversation forgets: what is done should be saved first.
        let urgency =
            identity.context.warn(&self.settings.policy.limits).max(compacts.then_some(Urgency::Medium));
        if identity.context != before {
            self.book.save_identity(identity.clone());
        }
        if let Some(urgency) = urgency {
            let event = Event::ContextWarning { session: session.clone(), urgency };
            self.book.happened(now, &identity.task, &event);
        }
    }

    /// The end of the last turn of a session that hands over is the end of the handing over.
    pub(crate) fn in_its_place(&self, identity: &Identity, event: Event) -> Event {
        let state = self.book.tasks.get(&identity.task).map(|task| &task.state);
        match (event, state) {
            (Event::TurnEnded { session }, Some(State::HandingOff { .. })) => {
                Event::HandoffComplete { session }
            }
            (event, _) => event,
        }
    }
}
