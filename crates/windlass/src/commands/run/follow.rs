//! Follows one issue through the event log, a line for each step.

use std::time::Duration;

use windlass_core::id::IssueNumber;
use windlass_core::journal::{Fact, FactoryFact};
use windlass_core::task::State;
use windlass_core::text::one_line;
use windlass_store::{EventQuery, LoggedEvent, SqliteStore, Store};

use crate::context::Context;
use crate::daemon::{self, Daemon};
use crate::error::CliError;
use crate::exit::Exit;
use crate::interrupt::Interrupt;
use crate::project::{self, Project};
use crate::text::clock;

const PAUSE: Duration = Duration::from_millis(50);

/// Why nobody follows any more.
#[derive(Debug)]
pub enum Ended {
    Done(Box<State>),
    /// It waits for an answer.
    Asks,
    /// Its watcher was told to, or its time was over.
    LetGo(Exit),
    FactoryGone,
}

#[derive(Debug)]
pub struct Follower<'a> {
    project: &'a Project,
    store: SqliteStore,
    issue: IssueNumber,
    seen: i64,
}

impl<'a> Follower<'a> {
    pub fn new(project: &'a Project, issue: IssueNumber) -> Result<Self, CliError> {
        let store = project.reader()?;
        let seen = store.last_seq()?;
        Ok(Self { project, store, issue, seen })
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
            std::thread::sleep(PAUSE);
        }
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
