//! What people asked for: each command becomes an event, and gets an answer.

use windlass_core::command::{Answer, Command, cannot_retry};
use windlass_core::id::{IssueNumber, TaskId};
use windlass_core::journal::{Entry, Fact, FactoryFact};
use windlass_core::schedule::Pause;
use windlass_core::task::Event;
use windlass_core::time::Millis;
use windlass_store::{Op, PostedCommand, StoreError};

use crate::heart::Heart;

/// Under this key a person's wish to pause is kept.
pub const PAUSED: &str = "paused";

impl Heart {
    pub(crate) fn take_commands(&mut self, now: Millis) -> Result<(), StoreError> {
        if !self.knocked && now < self.next_poll {
            return Ok(());
        }
        for posted in self.store.waiting_commands()? {
            let answer = self.obey(now, &posted)?;
            let text = match &answer {
                Answer::Done { what } => what.clone(),
                Answer::Refused { why } => format!("refused: {why}"),
            };
            let fact =
                FactoryFact::CommandTaken { id: posted.id, command: posted.command.clone(), answer: text };
            let issue = posted.command.issue();
            self.book.put(Op::Log(Entry { at: now, task: None, issue, fact: Fact::Factory(fact) }));
            self.book.put(Op::AnswerCommand { id: posted.id, answer, at: now });
        }
        Ok(())
    }

    fn obey(&mut self, now: Millis, posted: &PostedCommand) -> Result<Answer, StoreError> {
        let by = posted.by.clone();
        match &posted.command {
            Command::Tell { issue, text } => {
                self.tell_task(now, *issue, &Event::Told { by, text: text.clone() }, "told the session")
            }
            Command::Abandon { issue } => {
                self.tell_task(now, *issue, &Event::AbandonAsked { by }, "abandoned")
            }
            Command::Retry { issue } => self.retry(now, *issue, by),
            Command::Pause { reason } => Ok(self.pause(now, Pause { reason: reason.clone() })),
            Command::Resume => Ok(self.resume(now)),
            Command::QueuePause { reason } => Ok(self.pause_queue_for(now, by, reason.clone())),
            Command::QueueResume => Ok(self.resume_queue(now)),
            Command::QueueFront { issue } => self.put_first(*issue),
            Command::QueueDrop { issue } => self.drop_entry(now, *issue, by),
            Command::TakeKeyboard { issue, typist } => self.take_keyboard(now, *issue, by, typist),
            Command::ReturnKeyboard { issue, typist } => Ok(self.return_keyboard(now, *issue, typist)),
        }
    }

    fn tell_task(
        &mut self,
        now: Millis,
        issue: IssueNumber,
        event: &Event,
        what: &str,
    ) -> Result<Answer, StoreError> {
        let Some(task) = self.live_task_of(issue) else {
            let why = match self.store.newest_task_of(issue)? {
                Some(task) => format!("its task has ended ({})", task.value.state.name()),
                None => "it has no task".to_owned(),
            };
            return Ok(Answer::Refused { why: format!("{issue}: {why}") });
        };
        if self.book.happened(now, &task, event) {
            return Ok(Answer::Done { what: format!("{issue}: {what}") });
        }
        Ok(Answer::Refused { why: format!("{issue}: it makes no difference now") })
    }

    fn retry(&mut self, now: Millis, issue: IssueNumber, by: String) -> Result<Answer, StoreError> {
        // What was ended a moment ago is not in the store yet.
        let task = match self.book.task_of(issue) {
            Some(task) => Some(task.clone()),
            None => self.store.newest_task_of(issue)?.map(|task| task.value),
        };
        let refused = cannot_retry(task.as_ref().map(|task| &task.state));
        let Some(task) = task.filter(|_| refused.is_none()) else {
            return Ok(Answer::Refused { why: format!("{issue}: {}", refused.unwrap_or_default()) });
        };
        let id: TaskId = task.id;
        self.recall(&id)?;
        self.book.happened(now, &id, &Event::RetryAsked { by });
        self.book.ended.remove(&issue);
        self.restless = true;
        Ok(Answer::Done { what: format!("{issue}: another try begins as soon as a slot is free") })
    }

    fn pause(&mut self, now: Millis, pause: Pause) -> Answer {
        self.book.put(Op::SetControl { key: PAUSED.into(), value: Some(pause.text()) });
        self.paused = Some(pause);
        self.book.log(now, FactoryFact::Paused);
        Answer::Done { what: "nothing new is started; what runs goes on".into() }
    }

    fn resume(&mut self, now: Millis) -> Answer {
        self.paused = None;
        self.restless = true;
        self.book.put(Op::SetControl { key: PAUSED.into(), value: None });
        self.book.log(now, FactoryFact::Resumed);
        // A queue that goes on already is fine.
        drop(self.resume_queue(now));
        Answer::Done { what: "work is taken again".into() }
    }
}
