//! Which effect may run now: one at a time for each owner and lane, in the order they were given.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use windlass_core::bugs::{self, Bug};
use windlass_core::id::{BuildId, EffectKey, TaskId};
use windlass_core::task::{Effect, Lane};
use windlass_core::time::{Millis, Span};
use windlass_store::{Store, StoreError};

use crate::record::Order;

/// Between two tries of an effect.
pub const LONGEST_BACKOFF: Span = Span::mins(5);

/// A line of effects that must not overtake each other.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Line {
    Task(TaskId, Lane),
    /// The name of a build's candidate: kept, then let go.
    Candidate(BuildId),
    /// Other effects without an owner are each a line of their own.
    Alone(EffectKey),
}

#[derive(Debug, Default)]
pub struct Outbox {
    lines: BTreeMap<Line, VecDeque<Order>>,
    running: BTreeSet<EffectKey>,
    /// Running, but cancelled meanwhile: the store waits for them no more.
    void: BTreeSet<EffectKey>,
}

impl Outbox {
    /// Every effect that was written down and not ended is looked up before it is done again.
    pub fn stored(store: &dyn Store) -> Result<Self, StoreError> {
        let mut outbox = Self::default();
        for effect in store.pending_effects()?.into_iter().filter(|_| !bugs::is(Bug::NoRecovery)) {
            outbox.add(Order {
                key: effect.key,
                owner: effect.owner,
                effect: effect.effect,
                attempt: effect.attempt,
                not_before: effect.not_before,
                probe: true,
            });
        }
        Ok(outbox)
    }

    pub fn add(&mut self, order: Order) {
        self.lines.entry(line(&order)).or_default().push_back(order);
    }

    /// A task has ended: what was ordered before for its work is void, unless it is being done right now.
    pub fn cancel(&mut self, owner: &TaskId) {
        if let Some(line) = self.lines.get_mut(&Line::Task(owner.clone(), Lane::Work)) {
            let void = |order: &&Order| order.effect.ends_with_task();
            line.retain(|order| self.running.contains(&order.key) || !order.effect.ends_with_task());
            self.void.extend(line.iter().filter(void).map(|order| order.key.clone()));
        }
    }

    /// Takes every effect whose turn and time have come.
    pub fn take_ready(&mut self, now: Millis) -> Vec<Order> {
        let mut ready = Vec::new();
        for line in self.lines.values() {
            if let Some(order) = line.front()
                && !self.running.contains(&order.key)
                && is_due(order.not_before, now)
            {
                ready.push(order.clone());
            }
        }
        self.running.extend(ready.iter().map(|order| order.key.clone()));
        ready
    }

    /// Whether the effect was cancelled while it ran.
    pub fn is_void(&self, key: &EffectKey) -> bool {
        self.void.contains(key)
    }

    /// The effect has ended and makes room for the next in its line.
    pub fn done(&mut self, key: &EffectKey) -> Option<Order> {
        self.running.remove(key);
        self.void.remove(key);
        let (line, order) = self.lines.iter_mut().find_map(|(line, orders)| {
            let at = orders.iter().position(|order| order.key == *key)?;
            Some((line.clone(), orders.remove(at)?))
        })?;
        if self.lines.get(&line).is_some_and(VecDeque::is_empty) {
            self.lines.remove(&line);
        }
        Some(order)
    }

    /// The effect keeps its place and is tried again later.
    pub fn retry(&mut self, key: &EffectKey, not_before: Millis) -> Option<Order> {
        self.running.remove(key);
        let order = self.lines.values_mut().flatten().find(|order| order.key == *key)?;
        order.attempt += 1;
        order.not_before = not_before;
        order.probe = true;
        Some(order.clone())
    }

    /// The effect was not tried at all, and keeps its place.
    pub fn put_off(&mut self, key: &EffectKey, not_before: Millis) {
        self.running.remove(key);
        if let Some(order) = self.lines.values_mut().flatten().find(|order| order.key == *key) {
            order.not_before = not_before;
        }
    }

    pub fn find(&self, key: &EffectKey) -> Option<&Order> {
        self.lines.values().flatten().find(|order| order.key == *key)
    }

    pub fn any(&self, test: impl Fn(&Effect) -> bool) -> bool {
        self.all(test).next().is_some()
    }

    pub fn all(&self, test: impl Fn(&Effect) -> bool) -> impl Iterator<Item = &Order> {
        self.lines.values().flatten().filter(move |order| test(&order.effect))
    }

    /// Whether an effect is being carried out right now.
    pub fn is_busy(&self) -> bool {
        !self.running.is_empty()
    }

    pub fn next_wake(&self) -> Option<Millis> {
        let waiting = self.lines.values().filter_map(VecDeque::front);
        waiting.filter(|order| !self.running.contains(&order.key)).map(|order| order.not_before).min()
    }
}

/// No try is put off for longer than this: who finds a later time has a clock that went back.
fn is_due(not_before: Millis, now: Millis) -> bool {
    not_before <= now || not_before > now + LONGEST_BACKOFF
}

fn line(order: &Order) -> Line {
    match (&order.owner, &order.effect) {
        (Some(task), effect) => Line::Task(task.clone(), effect.lane()),
        (None, Effect::HoldCandidate { build }) => Line::Candidate(build.clone()),
        (None, _) => Line::Alone(order.key.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(key: &str, owner: Option<&str>, effect: Effect) -> Order {
        let owner = owner.map(TaskId::stored);
        Order { key: EffectKey::new(key), owner, effect, attempt: 0, not_before: Millis(0), probe: false }
    }

    fn work(key: &str, owner: &str) -> Order {
        order(key, Some(owner), Effect::MakeWorkspace { branch: "b".into() })
    }

    fn ready(outbox: &mut Outbox, now: i64) -> Vec<String> {
        outbox.take_ready(Millis(now)).iter().map(|order| order.key.to_string()).collect()
    }

    #[test]
    fn a_line_is_kept_in_order_and_lanes_do_not_wait_for_each_other() {
        let mut outbox = Outbox::default();
        outbox.add(work("a1", "a"));
        outbox.add(work("a2", "a"));
        outbox.add(order("a3", Some("a"), Effect::CloseIssue));
        outbox.add(work("b1", "b"));
        assert_eq!(ready(&mut outbox, 0), ["a1", "a3", "b1"]);
        assert!(ready(&mut outbox, 0).is_empty());
        outbox.done(&EffectKey::new("a1"));
        assert_eq!(ready(&mut outbox, 0), ["a2"]);
    }

    #[test]
    fn a_session_that_was_to_be_stopped_is_stopped_though_its_task_has_ended() {
        let mut outbox = Outbox::default();
        outbox.add(work("a1", "a"));
        let session = windlass_core::id::SessionId::stored("review-7.1-1");
        outbox.add(order("a2", Some("a"), Effect::StopSession { session }));
        outbox.cancel(&TaskId::stored("a"));
        assert_eq!(ready(&mut outbox, 0), ["a2"]);
        assert!(!outbox.is_void(&EffectKey::new("a2")));
    }

    #[test]
    fn a_retry_keeps_its_place_and_waits() {
        let mut outbox = Outbox::default();
        outbox.add(work("a1", "a"));
        outbox.add(work("a2", "a"));
        ready(&mut outbox, 0);
        outbox.retry(&EffectKey::new("a1"), Millis(50));
        assert!(ready(&mut outbox, 49).is_empty());
        assert_eq!(outbox.next_wake(), Some(Millis(50)));
        assert_eq!(ready(&mut outbox, 50), ["a1"]);
    }

    #[test]
    fn a_clock_that_went_back_puts_nothing_off() {
        let mut outbox = Outbox::default();
        outbox.add(work("a1", "a"));
        ready(&mut outbox, 10_000_000);
        outbox.retry(&EffectKey::new("a1"), Millis(10_000_500));
        assert_eq!(ready(&mut outbox, 1_000), ["a1"]);
    }

    #[test]
    fn an_ended_task_loses_its_work_but_not_its_notes() {
        let mut outbox = Outbox::default();
        outbox.add(work("a1", "a"));
        outbox.add(work("a2", "a"));
        outbox.add(order("a3", Some("a"), Effect::CloseIssue));
        assert_eq!(ready(&mut outbox, 0), ["a1", "a3"]);
        outbox.cancel(&TaskId::stored("a"));
        outbox.done(&EffectKey::new("a1"));
        outbox.done(&EffectKey::new("a3"));
        assert!(!outbox.any(|_| true));
    }
}
