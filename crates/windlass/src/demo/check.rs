//! Whether a demo ended as it must, as git and the event log say.

use schemars::JsonSchema;
use serde::Serialize;
use windlass_adapters::git::{BareRepo, Git};
use windlass_core::build::TreeResult;
use windlass_core::id::IssueNumber;
use windlass_core::journal::{Fact, FactoryFact};
use windlass_core::task::State;
use windlass_store::{EventQuery, Store};

use super::issues::{End, ISSUES};
use super::watch::Watched;
use crate::error::CliError;
use crate::exit::Exit;
use crate::out::Style;
use crate::project::Project;

pub const SCHEMA: &str = "windlass.demo/1";

#[derive(Debug, Serialize, JsonSchema)]
pub struct DemoReport {
    pub schema: &'static str,
    pub folder: String,
    /// The bare repository that main lies in.
    pub repository: String,
    pub merged: u64,
    pub closed: u64,
    pub abandoned: u64,
    /// The commit that main is at.
    pub main: String,
    /// Every commit that we put on main has a passing verdict for its own tree, and main is the last of them.
    pub tested: bool,
    /// Every issue ended as it must.
    pub expected: bool,
    pub first_merge_ms: Option<u64>,
    pub total_ms: u64,
    pub issues: Vec<IssueEnd>,
    /// The command that removes it all.
    pub away: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct IssueEnd {
    pub number: u64,
    pub title: &'static str,
    pub state: String,
    pub reason: Option<String>,
    pub expected: bool,
}

pub fn report(project: &Project, watched: &Watched, away: String) -> Result<DemoReport, CliError> {
    let store = project.reader()?;
    let issues = ends(&store)?;
    let count = |state: &str| issues.iter().filter(|issue| issue.state == state).count() as u64;
    let git = Git::new(project.search_path());
    let repo = BareRepo::open(&git, &project.layout.repository())?;
    let main = repo.main_tip(&project.config.branch)?;
    let millis = |time: std::time::Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    Ok(DemoReport {
        schema: SCHEMA,
        folder: project.root.display().to_string(),
        repository: project.layout.repository().display().to_string(),
        merged: count("MERGED"),
        closed: count("CLOSED"),
        abandoned: count("ABANDONED"),
        tested: tested(&store, main.as_str())?,
        main: main.to_string(),
        expected: issues.iter().all(|issue| issue.expected),
        first_merge_ms: watched.first_merge.map(millis),
        total_ms: millis(watched.total),
        issues,
        away,
    })
}

fn ends(store: &dyn Store) -> Result<Vec<IssueEnd>, CliError> {
    let mut ends = Vec::new();
    for (number, issue) in (1..).zip(&ISSUES) {
        let task = store.newest_task_of(IssueNumber(number))?.map(|task| task.value);
        let state = task.as_ref().map(|task| &task.state);
        let reason = match state {
            Some(State::Abandoned { reason }) => Some(reason.word()),
            _ => None,
        };
        let expected = match issue.end {
            End::Merged => matches!(state, Some(State::Merged { .. })),
            End::Refused => reason.as_deref() == Some("refused/too_large"),
        };
        let state = state.map_or("NONE", State::name).to_owned();
        ends.push(IssueEnd { number, title: issue.title, state, reason, expected });
    }
    Ok(ends)
}

fn tested(store: &dyn Store, main: &str) -> Result<bool, CliError> {
    let landings = store.events(&EventQuery { kinds: vec!["landed".into()], ..EventQuery::default() })?;
    let mut last = None;
    for event in landings {
        let Fact::Factory(FactoryFact::Landed { commit, tree, recipe, .. }) = event.entry.fact else {
            continue;
        };
        let verdict = store.verdict(&tree, &recipe)?;
        if verdict.is_none_or(|verdict| verdict.result != TreeResult::Pass) {
            return Ok(false);
        }
        last = Some(commit);
    }
    Ok(last.is_some_and(|commit| commit.as_str() == main))
}

impl DemoReport {
    pub fn exit(&self) -> Exit {
        if self.expected && self.tested { Exit::Ok } else { Exit::WorkFailed }
    }

    pub fn words(&self, style: Style) -> String {
        let seconds = |ms: u64| format!("{}.{}s", ms / 1000, ms % 1000 / 100);
        let first = self.first_merge_ms.map_or_else(|| "never".to_owned(), seconds);
        let mark = if self.expected && self.tested {
            style.green("as it must")
        } else {
            style.red("NOT as it must")
        };
        let tested = if self.tested { "tested" } else { "NOT tested" };
        format!(
            "\n{} merged · {} abandoned · {} closed · main {} ({tested}) · ended {mark}\n\
             first merge after {first}, all after {}\n\n\
             look   git --git-dir {} log --graph --oneline main\n       \
             windlass -C {} events    and    windlass -C {} show 3\n\
             away   {}\n",
            self.merged,
            self.abandoned,
            self.closed,
            &self.main[..10],
            seconds(self.total_ms),
            self.repository,
            self.folder,
            self.folder,
            self.away,
        )
    }
}
