//! Who types in the terminals of sessions. Only written down: the terminal itself sees who types, and waits for them.

use serde::{Deserialize, Serialize};
use windlass_core::command::{Answer, Typist};
use windlass_core::id::{IssueNumber, SessionId, TaskId};
use windlass_core::journal::FactoryFact;
use windlass_core::time::Millis;
use windlass_store::{Op, Store, StoreError};

use crate::heart::Heart;

/// Under this key the keyboards are kept that are not free.
const KEY: &str = "keyboards";

/// A keyboard that somebody has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Taken {
    task: TaskId,
    session: SessionId,
    by: String,
    typist: Typist,
}

/// As they were written down last.
pub fn stored(store: &dyn Store) -> Result<Vec<Taken>, StoreError> {
    let text = store.control(KEY)?.unwrap_or_default();
    // What another version has written is forgotten: nothing depends on it but a line in the log.
    Ok(serde_json::from_str(&text).unwrap_or_default())
}

impl Heart {
    /// The task may have ended meanwhile.
    pub(super) fn take_keyboard(
        &mut self,
        now: Millis,
        issue: IssueNumber,
        by: String,
        typist: &Typist,
    ) -> Result<Answer, StoreError> {
        let Some(task) = self.store.newest_task_of(issue)? else {
            return Ok(Answer::Refused { why: format!("{issue}: it has no task") });
        };
        let (task, session) = (task.value.id, task.value.session);
        self.book.log_of(now, &task, FactoryFact::KeyboardTaken { session: session.clone(), by: by.clone() });
        self.outside.watch_typist(typist);
        let mut taken = self.keyboards.clone();
        taken.push(Taken { task, session, by, typist: typist.clone() });
        self.keep_keyboards(taken);
        Ok(noted(issue))
    }

    /// One that was given back already, because nobody was there any more, is fine.
    pub(super) fn return_keyboard(&mut self, now: Millis, issue: IssueNumber, typist: &Typist) -> Answer {
        self.give_back(now, |taken| taken.typist == *typist && taken.task.issue() == Some(issue));
        noted(issue)
    }

    /// Who was killed cannot say that they type no more.
    pub(crate) fn look_for_typists(&mut self, now: Millis) {
        let gone: Vec<Typist> = self
            .keyboards
            .iter()
            .map(|taken| taken.typist.clone())
            .filter(|typist| !self.outside.is_there(typist))
            .collect();
        self.give_back(now, |taken| gone.contains(&taken.typist));
    }

    /// Those from before a restart are watched from here on.
    pub(crate) fn watch_typists(&mut self) {
        for taken in &self.keyboards {
            self.outside.watch_typist(&taken.typist);
        }
    }

    fn give_back(&mut self, now: Millis, is_free: impl Fn(&Taken) -> bool) {
        let (free, taken): (Vec<Taken>, Vec<Taken>) = self.keyboards.iter().cloned().partition(is_free);
        if free.is_empty() {
            return;
        }
        for Taken { task, session, by, .. } in free {
            self.book.log_of(now, &task, FactoryFact::KeyboardReturned { session, by });
        }
        self.keep_keyboards(taken);
    }

    fn keep_keyboards(&mut self, taken: Vec<Taken>) {
        let text = serde_json::to_string(&taken).expect("plain data");
        let value = Some(text).filter(|_| !taken.is_empty());
        self.book.put(Op::SetControl { key: KEY.into(), value });
        self.keyboards = taken;
    }
}

fn noted(issue: IssueNumber) -> Answer {
    Answer::Done { what: format!("{issue}: noted") }
}
