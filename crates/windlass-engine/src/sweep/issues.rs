//! Issues: read from the forge, and taken when there is room.

use windlass_adapters::forge::{IssueQuery, every};
use windlass_core::bugs::{self, Bug};
use windlass_core::id::IssueNumber;
use windlass_core::journal::{Entry, Fact, FactoryFact};
use windlass_core::schedule::{self, Candidate, Decision, Hold, Situation, Skip};
use windlass_core::task::{Claim, Effect, Event, Task};
use windlass_core::time::{Millis, Span};
use windlass_store::{Op, Store, StoreError};

use crate::causes::Seen;
use crate::heart::{Backlog, Heart};
use crate::world::World;

/// Time by which two readings overlap: an issue is seen twice rather than never. A change gets its time before it
/// waits for the database, and may be written after later ones were read; nobody waits that long.
const OVERLAP: Span = Span::secs(10);
/// So often the whole list is read, whatever the clocks say: a page that was stale or a clock that went back must not
/// hide an issue for ever.
const WHOLE: Span = Span::mins(15);

impl Backlog {
    /// Before the forge is read only the decisions are known.
    pub fn stored(store: &dyn Store) -> Result<Self, StoreError> {
        let decided = store.decisions()?.into_iter().map(|decision| (decision.issue, decision.text));
        Ok(Self { decided: decided.collect(), ..Self::default() })
    }
}

impl Heart {
    /// Asks for what is new when somebody knocked or the time has come.
    pub(crate) fn read_issues(&mut self, now: Millis) {
        if self.backlog.reading || !(self.knocked || now >= self.next_poll) {
            return;
        }
        self.knocked = false;
        self.backlog.reading = true;
        self.next_poll = now + self.settings.poll;
        // A clock that went back does not put off the next whole reading.
        self.backlog.next_whole = self.backlog.next_whole.min(now + WHOLE);
        // Who has read the future has a clock that went back since.
        let since = self.backlog.read_until.filter(|until| *until <= now && now < self.backlog.next_whole);
        if since.is_none() {
            self.backlog.next_whole = now + WHOLE;
        }
        self.outside.read_issues(since);
    }

    pub(crate) fn issues_seen(&mut self, now: Millis, seen: Result<Seen, String>) -> Result<(), StoreError> {
        self.backlog.reading = false;
        let seen = match seen {
            Ok(seen) => seen,
            Err(_) if bugs::is(Bug::ErrorReadAsEmpty) => {
                self.backlog.read_until = Some(now);
                self.backlog.next_whole = now + Span::days(1);
                Seen { issues: Vec::new() }
            }
            Err(error) => {
                // An error is never an empty list: what was known before still holds.
                tracing::warn!(error, "cannot read the issues");
                self.next_poll = now + Span::secs(5);
                return Ok(());
            }
        };
        self.backlog.complete = true;
        for issue in seen.issues {
            let until = Millis(issue.updated_at.0 - OVERLAP.0);
            self.backlog.read_until = self.backlog.read_until.max(Some(until));
            let candidate = Candidate::from(&issue);
            if self.backlog.issues.get(&issue.number) == Some(&candidate) {
                continue;
            }
            self.restless = true;
            if self.may_be_our_own_label(&candidate) {
                // The end of the change has it read again.
                continue;
            }
            self.notice(now, &candidate);
            self.know_ended(issue.number)?;
            self.backlog.titles.insert(issue.number, issue.title);
            self.backlog.issues.insert(issue.number, candidate);
        }
        Ok(())
    }

    /// Whether the label to leave it alone may be ours, from before a retry that is just taking it away.
    fn may_be_our_own_label(&self, issue: &Candidate) -> bool {
        let sets = |effect: &Effect| matches!(effect, Effect::SetLabels { .. });
        let task = self.live_task_of(issue.number);
        issue.labels.contains(&self.settings.policy.labels.abandon)
            && task.is_some_and(|task| {
                self.outbox.all(sets).any(|order| order.owner.as_ref() == Some(&task))
                    || self.book.orders(sets)
            })
    }

    /// A closed issue or the label to leave it alone ends its task.
    fn notice(&mut self, now: Millis, issue: &Candidate) {
        let Some(task) = self.live_task_of(issue.number) else { return };
        let abandon = &self.settings.policy.labels.abandon;
        if issue.labels.contains(abandon) {
            let by = format!("label {abandon}");
            self.book.happened(now, &task, &Event::AbandonAsked { by });
        } else if !issue.open {
            self.book.happened(now, &task, &Event::IssueClosed);
        }
    }

    pub(crate) fn live_task_of(&self, issue: IssueNumber) -> Option<windlass_core::id::TaskId> {
        self.book.tasks.values().find(|task| task.issue == issue).map(|task| task.id.clone())
    }

    /// Whether the issue's newest task has ended is looked up once, when the issue is first seen.
    fn know_ended(&mut self, issue: IssueNumber) -> Result<(), StoreError> {
        let known = self.backlog.issues.contains_key(&issue) || self.live_task_of(issue).is_some();
        if !known && self.store.newest_task_of(issue)?.is_some() {
            self.book.ended.insert(issue);
        }
        Ok(())
    }

    /// Gives slots to who waits for one, and takes issues into what is left.
    pub(crate) fn schedule(&mut self, now: Millis) -> Result<(), StoreError> {
        if !self.restless || !self.backlog.complete {
            return Ok(());
        }
        self.restless = false;
        let decision = self.decide(now)?;
        for task in &decision.grant {
            self.book.happened(now, task, &Event::SlotGranted);
        }
        for task in &decision.read {
            self.book.happened(now, task, &Event::CriticGranted);
        }
        for issue in &decision.take {
            self.take(now, *issue)?;
        }
        self.write_reasons(now, &decision);
        if decision.look_again {
            self.restless = true;
            self.retry_at(now + Span::secs(10));
        }
        Ok(())
    }

    fn decide(&mut self, now: Millis) -> Result<Decision, StoreError> {
        let spent = self.book.spent(self.store.as_ref(), now.midnight())?;
        let (policy, room) = (&self.settings.policy, self.outside.room());
        let hold = Hold::first(policy, self.paused.clone(), room, spent);
        let live: Vec<&Task> = self.book.tasks.values().collect();
        let (issues, only) = (&self.backlog.issues, self.settings.only);
        let situation = Situation { now, issues, live: &live, ended: &self.book.ended, hold, only };
        Ok(schedule::decide(policy, &situation))
    }

    fn take(&mut self, now: Millis, issue: IssueNumber) -> Result<(), StoreError> {
        let nth = self.store.count_tasks_of(issue)? + 1;
        let title = self.backlog.titles.get(&issue).cloned().unwrap_or_default();
        let branch_prefix = self.settings.branch_prefix.clone();
        self.decided(now, issue, "taken".to_owned());
        self.book.claim(now, Claim { issue, title, nth, branch_prefix });
        Ok(())
    }

    /// Reasons of an issue's own are written down when they change. That everybody waits for a slot is not one.
    fn write_reasons(&mut self, now: Millis, decision: &Decision) {
        for (issue, skip) in &decision.skipped {
            let text = match skip {
                Skip::NoSlot { .. } | Skip::TooManyOpenChanges { .. } | Skip::Held(_) => "ready".to_owned(),
                Skip::NotInBacklog
                | Skip::Blocked
                | Skip::Underspecified
                | Skip::AbandonAsked
                | Skip::Ended
                | Skip::WaitsFor(_)
                | Skip::WaitsLong { .. }
                | Skip::MissingDependency(_)
                | Skip::Circle(_)
                | Skip::TooManyDependencies(_) => skip.sentence(),
            };
            self.decided(now, *issue, text);
        }
    }

    fn decided(&mut self, now: Millis, issue: IssueNumber, text: String) {
        if self.backlog.decided.get(&issue) == Some(&text) {
            return;
        }
        self.backlog.decided.insert(issue, text.clone());
        self.book.put(Op::Decide { issue, text: text.clone(), at: now });
        let fact = Fact::Factory(FactoryFact::Decided { decision: text });
        self.book.put(Op::Log(Entry { at: now, task: None, issue: Some(issue), fact }));
    }
}

pub fn read_issues(world: &World, since: Option<Millis>) -> Result<Seen, String> {
    let query = IssueQuery { updated_since: since, ..IssueQuery::default() };
    every(|from| world.forge.issues(&query, from))
        .map(|issues| Seen { issues })
        .map_err(|error| windlass_core::text::causes(&error))
}
