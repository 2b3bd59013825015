//! Follows a demo: one line per turn of events, the one question answered, until everything has settled.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use windlass_core::command::Command;
use windlass_core::id::IssueNumber;
use windlass_core::journal::{Fact, FactoryFact};
use windlass_core::task::State;
use windlass_core::text;
use windlass_store::{EventQuery, LoggedEvent, SqliteStore, Store};

use super::issues::{ANSWER, ISSUES};
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::project::Project;

const LOOK_EVERY: Duration = Duration::from_millis(50);

/// What the person who started the demo wants.
#[derive(Debug, Clone, Copy)]
pub struct Wishes {
    /// Answer questions for them.
    pub answer: bool,
    pub patience: Duration,
}

/// What was seen from outside.
#[derive(Debug)]
pub struct Watched {
    pub first_merge: Option<Duration>,
    pub total: Duration,
}

#[derive(Debug)]
pub struct Watcher<'a> {
    project: &'a Project,
    store: SqliteStore,
    started: Instant,
    seen: i64,
    first_merge: Option<Duration>,
    titles: BTreeMap<IssueNumber, &'static str>,
    /// Questions that were passed on, by the time they were asked.
    asked: BTreeMap<IssueNumber, i64>,
}

impl<'a> Watcher<'a> {
    pub fn new(project: &'a Project) -> Result<Self, CliError> {
        let titles = (1..).map(IssueNumber).zip(ISSUES.iter().map(|issue| issue.title)).collect();
        let store = project.client()?;
        let started = Instant::now();
        Ok(Self { project, store, started, seen: 0, first_merge: None, titles, asked: BTreeMap::new() })
    }

    /// Until every issue has ended and nothing is left to do.
    pub fn follow(
        mut self,
        context: &mut Context,
        wishes: Wishes,
        daemon_ended: impl Fn() -> bool,
    ) -> Result<Watched, CliError> {
        loop {
            for event in self.store.events(&EventQuery { since: self.seen, ..EventQuery::default() })? {
                self.seen = event.seq;
                self.tell(context, &event);
            }
            self.questions(context, wishes)?;
            if self.settled()? || daemon_ended() {
                return Ok(Watched { first_merge: self.first_merge, total: self.started.elapsed() });
            }
            if self.started.elapsed() > wishes.patience {
                return Err(CliError::new("timeout", Exit::Pending, "the demo has not settled in time")
                    .next(format!("windlass status -C {}", self.project.root.display())));
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }

    fn tell(&mut self, context: &Context, event: &LoggedEvent) {
        let elapsed = self.started.elapsed();
        let Fact::Factory(fact) = &event.entry.fact else { return };
        let words = match fact {
            FactoryFact::TaskMoved { to, reason, .. } => {
                if to == "MERGED" && self.first_merge.is_none() {
                    self.first_merge = Some(elapsed);
                }
                format!("{to:<15} {reason}")
            }
            FactoryFact::Decided { decision } if decision.starts_with("waits") => decision.clone(),
            FactoryFact::Landed { commit, .. } => format!("main is {}", commit.short()),
            _ => return,
        };
        let Some(issue) = event.entry.issue else { return };
        let title = text::clip(self.titles.get(&issue).copied().unwrap_or_default(), 40);
        let secs = elapsed.as_secs();
        context.out.talk(&format!("{:>2}:{:02}  {issue:<3} {title:<42} {words}", secs / 60, secs % 60));
    }

    /// A question is answered for a person who said so, and else shown once.
    fn questions(&mut self, context: &mut Context, wishes: Wishes) -> Result<(), CliError> {
        for task in self.store.live_tasks()? {
            let task = task.value;
            let State::AwaitingHuman { question, .. } = &task.state else { continue };
            if self.asked.insert(task.issue, task.since.0) == Some(task.since.0) {
                continue;
            }
            context.out.talk(&format!("NEEDS YOU  {} {}", task.issue, text::one_line(question, 200)));
            let text = match (wishes.answer, context.may_ask()) {
                (true, _) => Some(ANSWER.to_owned()),
                (false, true) => ask(),
                (false, false) => None,
            };
            match text {
                Some(text) => self.answer(context, task.issue, text)?,
                None => context.out.talk(&format!(
                    "answer with: windlass -C {} tell {} \"…\"",
                    self.project.root.display(),
                    task.issue.0
                )),
            }
        }
        Ok(())
    }

    fn answer(&self, context: &Context, issue: IssueNumber, text: String) -> Result<(), CliError> {
        context.out.talk(&format!("answered   {text}"));
        let tell = Command::Tell { issue, text };
        self.store.post_command(&tell, self.project.user(), windlass_engine::now())?;
        self.project.knock()
    }

    fn settled(&self) -> Result<bool, CliError> {
        let ended = self.store.counts_by_state()?;
        let ended: u64 = ["MERGED", "CLOSED", "ABANDONED"].iter().filter_map(|state| ended.get(*state)).sum();
        Ok(ended >= ISSUES.len() as u64 && self.store.pending_effects()?.is_empty())
    }
}

/// What the person at the terminal says; nothing is an answer for later.
fn ask() -> Option<String> {
    eprint!("your answer (for example: {ANSWER})\n  > ");
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).ok()?;
    let line = line.trim();
    (!line.is_empty()).then(|| line.to_owned())
}
