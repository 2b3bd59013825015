//! What the scheduler would do with the issues at this moment, asked as the daemon asks it.

use std::collections::{BTreeMap, BTreeSet};

use windlass_adapters::forge::{Forge, IssueQuery, every};
use windlass_core::forge::Issue;
use windlass_core::id::IssueNumber;
use windlass_core::schedule::{self, Candidate, Decision, Hold, Pause, Situation, Skip};
use windlass_core::task::Task;
use windlass_core::time::Millis;
use windlass_engine::{PAUSED, room};
use windlass_store::{Store, UsageQuery};

use crate::error::CliError;
use crate::project::Project;
use crate::view::BacklogView;

#[derive(Debug)]
pub struct Backlog {
    pub issues: Vec<Issue>,
    /// Tasks that have not ended.
    pub live: Vec<Task>,
    pub decision: Decision,
}

impl Backlog {
    /// With `only`, as a factory sees it that takes no other issue.
    pub fn look(
        project: &Project,
        store: &dyn Store,
        now: Millis,
        only: Option<IssueNumber>,
    ) -> Result<Self, CliError> {
        let forge = project.forge()?;
        let issues = every(|from| forge.issues(&IssueQuery::default(), from))?;
        let live: Vec<Task> = store.live_tasks()?.into_iter().map(|task| task.value).collect();
        let decision = {
            let candidates: BTreeMap<IssueNumber, Candidate> =
                issues.iter().map(|issue| (issue.number, Candidate::from(issue))).collect();
            let live: Vec<&Task> = live.iter().collect();
            let ended = ended(store, &issues, &live)?;
            let hold = hold(project, store)?;
            let situation = Situation { now, issues: &candidates, live: &live, ended: &ended, hold, only };
            schedule::decide(&project.config.policy(), &situation)
        };
        Ok(Self { issues, live, decision })
    }
}

impl From<&Backlog> for BacklogView {
    fn from(backlog: &Backlog) -> Self {
        let mut view = Self::default();
        view.starting.extend(backlog.decision.take.iter().map(|issue| issue.0));
        view.ready = view.starting.len();
        for skip in backlog.decision.skipped.values() {
            match skip {
                Skip::NoSlot { .. } | Skip::TooManyOpenChanges { .. } | Skip::Held(_) => view.ready += 1,
                Skip::WaitsFor(_) | Skip::WaitsLong { .. } => view.wait_for_others += 1,
                Skip::Blocked
                | Skip::Underspecified
                | Skip::AbandonAsked
                | Skip::MissingDependency(_)
                | Skip::Circle(_)
                | Skip::TooManyDependencies(_) => view.held_back += 1,
                // Nobody means these to be worked on.
                Skip::NotInBacklog | Skip::Ended => {}
            }
        }
        view
    }
}

/// Issues that only a retry starts again.
fn ended(store: &dyn Store, issues: &[Issue], live: &[&Task]) -> Result<BTreeSet<IssueNumber>, CliError> {
    let mut ended = BTreeSet::new();
    for issue in issues.iter().filter(|issue| issue.open) {
        let is_live = live.iter().any(|task| task.issue == issue.number);
        if !is_live && store.newest_task_of(issue.number)?.is_some() {
            ended.insert(issue.number);
        }
    }
    Ok(ended)
}

/// What holds everybody up, if anything does.
pub fn hold(project: &Project, store: &dyn Store) -> Result<Option<Hold>, CliError> {
    let room = room::hold(project.config.guards(), project.layout.state());
    let today = UsageQuery { issue: None, since: Some(windlass_engine::now().midnight()) };
    Ok(Hold::first(&project.config.policy(), pause(store)?, room, store.cost(&today)?))
}

/// A person's wish that nothing new is started, if there is one.
pub fn pause(store: &dyn Store) -> Result<Option<Pause>, CliError> {
    Ok(store.control(PAUSED)?.map(|text| Pause::stored(&text)))
}
