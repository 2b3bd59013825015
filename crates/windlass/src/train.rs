//! The merge queue as the store has it: who waits, for what, and until when. `queue`, `why` and `status` read it.

mod day;

use std::collections::BTreeMap;

use windlass_adapters::git::{BareRepo, Git};
use windlass_core::build::{Build, BuildStatus};
use windlass_core::id::TaskId;
use windlass_core::queue::{
    self, Change, Hold, MEMORY_KEY, MainIs, Memory, Now, Outlook, PAUSED_KEY, Pause, Run, RunState, View,
    holds,
};
use windlass_core::task::{Effect, Task};
use windlass_core::time::Millis;
use windlass_store::Store;

pub use day::day;

use crate::error::CliError;
use crate::project::Project;
use crate::view::{FlakyTest, PauseView, QueueAlarm, QueueEntry, QueueTest, SlotsView, Stamp, TaskLine};

/// One look at the queue. What the plan sees is seen here too.
#[derive(Debug)]
pub struct Train {
    /// The commit that the branch is at.
    pub main: String,
    pub pause: Option<Pause>,
    view: View,
    holds: Vec<Hold>,
    memory: Memory,
    outlook: Outlook,
    builds: Vec<Build>,
}

impl Train {
    pub fn look<'a>(
        project: &Project,
        store: &dyn Store,
        tasks: impl Iterator<Item = &'a Task>,
        now: Millis,
    ) -> Result<Self, CliError> {
        let repo = BareRepo::open(&Git::new(project.search_path()), &project.layout.repository())?;
        let main = repo.main_tip(&project.config.branch)?;
        let (memory, pause) = (memory(store)?, pause(store)?);
        let builds = store.open_builds()?;
        let asked = Now {
            policy: project.config.policy().queue.policy,
            main: main.clone(),
            main_is: MainIs::Green,
            slots: project.config.ci.slots,
            paused: pause.as_ref().map(Pause::sentence),
        };
        let view = memory.look(asked, queue::entries(tasks));
        let landing = landing(store)?;
        let held = holds(&view).into_iter().zip(&view.entries);
        let holds = held
            .map(|(hold, entry)| if landing.contains(&entry.change) { Hold::Landing } else { hold })
            .collect();
        let started = |run: &Run| build_of(&builds, run).and_then(|build| build.started_at);
        let outlook = queue::outlook(&view, &memory.clock, now, started);
        Ok(Self { main: main.to_string(), pause, view, holds, memory, outlook, builds })
    }

    /// The entries, the first to land first.
    pub fn entries(&self, project: &Project, tasks: &BTreeMap<TaskId, Task>) -> Vec<QueueEntry> {
        let policy = project.config.policy();
        let entry = |(at, entry): (usize, &queue::Entry)| {
            let change = &entry.change;
            let hold = &self.holds[at];
            Some(QueueEntry {
                line: TaskLine::of(&policy, tasks.get(&change.task)?),
                place: at + 1,
                head: change.head.to_string(),
                status: hold.word(),
                held: hold.sentence(),
                held_by: held_by(hold),
                overtaken: entry.passed,
                expedited: self.memory.front.asked().contains(&change.task),
                expected_at: self.outlook.landings.get(at).and_then(|(_, at)| at.map(Stamp)),
                alarmed_at: self.memory.alarms.get(&change.task).map(|alarm| Stamp(alarm.at)),
                tests: self.tests(|run| run.links.iter().any(|link| link.change == *change)),
            })
        };
        self.view.entries.iter().enumerate().filter_map(entry).collect()
    }

    /// The tests under way.
    pub fn all_tests(&self) -> Vec<QueueTest> {
        self.tests(|_| true)
    }

    pub fn slots(&self) -> SlotsView {
        SlotsView {
            configured: self.view.slots,
            needed: self.outlook.needed_slots,
            usual_test_ms: self.outlook.usual_test.map(|span| span.0),
            bad_per_mille: per_mille(self.outlook.bad),
        }
    }

    /// Those that were seen last first.
    pub fn flaky(&self) -> Vec<FlakyTest> {
        let test = |(test, flake): (&String, &queue::Flake)| FlakyTest {
            test: test.clone(),
            count: flake.count,
            first: Stamp(flake.first),
            last: Stamp(flake.last),
            tree: flake.tree.to_string(),
        };
        let mut all: Vec<FlakyTest> = self.memory.flaky.tests().iter().map(test).collect();
        all.sort_by(|a, b| b.last.0.cmp(&a.last.0).then_with(|| a.test.cmp(&b.test)));
        all
    }

    fn tests(&self, wanted: impl Fn(&Run) -> bool) -> Vec<QueueTest> {
        let open = self.view.runs.iter().filter(|run| run.state == RunState::Open && wanted(run));
        let test = |run: &Run| {
            let build = build_of(&self.builds, run);
            let running = build.filter(|build| matches!(build.status, BuildStatus::Running { .. }));
            QueueTest {
                issues: run.links.iter().filter_map(|link| link.change.task.issue()).map(|n| n.0).collect(),
                build: build.map(|build| build.id.to_string()),
                status: if running.is_some() { "running" } else { "waiting" },
                started_at: running.and_then(|build| build.started_at).map(Stamp),
                lands: run.above(&self.view.main).is_some_and(|links| !links.is_empty()),
            }
        };
        open.map(test).collect()
    }
}

/// The queue's entries in the order in which they are to land, without a look at git.
pub fn ordered(memory: &Memory, tasks: &BTreeMap<TaskId, Task>) -> Vec<TaskId> {
    let entries = memory.front.order(queue::entries(tasks.values()));
    entries.into_iter().map(|entry| entry.change.task).collect()
}

pub fn memory(store: &dyn Store) -> Result<Memory, CliError> {
    Ok(Memory::stored(store.control(MEMORY_KEY)?.as_deref()))
}

pub fn pause(store: &dyn Store) -> Result<Option<Pause>, CliError> {
    Ok(store.control(PAUSED_KEY)?.map(|text| Pause::stored(&text)))
}

pub fn pause_view(pause: &Pause) -> PauseView {
    PauseView { reason: pause.reason.clone(), by: pause.by.clone() }
}

/// Who has waited for too long, as it was said.
pub fn alarms(memory: &Memory, tasks: &BTreeMap<TaskId, Task>) -> Vec<QueueAlarm> {
    let alarm = |(task, alarm): (&TaskId, &queue::Alarm)| {
        let task = tasks.get(task)?;
        let (issue, since) = (task.issue.0, Stamp(task.since));
        Some(QueueAlarm { issue, since, at: Stamp(alarm.at), held: alarm.held.clone() })
    };
    memory.alarms.iter().filter_map(alarm).collect()
}

fn landing(store: &dyn Store) -> Result<Vec<Change>, CliError> {
    let mut changes = Vec::new();
    for pending in store.pending_effects()? {
        if let Effect::Land { links, .. } = pending.effect {
            changes.extend(links.into_iter().map(|link| link.change));
        }
    }
    Ok(changes)
}

fn build_of<'a>(builds: &'a [Build], run: &Run) -> Option<&'a Build> {
    builds.iter().rev().find(|build| match run.links.last() {
        Some(last) => build.tree == last.tree,
        None => build.commit == run.base,
    })
}

fn held_by(hold: &Hold) -> Vec<u64> {
    match hold {
        Hold::Behind { by } => by.iter().filter_map(TaskId::issue).map(|issue| issue.0).collect(),
        Hold::Paused { .. }
        | Hold::Landing
        | Hold::Tested { .. }
        | Hold::Doubted
        | Hold::Suspected { .. }
        | Hold::Proven
        | Hold::Slot => Vec::new(),
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and 1000")]
fn per_mille(share: f64) -> u32 {
    (share * 1_000.0).round() as u32
}
