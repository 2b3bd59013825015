//! Follows one issue through the event log, a line for each step.

use std::time::{Duration, Instant};

use windlass_core::id::IssueNumber;
use windlass_core::journal::{Fact, FactoryFact};
use windlass_core::task::State;
use windlass_core::text::one_line;
use windlass_store::{EventQuery, LoggedEvent, SqliteStore, Store};

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
                if task.state.is_terminal() && self.store.pending_effects()?.is_empty() {
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
