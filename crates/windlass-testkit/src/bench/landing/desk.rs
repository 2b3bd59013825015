//! A factory with many approved changes, whose queue tests when it is told to.

use std::path::{Path, PathBuf};

use windlass_core::build::BuildStatus;
use windlass_core::id::TaskId;
use windlass_core::journal::{Fact, FactoryFact};
use windlass_core::queue::Policy;
use windlass_core::task::{BuildLane, Effect};
use windlass_core::time::Millis;
use windlass_store::Store;

use super::FILES;
use crate::bench::error::BenchError;
use crate::bench::factory::{Factory, Seen, Setup};
use crate::bench::place::{Place, run};
use crate::bench::{agents, sample};

#[derive(Debug)]
pub struct Desk<'a> {
    pub place: &'a Place,
    pub factory: Factory<'a>,
    setup: Setup,
    /// How often somebody else has moved main.
    moves: u32,
}

impl<'a> Desk<'a> {
    /// So many changes wait in a queue that is paused; the factory is down.
    pub fn new(place: &'a Place, tasks: usize) -> Result<Self, BenchError> {
        let setup =
            Setup { files: FILES, parallel: 8, ci_slots: 1, dev: agents::editor(), critic: agents::critic() };
        let factory = Factory::new(place, &setup)?;
        let mut desk = Self { place, factory, setup, moves: 0 };
        touch(&desk.note("free"))?;
        for nth in 0..tasks {
            desk.factory.file(&format!("task {nth}"))?;
        }
        desk.up(Policy::Batch)?;
        desk.order("pause")?;
        let mut ready = 0;
        desk.factory.follow("approved changes", |seen| {
            ready += usize::from(seen.event.entry.fact.kind() == "merge_ready");
            ready == tasks
        })?;
        desk.factory.settle()?;
        desk.down()?;
        remove(&desk.note("free"))?;
        Ok(desk)
    }

    /// Builds wait for a sign, which each of them takes away; then they say that they have ended.
    pub fn up(&mut self, policy: Policy) -> Result<(), BenchError> {
        let (free, go, ended) = (self.note("free"), self.note("go"), self.note("ended"));
        let (free, go, ended) = (free.display(), go.display(), ended.display());
        let ci =
            format!("[ -e {free} ] || {{ until rm {go} 2> /dev/null; do sleep 0.005; done; : > {ended}; }}");
        self.factory.configure(&self.setup, &ci, policy)?;
        self.factory.up()
    }

    pub fn down(&mut self) -> Result<(), BenchError> {
        self.factory.down()
    }

    pub fn order(&self, word: &str) -> Result<(), BenchError> {
        run(self.factory.windlass().args(["queue", word])).map(drop)
    }

    /// Lets the one build that runs go on.
    pub fn let_go(&self) -> Result<(), BenchError> {
        remove(&self.note("ended"))?;
        touch(&self.note("go"))
    }

    /// The build that was let go has done its work; the daemon may not know yet.
    pub fn has_ended(&self) -> bool {
        self.note("ended").exists()
    }

    pub fn bare(&self) -> PathBuf {
        self.factory.state().join("repo.git")
    }

    /// What main is, read as git writes it.
    pub fn main(&self) -> Result<String, BenchError> {
        let path = self.bare().join("refs/heads/main");
        std::fs::read_to_string(&path).map_err(BenchError::io("read", &path))
    }

    /// Somebody else adds a line to a file that no task changes.
    pub fn move_main(&mut self) -> Result<(), BenchError> {
        self.moves += 1;
        let (repo, bare) = (self.factory.repo(), self.bare());
        let file = repo.join("part-0/file-0.txt");
        std::fs::write(&file, format!("move {}\n", self.moves)).map_err(BenchError::io("write", &file))?;
        let git = |args: &[&str]| run(sample::git(self.place, &repo).args(args)).map(drop);
        git(&["commit", "--quiet", "--message=moved", "part-0/file-0.txt"])?;
        git(&["push", "--quiet", &bare.to_string_lossy(), "HEAD:refs/heads/main"])
    }

    /// The task in whose name the queue's only build runs, once it does.
    pub fn wait_testing(&mut self) -> Result<TaskId, BenchError> {
        let mut task = None;
        self.factory.wait("a running test", |factory| {
            let builds = factory.store()?.open_builds()?;
            let running = builds.into_iter().find(|build| {
                build.lane == BuildLane::Gate && matches!(build.status, BuildStatus::Running { .. })
            });
            task = running.filter(|build| build.started_at.is_some()).map(|build| build.task);
            Ok(task.is_some())
        })?;
        task.ok_or_else(|| BenchError::TooLittle("no test of the queue runs".into()))
    }

    /// Whether a landing is ordered and not recorded.
    pub fn is_landing(&mut self) -> Result<bool, BenchError> {
        let pending = self.factory.store()?.pending_effects()?;
        Ok(pending.iter().any(|pending| matches!(pending.effect, Effect::Land { .. })))
    }

    pub fn note(&self, name: &str) -> PathBuf {
        self.factory.folder().join(name)
    }
}

/// When the first event of this kind happened.
pub fn time_of(events: &[Seen], kind: &str) -> Result<Millis, BenchError> {
    let found = events.iter().find(|seen| seen.event.entry.fact.kind() == kind);
    found.map(|seen| seen.event.entry.at).ok_or_else(|| BenchError::TooLittle(format!("no `{kind}`")))
}

/// A build for the queue was asked for.
pub fn asks_for_test(seen: &Seen) -> bool {
    let fact = &seen.event.entry.fact;
    matches!(fact, Fact::Factory(FactoryFact::BuildQueued { lane: BuildLane::Gate, .. }))
}

#[expect(clippy::cast_precision_loss, reason = "milliseconds of this century")]
pub fn millis_of(at: Millis) -> f64 {
    at.0 as f64
}

pub fn touch(path: &Path) -> Result<(), BenchError> {
    std::fs::write(path, "").map_err(BenchError::io("write", path))
}

fn remove(path: &Path) -> Result<(), BenchError> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(BenchError::io("remove", path)(error))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}
