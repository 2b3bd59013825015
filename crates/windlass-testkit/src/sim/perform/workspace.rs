//! Workspaces: made, looked into, and removed only after everything in them is safe.

use windlass_adapters::git::RESCUE;
use windlass_core::bugs::{self, Bug};
use windlass_core::id::{SessionId, Sha};
use windlass_core::task::{Event, Rejection, Task};
use windlass_engine::Report;

use super::Fault;
use crate::sim::probe::sometimes;
use crate::sim::rules::Rule;
use crate::sim::world::{Workspace, World};

impl World {
    pub(super) fn make_workspace(&mut self, task: &Task) -> Result<Report, Fault> {
        self.step()?;
        let main = self.git.main();
        let kept = self.workspaces.contains_key(&task.id);
        let at = task.pushed.clone().unwrap_or_else(|| main.clone());
        self.workspaces.entry(task.id.clone()).or_insert(Workspace { head: at, dirty: false });
        self.step()?;
        let begun = task.base.clone().filter(|_| kept || task.pushed.is_some());
        let event = Some(Event::WorkspaceReady { base: begun.unwrap_or(main) });
        Ok(Report { event, ..Report::default() })
    }

    pub(super) fn fetch(&mut self, task: &Task, session: &SessionId, branch: &str) -> Result<Report, Fault> {
        self.step()?;
        let session = session.clone();
        let Some(workspace) = self.workspaces.get(&task.id) else {
            let event = Event::WorkRejected { session, why: Rejection::WorkspaceGone };
            return Ok(Report { event: Some(event), ..Report::default() });
        };
        let head = workspace.head.clone();
        self.git.refs.insert(format!("refs/windlass/work/{branch}"), head.clone());
        self.step()?;
        let event = match self.reject(task, &head) {
            Some(why) => Event::WorkRejected { session, why },
            None => {
                let tree = self.git.get(&head).tree.clone();
                Event::WorkFetched { session, head, tree }
            }
        };
        Ok(Report { event: Some(event), ..Report::default() })
    }

    fn reject(&self, task: &Task, head: &Sha) -> Option<Rejection> {
        let base = task.base.clone().unwrap_or_else(|| self.git.main());
        if *head == base {
            return Some(Rejection::NothingCommitted);
        }
        if task.pushed.as_ref() == Some(head) && task.state.wants_new_head() {
            return Some(Rejection::NothingNew { head: head.clone() });
        }
        (!self.git.is_ancestor(&base, head)).then_some(Rejection::HistoryRewritten)
    }

    pub(super) fn remove_workspace(&mut self, task: &Task, branch: &str) -> Result<Report, Fault> {
        let mut rescued = None;
        if let Some(workspace) = self.workspaces.get(&task.id).cloned() {
            self.nobody_works_in(task);
            let on_main = self.git.is_ancestor(&workspace.head, &self.git.main());
            let worth = workspace.dirty || !on_main;
            if worth && !bugs::is(Bug::RemovalWithoutSaving) {
                let reference = format!("{RESCUE}{}", task.id);
                self.git.refs.insert(reference.clone(), workspace.head.clone());
                sometimes!(self, "work was saved before its workspace went");
                rescued = Some((reference, workspace.head.clone()));
            }
            self.step()?;
            self.workspaces.remove(&task.id);
            self.check_saved(&task.id, &workspace);
        }
        self.step()?;
        self.git.refs.remove(&format!("refs/heads/{branch}"));
        self.step()?;
        self.git.refs.remove(&format!("refs/windlass/work/{branch}"));
        Ok(Report { rescued, ..Report::default() })
    }

    /// What an agent writes after its work was saved is lost.
    fn nobody_works_in(&mut self, task: &Task) {
        let mut alive = self.sessions.iter().filter(|(_, session)| session.alive && session.task == task.id);
        if let Some((name, _)) = alive.find(|(_, session)| session.head.is_none()) {
            let what = format!("the workspace of {} is removed while {name} works in it", task.id);
            self.complain(Rule::Saved, what);
        }
    }
}
