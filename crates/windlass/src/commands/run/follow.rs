//! Follows one issue through the event log, a line for each step.

use std::time::{Duration, Instant};

use windlass_core::id::IssueNumber;
use windlass_core::journal::{Fact, FactoryFact};
use windlass_core::task::{State, Task};
use windlass_core::text::one_line;
use windlass_store::{EventQuery, LoggedEvent, PendingEffect, SqliteStore, Store, StoreError};

use super::held::{self, Held, Standing};
use crate::context::Context;
use crate::daemon::{self, Daemon};
use crate::error::CliError;
use crate::exit::Exit;
use crate::interrupt::Interrupt;
use crate::project::{self, Project};
use crate::text::clock;

const PAUSE: Duration = Duration::from_millis(50);
/// How often it is asked what stands in the way: that reads all issues.
const LOOK: Duration = Duration::from_millis(500);
/// What stands in the way for shorter than this is no reason to give up: free memory goes up and down.
const STEADY: Duration = Duration::from_secs(3);

/// Why nobody follows any more.
#[derive(Debug)]
pub enum Ended {
    Done(Box<State>),
    /// It waits for an answer.
    Asks,
    /// Its watcher was told to, or its time was over.
    LetGo(Exit),
    /// It waits for what does not come by itself.
    Held(Held),
    FactoryGone,
}

#[derive(Debug)]
pub struct Follower<'a> {
    project: &'a Project,
    store: SqliteStore,
    issue: IssueNumber,
    /// The factory takes no other issue.
    only: Option<IssueNumber>,
    seen: i64,
    looked: Instant,
    held_since: Option<Instant>,
    waits: Option<String>,
}

impl<'a> Follower<'a> {
    pub fn new(
        project: &'a Project,
        issue: IssueNumber,
        only: Option<IssueNumber>,
    ) -> Result<Self, CliError> {
        let store = project.reader()?;
        let seen = store.last_seq()?;
        let looked = Instant::now();
        Ok(Self { project, store, issue, only, seen, looked, held_since: None, waits: None })
    }

    pub fn issue(&self) -> IssueNumber {
        self.issue
    }

    /// `gone` says whether the factory that works on it has ended by itself.
    pub fn follow(
        mut self,
        context: &Context,
        interrupt: &Interrupt,
        gone: impl Fn() -> bool,
    ) -> Result<Ended, CliError> {
        loop {
            self.tell(context)?;
            let task = project::task_of(&self.store, self.issue)?;
            if let Some(task) = task {
                if is_over(&task, || self.store.pending_effects())? {
                    self.tell(context)?;
                    return Ok(Ended::Done(Box::new(task.state)));
                }
                if let State::AwaitingHuman { question, .. } = &task.state {
                    context.out.talk(&format!("NEEDS YOU  {}", one_line(question, 400)));
                    context.out.talk(&format!("answer with: windlass tell {} \"…\"", self.issue.0));
                    return Ok(Ended::Asks);
                }
            }
            if let Some(exit) = interrupt.came() {
                return Ok(Ended::LetGo(exit));
            }
            if gone() || daemon::look(self.project.layout.state())? == Daemon::Down {
                return Ok(Ended::FactoryGone);
            }
            if let Some(held) = self.held(context)? {
                return Ok(Ended::Held(held));
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// What has stood in its way for a while. What only takes its time is said once.
    fn held(&mut self, context: &Context) -> Result<Option<Held>, CliError> {
        if self.looked.elapsed() < LOOK {
            return Ok(None);
        }
        self.looked = Instant::now();
        match held::look(self.project, &self.store, self.issue, self.only)? {
            Standing::Held(held) => {
                let since = *self.held_since.get_or_insert_with(Instant::now);
                return Ok((since.elapsed() >= STEADY).then_some(held));
            }
            Standing::Waits(why) => {
                if self.waits.as_ref() != Some(&why) {
                    context.out.talk(&format!("{}  {:<15} {why}", clock(windlass_engine::now()), "waits"));
                }
                self.waits = Some(why);
            }
            Standing::Goes => self.waits = None,
        }
        self.held_since = None;
        Ok(None)
    }

    fn tell(&mut self, context: &Context) -> Result<(), CliError> {
        let query = EventQuery { since: self.seen, issue: Some(self.issue), ..EventQuery::default() };
        for event in self.store.events(&query)? {
            self.seen = event.seq;
            if let Some(words) = words(&event) {
                context.out.talk(&format!("{}  {words}", clock(event.entry.at)));
            }
        }
        Ok(())
    }
}

/// It has ended, and all that had to be done for it is done. What others wait for does not concern it.
fn is_over(
    task: &Task,
    pending: impl Fn() -> Result<Vec<PendingEffect>, StoreError>,
) -> Result<bool, StoreError> {
    let is_its_own = |effect: &PendingEffect| effect.owner.as_ref() == Some(&task.id);
    Ok(task.state.is_terminal() && !pending()?.iter().any(is_its_own))
}

fn words(event: &LoggedEvent) -> Option<String> {
    let Fact::Factory(fact) = &event.entry.fact else { return None };
    if let FactoryFact::TaskMoved { to, reason, .. } = fact {
        return Some(format!("{to:<15} {reason}"));
    }
    if let FactoryFact::Decided { decision } = fact {
        return Some(format!("{:<15} {decision}", "decided"));
    }
    if let FactoryFact::BuildStarted { build, .. } = fact {
        return Some(format!("{:<15} {build}", "build"));
    }
    if let FactoryFact::Landed { commit, .. } = fact {
        return Some(format!("{:<15} main is {}", "landed", commit.short()));
    }
    None
}

#[cfg(test)]
mod tests {
    use windlass_core::id::EffectKey;
    use windlass_core::policy::Policy;
    use windlass_core::task::{AbandonReason, Claim, Effect, Lane, claim};
    use windlass_core::time::Millis;

    use super::*;

    fn task(issue: u64) -> Task {
        let issue = IssueNumber(issue);
        let wish = Claim { issue, title: "a task".into(), nth: 1, branch_prefix: "windlass/".into() };
        claim(&Policy::default(), wish, Millis(1)).task
    }

    fn closing(owner: Option<&Task>) -> PendingEffect {
        PendingEffect {
            seq: 1,
            key: EffectKey::new("close"),
            owner: owner.map(|task| task.id.clone()),
            lane: Lane::Work,
            effect: Effect::CloseIssue,
            attempt: 0,
            not_before: Millis(1),
            error: None,
            epoch: 1,
            created_at: Millis(1),
        }
    }

    #[test]
    fn only_what_is_left_to_do_for_it_is_waited_for() {
        let (mut ours, other) = (task(1), task(2));
        let over = |task: &Task, pending: &[PendingEffect]| is_over(task, || Ok(pending.to_vec())).unwrap();
        assert!(!over(&ours, &[]), "it has not ended");
        ours.state = State::Abandoned { reason: AbandonReason::CiExhausted };
        assert!(over(&ours, &[]));
        assert!(!over(&ours, &[closing(Some(&ours))]), "its issue is not closed yet");
        assert!(over(&ours, &[closing(Some(&other)), closing(None)]), "these are of others");
    }
}
