//! Stops the queue and lets it go on; takes entries out of their turn or out of the queue.

use windlass_core::command::Answer;
use windlass_core::id::{IssueNumber, TaskId};
use windlass_core::journal::FactoryFact;
use windlass_core::queue::{PAUSED_KEY, Pause, Run, RunState};
use windlass_core::task::{Event, State};
use windlass_core::time::Millis;
use windlass_store::{Op, StoreError};

use super::KNOWN_MAIN;
use crate::heart::Heart;

impl Heart {
    /// The queue stops itself. What a person said about it stays said.
    pub(crate) fn pause_queue(&mut self, now: Millis, reason: String) {
        if self.queue.paused.is_none() {
            self.pause_as(now, Pause { reason, by: None });
        }
    }

    /// A person stops it.
    pub(crate) fn pause_queue_for(&mut self, now: Millis, by: String, reason: String) -> Answer {
        self.pause_as(now, Pause { reason, by: Some(by) });
        Answer::Done { what: "the queue is paused; nothing lands and nothing is tested for it".into() }
    }

    fn pause_as(&mut self, now: Millis, pause: Pause) {
        self.book.put(Op::SetControl { key: PAUSED_KEY.into(), value: Some(pause.text()) });
        let fact = FactoryFact::QueuePaused { reason: pause.reason.clone(), by: pause.by.clone() };
        self.book.log(now, fact);
        self.queue.paused = Some(pause);
    }

    pub(crate) fn resume_queue(&mut self, now: Millis) -> Answer {
        if self.queue.paused.take().is_none() {
            return Answer::Refused { why: "the queue is not paused".into() };
        }
        // Whatever main is now, a person has seen it, and why tests could not run, and how many there are.
        self.queue.known_main = None;
        self.queue.forget_main();
        let told = |run: &Run| !matches!(run.state, RunState::Broke { .. }) && !run.links.is_empty();
        self.queue.memory.runs.retain(told);
        self.queue.memory.counted = None;
        self.book.put(Op::SetControl { key: PAUSED_KEY.into(), value: None });
        self.book.put(Op::SetControl { key: KNOWN_MAIN.into(), value: None });
        self.book.log(now, FactoryFact::QueueResumed);
        Answer::Done { what: "the queue goes on".into() }
    }

    pub(crate) fn put_first(&mut self, issue: IssueNumber) -> Result<Answer, StoreError> {
        Ok(match self.entry_of(issue)? {
            Ok(task) => {
                self.queue.memory.front.ask(&task);
                Answer::Done { what: format!("{issue}: it lands as soon as its turn may be now") }
            }
            Err(why) => Answer::Refused { why },
        })
    }

    pub(crate) fn drop_entry(
        &mut self,
        now: Millis,
        issue: IssueNumber,
        by: String,
    ) -> Result<Answer, StoreError> {
        Ok(match self.entry_of(issue)? {
            Ok(task) => {
                self.book.happened(now, &task, &Event::Withdrawn { by });
                Answer::Done { what: format!("{issue}: out of the queue; it waits for your word") }
            }
            Err(why) => Answer::Refused { why },
        })
    }

    /// The issue's task, if it waits in the queue; else why it is not there.
    fn entry_of(&self, issue: IssueNumber) -> Result<Result<TaskId, String>, StoreError> {
        let live = self.live_task_of(issue).and_then(|id| self.book.tasks.get(&id));
        if let Some(task) = live {
            return Ok(match task.state {
                State::Queued { .. } => Ok(task.id.clone()),
                _ => Err(format!("{issue}: it is not in the queue, it is {}", task.state.name())),
            });
        }
        let newest = self.store.newest_task_of(issue)?;
        let is = newest.map_or("it has no task".to_owned(), |task| {
            format!("its task has ended ({})", task.value.state.name())
        });
        Ok(Err(format!("{issue}: it is not in the queue, {is}")))
    }
}
