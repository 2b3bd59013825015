//! Effects: handed out when their turn comes, written down when they end.

use serde_json::json;
use windlass_core::bugs::{self, Bug};
use windlass_core::build::BuildOutcome;
use windlass_core::id::EffectKey;
use windlass_core::journal::FactoryFact;
use windlass_core::task::{Effect, Event};
use windlass_core::time::{Millis, Span};
use windlass_store::{Op, StoreError};

use crate::heart::Heart;
use crate::outbox::LONGEST_BACKOFF;
use crate::outside::Life;
use crate::perform::{Outcome, Report};
use crate::record::Order;

/// After this many tries an effect is given up and a person is asked.
const MAX_ATTEMPTS: u32 = 20;

/// Between two looks whether a full disk has room again.
const UNTIL_ROOM: Span = Span::secs(10);

impl Heart {
    /// Starts every effect whose turn has come.
    pub(crate) fn hand_out(&mut self, now: Millis) -> Result<(), StoreError> {
        let ready = self.outbox.take_ready(now);
        if ready.is_empty() {
            return Ok(());
        }
        // A retry follows no commit: whoever slept through a take-over must not act before it learns of it.
        self.store.must_lead()?;
        let full = self.outside.full();
        if let Some(hold) = &full {
            tracing::warn!(why = hold.sentence(), "work waits for room");
        }
        for order in ready {
            if full.is_some() && order.effect.needs_room() {
                self.outbox.put_off(&order.key, now + UNTIL_ROOM);
                continue;
            }
            // A build is a row of ours, not an act on the world: it needs no worker.
            if let Effect::StartBuild { head, tree, lane } = order.effect.clone() {
                self.finish(now, &order, false);
                if let Some(task) = order.owner.clone() {
                    self.request_build(now, &task, &head, &tree, lane)?;
                }
                continue;
            }
            self.start(order)?;
        }
        Ok(())
    }

    fn start(&mut self, order: Order) -> Result<(), StoreError> {
        let task = match &order.owner {
            Some(id) => match self.book.tasks.get(id) {
                Some(task) => Some(task.clone()),
                None => self.store.task(id)?.map(|found| found.value),
            },
            None => None,
        };
        if bugs::is(Bug::RecordBeforeEffect) {
            self.book.put(Op::EffectDone { key: order.key.clone(), result: json!({}), at: order.not_before });
        }
        self.outside.begin(order, task);
        Ok(())
    }

    pub(crate) fn effect_ended(
        &mut self,
        now: Millis,
        key: &EffectKey,
        outcome: Outcome,
    ) -> Result<(), StoreError> {
        let Some(order) = self.outbox.find(key).cloned() else { return Ok(()) };
        match outcome {
            Outcome::Done(report) => self.effect_done(now, &order, *report),
            Outcome::Later { error } if order.attempt + 1 < MAX_ATTEMPTS => {
                self.try_later(now, &order, error);
                Ok(())
            }
            // It goes on by itself when there is room again.
            Outcome::Later { error } if self.outside.full().is_some() => {
                self.try_later(now, &order, error);
                Ok(())
            }
            Outcome::Later { error } | Outcome::GiveUp { error } if order.effect.is_never_given_up() => {
                tracing::warn!(key = %order.key, error, "tried for as long as it takes");
                self.try_later(now, &order, error);
                Ok(())
            }
            Outcome::Later { error } | Outcome::GiveUp { error } => {
                self.give_up(now, &order, error);
                Ok(())
            }
        }
    }

    fn effect_done(&mut self, now: Millis, order: &Order, report: Report) -> Result<(), StoreError> {
        self.finish(now, order, report.adopted);
        if let (Some(event), Some(task)) = (report.event, &order.owner) {
            self.recall(task)?;
            self.book.happened(now, task, &event);
        }
        if let Some(started) = report.started {
            if let Some(mut identity) = self.book.identities.get(&started.session).cloned()
                && !started.worktree.is_empty()
            {
                identity.worktree_path = started.worktree;
                identity.last_seen = now;
                identity.tmux_session = started.terminal;
                if let Some(conversation) = started.conversation {
                    identity.session_id = Some(conversation.id);
                    identity.cost_seen_micro_usd = conversation.cost_seen_micro_usd;
                }
                self.book.save_identity(identity);
            }
            self.outside.watch_session(&started.session);
            self.look_at(now, &started.session, Life::MayGoOn);
        }
        if let Some(session) = report.stopped {
            self.session_stopped(now, &session)?;
        }
        if let Some((reference, commit)) = report.rescued
            && let Some(task) = &order.owner
        {
            self.book.log_of(now, task, FactoryFact::WorkRescued { reference, commit });
        }
        match &order.effect {
            Effect::RunBuild { build, slot } => self.build_runs(now, build, *slot),
            // Others may have waited for it: the forge is read again at once.
            Effect::CloseIssue | Effect::SetLabels { .. } => self.knocked = true,
            _ => {}
        }
        if let Some(landing) = &report.landing {
            self.landed(now, &order.effect, landing)?;
        }
        Ok(())
    }

    /// The effect is over and its line goes on.
    fn finish(&mut self, now: Millis, order: &Order, adopted: bool) {
        if !self.is_void(order) && !bugs::is(Bug::RecordBeforeEffect) {
            self.book.put(Op::EffectDone {
                key: order.key.clone(),
                result: json!({"adopted": adopted}),
                at: now,
            });
            let fact = FactoryFact::EffectDone {
                key: order.key.clone(),
                effect: order.effect.name().to_owned(),
                attempt: order.attempt,
                adopted,
            };
            self.log_effect(now, order, fact);
        }
        self.outbox.done(&order.key);
    }

    fn try_later(&mut self, now: Millis, order: &Order, error: String) {
        if self.is_void(order) {
            self.outbox.done(&order.key);
            return;
        }
        let wait = Span(500_i64 << order.attempt.min(10)).min(LONGEST_BACKOFF);
        let not_before = now + wait;
        self.outbox.retry(&order.key, not_before);
        self.book.put(Op::EffectRetry { key: order.key.clone(), not_before, error: error.clone() });
        let fact = FactoryFact::EffectRetried {
            key: order.key.clone(),
            effect: order.effect.name().to_owned(),
            attempt: order.attempt + 1,
            error,
        };
        self.log_effect(now, order, fact);
    }

    /// Never silent: the task asks a person, a build counts as one that could not run.
    fn give_up(&mut self, now: Millis, order: &Order, error: String) {
        tracing::warn!(key = %order.key, error, "an effect failed for good");
        if !self.is_void(order) {
            self.book.put(Op::EffectFailed { key: order.key.clone(), error: error.clone(), at: now });
            let fact = FactoryFact::EffectGivenUp {
                key: order.key.clone(),
                effect: order.effect.name().to_owned(),
                error: error.clone(),
            };
            self.log_effect(now, order, fact);
        }
        self.outbox.done(&order.key);
        match &order.effect {
            Effect::RunBuild { build, .. } => {
                if let Some(build) = self.book.builds.get(build).cloned() {
                    // It may run all the same: an answer can be lost.
                    self.stop_build(now, build, BuildOutcome::Broke { why: error });
                }
            }
            Effect::Land { .. } => self.pause_queue(now, format!("main cannot be moved: {error}")),
            _ if bugs::is(Bug::SilentGiveUp) => {}
            effect => {
                let event = Event::EffectFailed { effect: effect.name().to_owned(), why: error };
                if let Some(task) = &order.owner {
                    self.book.happened(now, task, &event);
                }
            }
        }
    }

    /// The task ended while the effect ran, even if that is not written down yet: nobody waits for it.
    fn is_void(&self, order: &Order) -> bool {
        let ended = order.owner.as_ref().is_some_and(|task| self.book.cancels(task));
        self.outbox.is_void(&order.key) || (ended && order.effect.ends_with_task())
    }

    fn log_effect(&mut self, now: Millis, order: &Order, fact: FactoryFact) {
        match &order.owner {
            Some(task) => self.book.log_of(now, task, fact),
            None => self.book.log(now, fact),
        }
    }
}
