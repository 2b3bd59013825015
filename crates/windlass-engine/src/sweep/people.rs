//! Sessions: what they signal, whether they live, and what to do when they are gone.

use std::collections::BTreeSet;

use windlass_core::bugs::{self, Bug};
use windlass_core::id::SessionId;
use windlass_core::journal::FactoryFact;
use windlass_core::session::{Identity, IdentityStatus, Process, Role};
use windlass_core::task::{Crash, Effect, Event};
use windlass_core::time::Millis;
use windlass_core::{id::EffectKey, task::State};
use windlass_store::{Op, StoreError, UsageRow};

use crate::heart::Heart;
use crate::outside::{Life, Signs};

/// When a session last showed that it works.
#[derive(Debug, Clone, Copy)]
pub struct Evidence {
    at: Millis,
    signs: Signs,
}

impl Heart {
    /// Reads what a session's files say and writes it down.
    pub(crate) fn look_at(&mut self, now: Millis, session: &SessionId, life: Life) {
        let Some(identity) = self.book.identities.get(session).cloned() else { return };
        let look = match self.outside.read_session(&identity, life) {
            Ok(look) => look,
            Err(error) => {
                tracing::warn!(%session, error, "cannot read a session's files");
                return;
            }
        };
        if look.identity != identity {
            self.book.save_identity(look.identity.clone());
            self.note_progress(now, &identity, &look.identity);
        }
        for (hook, detail) in &look.hooks {
            let fact = FactoryFact::AgentHook {
                session: session.clone(),
                hook: hook.clone(),
                detail: detail.clone(),
            };
            self.book.log_of(now, &identity.task, fact);
        }
        self.watch_context(now, session, look.compacts);
        self.count_usage(now, look.usage);
        for event in look.events {
            let counts = match event {
                Event::TurnEnded { .. } => !self.is_spoken_to(session, &look.heard),
                _ => identity.role == Role::Dev || self.is_asked(&identity),
            };
            if counts {
                let event = self.in_its_place(&identity, event);
                self.book.happened(now, &identity.task, &event);
            }
        }
        if life == Life::Over && look.unheard {
            self.wake_session(now, &look.identity);
        }
    }

    fn count_usage(&mut self, now: Millis, rows: Vec<UsageRow>) {
        for row in rows {
            let (task, cost_micro_usd) = (row.task.clone(), row.cost_micro_usd);
            let tokens = row.tokens();
            let event = Event::UsageSeen { session: row.session.clone(), cost_micro_usd, tokens };
            self.book.put(Op::AddUsage(row));
            self.book.happened(now, &task, &event);
        }
    }

    /// It was stopped. What it used until then counts all the same; what else it did has nobody to hear it.
    pub(crate) fn session_stopped(&mut self, now: Millis, session: &SessionId) -> Result<(), StoreError> {
        self.outside.forget_session(session);
        self.evidence.remove(session);
        let (mut identity, status) = match self.book.identities.get(session).cloned() {
            Some(identity) => (identity, IdentityStatus::Terminated),
            // It was given up, and may have gone on until somebody could stop it.
            None => match self.store.identity(session)? {
                Some(identity) if identity.status == IdentityStatus::Crashed => {
                    (identity, IdentityStatus::Crashed)
                }
                Some(_) | None => return Ok(()),
            },
        };
        match self.outside.read_session(&identity, Life::MayGoOn) {
            Ok(look) => {
                identity.facts_read = look.identity.facts_read;
                identity.cost_seen_micro_usd = look.identity.cost_seen_micro_usd;
                self.count_usage(now, look.usage);
            }
            Err(error) => tracing::warn!(%session, error, "cannot read what a stopped session used"),
        }
        let task = identity.task.clone();
        identity.status = status;
        self.book.save_identity(identity);
        if status == IdentityStatus::Terminated {
            self.book.log_of(now, &task, FactoryFact::AgentTerminated { session: session.clone() });
        }
        Ok(())
    }

    /// Whether this is the review that its task waits for: what an earlier one says again counts no second time.
    fn is_asked(&self, identity: &Identity) -> bool {
        let task = self.book.tasks.get(&identity.task);
        task.is_some_and(|task| task.state.critic() == Some(&identity.name))
    }

    /// A turn that ended just as something new is about to be said to the session is no silence.
    fn is_spoken_to(&self, session: &SessionId, heard: &BTreeSet<String>) -> bool {
        let says = |effect: &Effect| matches!(effect, Effect::Say { session: to, .. } if to == session);
        self.outbox.all(says).any(|order| !heard.contains(order.key.as_str())) || self.book.orders(says)
    }

    pub(crate) fn session_gone(&mut self, now: Millis, session: &SessionId) {
        // A word said in between may have started it again.
        match self.book.identities.get(session).map(|identity| self.outside.process(identity)) {
            Some(Process::Alive) => {
                self.outside.watch_session(session);
                self.look_at(now, session, Life::MayGoOn);
            }
            Some(Process::Gone | Process::NotLooked) => self.look_at(now, session, Life::Over),
            None => {}
        }
    }

    /// The process ended just before a message reached it.
    fn wake_session(&mut self, now: Millis, identity: &Identity) {
        let busy = |effect: &Effect| match effect {
            Effect::StopSession { session }
            | Effect::WakeSession { session }
            | Effect::Say { session, .. } => *session == identity.name,
            _ => false,
        };
        let wanted = self.book.tasks.get(&identity.task).is_some_and(|task| task.session == identity.name);
        if !wanted || self.outbox.any(busy) || self.book.orders(busy) {
            return;
        }
        let key = EffectKey::new(format!("wake:{}:{}", identity.name, now.0));
        let effect = Effect::WakeSession { session: identity.name.clone() };
        self.book.order(now, key, Some(identity.task.clone()), effect);
    }

    /// Once a minute: sign the living, count strikes against the silent, and look again in case a wake-up was lost.
    pub(crate) fn heartbeat(&mut self, now: Millis) {
        if now < self.next_heartbeat {
            return;
        }
        self.next_heartbeat = now + self.settings.policy.limits.heartbeat;
        self.watch_builds_again();
        self.look_for_typists(now);
        self.watch_typists();
        if bugs::is(Bug::NoSecondLook) {
            return;
        }
        for identity in self.book.identities.values().cloned().collect::<Vec<_>>() {
            // Whether its start was ever heard of does not matter: it is there, or it is still to be started.
            if self.is_starting(&identity.name) {
                continue;
            }
            match self.outside.process(&identity) {
                Process::Alive => {
                    self.look_at(now, &identity.name, Life::MayGoOn);
                    self.sign(now, &identity.name);
                }
                Process::Gone => self.look_at(now, &identity.name, Life::Over),
                Process::NotLooked => {}
            }
        }
    }

    /// Whether the session is still to be started, so that nothing can be seen of it yet.
    pub(crate) fn is_starting(&self, name: &SessionId) -> bool {
        let starts = |effect: &Effect| match effect {
            Effect::StartSession { session, .. } | Effect::StartReview { session, .. } => session == name,
            _ => false,
        };
        self.outbox.any(starts) || self.book.orders(starts)
    }

    fn sign(&mut self, now: Millis, session: &SessionId) {
        let Some(mut identity) = self.book.identities.get(session).cloned() else { return };
        let quiet = now.since(self.last_sign(now, session));
        let limits = self.settings.policy.limits.clone();
        let at_work = self.book.tasks.get(&identity.task).is_some_and(|task| {
            task.session == identity.name
                && matches!(
                    task.state,
                    State::Running { .. } | State::Revising { .. } | State::HandingOff { .. }
                )
        });
        if quiet < limits.stale_after || !at_work {
            identity.last_seen = now;
            identity.strikes = 0;
        } else {
            identity.strikes += 1;
        }
        let dead = identity.strikes >= limits.stale_strikes;
        let task = identity.task.clone();
        self.book.save_identity(identity);
        if dead {
            let event = Event::AgentCrashed { session: session.clone(), how: Crash::Silent };
            self.book.happened(now, &task, &event);
        }
    }

    /// Output or processor time: a long quiet test run is work.
    fn last_sign(&mut self, now: Millis, session: &SessionId) -> Millis {
        let signs = self.outside.signs(session);
        let seen = self.evidence.entry(session.clone()).or_insert(Evidence { at: now, signs });
        if seen.signs != signs {
            *seen = Evidence { at: now, signs };
        }
        seen.at
    }

    pub(crate) fn stop_all_processes(&mut self) {
        let sessions = self.book.identities.keys().cloned().collect();
        let builds = self.book.builds.keys().cloned().collect();
        self.outside.stop_all(sessions, builds);
    }
}
