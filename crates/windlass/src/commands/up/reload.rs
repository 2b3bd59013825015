//! Reads the configuration again when a file of it changes, hands it to the running factory, and keeps the schedule by it.
//! Whoever moves the branch that it lies on has also moved main.

use std::collections::BTreeMap;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use windlass_adapters::files;
use windlass_engine::{Layout, Reload, Reloaded, Settings};

use super::house::House;
use crate::checkout;
use crate::config::{Layered, Schedule, Sources, Valued, changes_at_once};
use crate::error::CliError;
use crate::exit::Exit;
use crate::intake::Mains;
use crate::project::{self, Project};

/// Between two looks; a change counts when it has stood for one.
const PAUSE: Duration = Duration::from_millis(500);
/// The longest time between two looks when git does not answer.
const LONGEST: Duration = Duration::from_secs(60);

/// Looks until it is dropped.
#[derive(Debug)]
pub struct Watched {
    end: Sender<()>,
    thread: JoinHandle<()>,
}

impl Watched {
    pub fn end(self) {
        drop(self.end);
        if self.thread.join().is_err() {
            tracing::error!("the thread that watches the configuration has panicked");
        }
    }
}

pub fn watch(project: &Project, reload: Reload) -> io::Result<Watched> {
    let mut files = project.sources.files();
    files.extend(checkout::branch_files(project.search_path(), &project.root, &project.sources.branch));
    let watcher = Watcher {
        sources: project.sources.clone(),
        values: project.loaded.layered.values.clone(),
        started: project.loaded.layered.values.clone(),
        refused: None,
        project: project.facts(),
        in_force: project::config_in_force(&project.layout),
        layout: project.layout.clone(),
        mains: Mains::of(project),
        schedule: project.config.schedule.clone(),
        house: House::of(project),
        files,
        reload,
    };
    write_down(&watcher.in_force, &project.loaded.layered);
    let (end, ended) = channel();
    let thread = std::thread::Builder::new().name("config".into()).spawn(move || watcher.run(&ended))?;
    Ok(Watched { end, thread })
}

/// For those who look while the files are not valid.
fn write_down(path: &Path, layered: &Layered) {
    if let Err(error) = files::write_atomic(path, layered.text().as_bytes()) {
        tracing::warn!(%error, "cannot write down the configuration in force");
    }
}

type Values = BTreeMap<String, Valued>;

struct Watcher {
    sources: Sources,
    /// In force, as far as it may change at run time.
    values: Values,
    /// With which the factory was started.
    started: Values,
    refused: Option<String>,
    project: project::Facts,
    in_force: PathBuf,
    layout: Layout,
    mains: Mains,
    schedule: Schedule,
    house: House,
    files: Vec<PathBuf>,
    reload: Reload,
}

impl Watcher {
    fn run(mut self, ended: &Receiver<()>) {
        // None at first: what changed between the start and now is seen by the first look.
        let (mut acted, mut last) = (None, None);
        let (mut again, mut rest) = (Instant::now(), Duration::ZERO);
        while ended.recv_timeout(PAUSE) == Err(RecvTimeoutError::Timeout) {
            let seen = Some(marks(&self.files));
            if seen != acted && seen == last && again.elapsed() >= rest {
                match (self.look(), self.take_in()) {
                    (Look::Answered, Look::Answered) => {
                        acted.clone_from(&seen);
                        rest = Duration::ZERO;
                    }
                    // A full disk, or a machine short of processes: it passes, and no file will change then.
                    (Look::Failed, _) | (_, Look::Failed) => {
                        again = Instant::now();
                        rest = (rest * 2).clamp(PAUSE, LONGEST);
                    }
                }
            }
            last = seen;
            self.house.look(&self.schedule);
        }
        self.house.end();
    }

    fn look(&mut self) -> Look {
        match self.read() {
            Ok((layered, settings)) => self.take(layered, settings),
            Err(error) if is_refusal(error.exit) => {
                let why = error.sentence();
                if self.refused.as_ref() != Some(&why) {
                    tracing::warn!(%why, "the changed configuration is not valid, the last good one holds");
                    self.reload.refuse(why.clone());
                    self.refused = Some(why);
                }
            }
            Err(error) => {
                tracing::warn!(error = %error.sentence(), "cannot read the configuration, trying again later");
                return Look::Failed;
            }
        }
        Look::Answered
    }

    /// The branch may have moved, too.
    fn take_in(&self) -> Look {
        match self.mains.take() {
            Ok(None) => {}
            Ok(Some(note)) => {
                tracing::info!("{note}");
                if let Err(error) = project::knock(&self.layout) {
                    let error = error.sentence();
                    tracing::warn!(%error, "cannot wake the factory, it looks by itself later");
                }
            }
            Err(note) => {
                tracing::warn!("{note}");
                return Look::Failed;
            }
        }
        Look::Answered
    }

    fn read(&self) -> Result<(Layered, Settings), CliError> {
        let loaded = self.sources.load()?;
        let settings = self.project.settings(&loaded.layered)?;
        Ok((loaded.layered, settings))
    }

    fn take(&mut self, layered: Layered, settings: Settings) {
        let values = &layered.values;
        let taken: Vec<String> =
            differences(&self.values, values).into_iter().filter(|key| changes_at_once(key)).collect();
        let waiting: Vec<String> =
            differences(&self.started, values).into_iter().filter(|key| !changes_at_once(key)).collect();
        let before = differences(&self.values, values);
        if before.is_empty() && self.refused.is_none() {
            return;
        }
        tracing::info!(?taken, ?waiting, "the configuration has changed");
        write_down(&self.in_force, &layered);
        self.reload.take(Reloaded { settings, taken, waiting });
        self.schedule = layered.config.schedule;
        self.house.forget();
        self.values = layered.values;
        self.refused = None;
    }
}

/// Whether what was asked has answered, whatever it said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Look {
    Answered,
    Failed,
}

/// Reading it has worked, and what it says is wrong.
fn is_refusal(exit: Exit) -> bool {
    matches!(exit, Exit::Config | Exit::Authentication | Exit::Usage)
}

/// Keys whose values differ, whoever said them.
fn differences(one: &Values, other: &Values) -> Vec<String> {
    let value = |values: &Values, key: &str| values.get(key).map(|valued| valued.value.clone());
    let mut keys: Vec<&String> = one.keys().chain(other.keys()).collect();
    keys.sort();
    keys.dedup();
    keys.into_iter().filter(|key| value(one, key) != value(other, key)).cloned().collect()
}

/// What changes when a file is written or replaced; a file that is not there has a mark too.
fn marks(files: &[PathBuf]) -> Vec<Option<(u64, u64, i64, i64)>> {
    let mark = |path: &PathBuf| {
        let found = path.metadata().ok()?;
        Some((found.ino(), found.len(), found.mtime(), found.mtime_nsec()))
    };
    files.iter().map(mark).collect()
}
