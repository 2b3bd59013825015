//! What people see on the forge: branches, changes, comments, labels, reviews.

use windlass_core::forge::ChangeState;
use windlass_core::id::Sha;
use windlass_core::task::{Ending, Event, Task};
use windlass_engine::{Order, Report};

use super::Fault;
use crate::sim::world::World;

impl World {
    pub(super) fn push_branch(
        &mut self,
        task: &Task,
        branch: &str,
        head: &Sha,
        expected: Option<&Sha>,
    ) -> Result<Report, Fault> {
        self.step()?;
        let name = format!("refs/heads/{branch}");
        let actual = self.git.refs.get(&name).cloned();
        let adopted = if actual.as_ref() == expected {
            self.git.refs.insert(name, head.clone());
            false
        } else if actual.as_ref() == Some(head) {
            true
        } else {
            return Err(Fault::ForGood(format!("`{branch}` was moved by somebody else, it is {actual:?}")));
        };
        self.step()?;
        if let Some(change) = task.change.and_then(|number| self.forge.changes.get_mut(&number)) {
            if change.state != ChangeState::Open {
                return Err(Fault::ForGood("the change is not open".into()));
            }
            change.head = head.clone();
        }
        Ok(Report { adopted, ..Report::default() })
    }

    pub(super) fn open_change(&mut self, order: &Order, branch: &str, head: &Sha) -> Result<Report, Fault> {
        self.reach_forge()?;
        let open = self.forge.open_change_of(branch);
        let adopted = open.is_some();
        let number = match open {
            Some(number) => number,
            None => {
                self.act(&order.key, "a change was opened");
                self.forge.open_change(branch, head)
            }
        };
        self.step()?;
        if let Some(change) = self.forge.changes.get_mut(&number) {
            change.head = head.clone();
        }
        Ok(Report { event: Some(Event::ChangeOpened { number }), adopted, ..Report::default() })
    }

    pub(super) fn comment(&mut self, order: &Order, task: &Task, text: &str) -> Result<Report, Fault> {
        self.reach_forge()?;
        if self.forge.comment(task.issue, &order.key, text) {
            self.act(&order.key, "a comment was written");
            self.read_by_people(task.issue, text);
        }
        Ok(Report::default())
    }

    pub(super) fn set_labels(
        &mut self,
        task: &Task,
        add: &[String],
        remove: &[String],
    ) -> Result<Report, Fault> {
        self.reach_forge()?;
        let when = self.moment();
        for name in add {
            self.forge.add_label(when, task.issue, name);
            self.step()?;
        }
        for name in remove {
            self.forge.remove_label(when, task.issue, name);
            self.step()?;
        }
        Ok(Report::default())
    }

    pub(super) fn post_review(&mut self, order: &Order, task: &Task) -> Result<Report, Fault> {
        self.reach_forge()?;
        if task.change.is_none() {
            return Err(Fault::ForGood("there is no change to review".into()));
        }
        if self.forge.reviews.insert(order.key.clone()) {
            self.act(&order.key, "a review was posted");
        }
        Ok(Report::default())
    }

    pub(super) fn close_issue(&mut self, task: &Task) -> Result<Report, Fault> {
        self.reach_forge()?;
        let when = self.moment();
        self.forge.close(when, task.issue);
        Ok(Report::default())
    }

    pub(super) fn end_change(&mut self, ending: &Ending) -> Result<Report, Fault> {
        self.reach_forge()?;
        let (number, state) = match ending {
            Ending::Merged { number, .. } => (number, ChangeState::Merged),
            Ending::Closed { number } => (number, ChangeState::Closed),
        };
        let Some(change) = self.forge.changes.get_mut(number) else {
            return Err(Fault::ForGood(format!("there is no change {number}")));
        };
        let adopted = change.state != ChangeState::Open;
        if !adopted {
            change.state = state;
        }
        Ok(Report { adopted, ..Report::default() })
    }
}
