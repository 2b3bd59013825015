//! The house jobs: what the factory does by the clock to keep its own house in order. None of them asks a model.

mod ledger;
mod when;

use std::cmp::Reverse;
use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use windlass_adapters::files;
use windlass_core::time::Millis;
use windlass_engine::Layout;

pub use ledger::{Known, Last, Ledger};
pub use when::{When, is_timezone};

use crate::commands::gc;
use crate::config::Schedule;
use crate::error::CliError;
use crate::project::Project;
use crate::view::Stamp;

/// Who runs a job when nobody asked for it.
pub const CLOCK: &str = "clock";

/// The kernel notes when a file was written by a clock that may be so far behind.
const COARSE: Duration = Duration::from_millis(10);

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Job {
    /// Removes what has ended long ago
    Gc,
    /// Copies the database
    Backup,
}

impl Job {
    pub const ALL: [Self; 2] = [Self::Gc, Self::Backup];

    pub fn name(self) -> &'static str {
        match self {
            Self::Gc => "gc",
            Self::Backup => "backup",
        }
    }

    pub fn what(self) -> &'static str {
        match self {
            Self::Gc => "removes what has ended long ago",
            Self::Backup => "copies the database",
        }
    }

    /// As the configuration has it.
    pub fn text(self, schedule: &Schedule) -> &str {
        match self {
            Self::Gc => &schedule.gc,
            Self::Backup => &schedule.backup,
        }
    }

    pub fn when(self, schedule: &Schedule) -> When {
        When::parse(self.text(schedule), &schedule.timezone).expect("the configuration was checked")
    }

    /// When it is due; a run in the future, after a clock that went back, counts as one just now. `wait_from` writes
    /// that down, or it would be just now for ever.
    pub fn next(self, schedule: &Schedule, known: Option<&Known>, now: Millis) -> Option<Millis> {
        let from = known.map_or(now, |known| known.last.as_ref().map_or(known.since, |last| last.at));
        self.when(schedule).next(from.min(now))
    }

    /// Does it, and writes down how it went.
    pub fn run(self, project: &Project, by: &str) -> Result<Last, CliError> {
        let ledger = Ledger::of(&project.layout, self);
        let held = ledger.hold()?;
        let at = windlass_engine::now();
        let done = match self {
            Self::Gc => collect(project),
            Self::Backup if by == CLOCK && newest_is_current(project) => {
                Ok("nothing has changed since the last copy".into())
            }
            Self::Backup => back_up(project, at),
        };
        let (failed, says) = match &done {
            Ok(says) => (false, says.clone()),
            Err(error) => (true, error.sentence()),
        };
        let took_ms = windlass_engine::now().since(at).0;
        let last = Last { at, took_ms, by: by.to_owned(), failed, says };
        let noted = ledger.note(&last);
        drop(held);
        // What went wrong with the job says more than what went wrong with the note about it.
        done.and(noted).map(|()| last)
    }
}

/// For a job that was ended from outside, and could not write down itself how it went.
pub fn note_failure(layout: &Layout, job: Job, says: &str, took: Duration) -> Result<(), CliError> {
    let took_ms = i64::try_from(took.as_millis()).unwrap_or(i64::MAX);
    let at = windlass_engine::now();
    let last = Last { at, took_ms, by: CLOCK.to_owned(), failed: true, says: says.to_owned() };
    Ledger::of(layout, job).note(&last)
}

/// A job that is seen for the first time is waited for from now on, and so is one that ran in the future, by a clock that
/// was ahead.
pub fn wait_from(layout: &Layout, now: Millis) -> Result<(), CliError> {
    for job in Job::ALL {
        let ledger = Ledger::of(layout, job);
        if ledger.read()?.is_some_and(|known| known.until(now) == known) {
            continue;
        }
        // Who is at it writes down itself how it went.
        let held = match ledger.hold() {
            Err(error) if error.code == ledger::BUSY => continue,
            held => held?,
        };
        let known = ledger.read()?.unwrap_or(Known { since: now, last: None });
        ledger.write(&known.until(now))?;
        drop(held);
    }
    Ok(())
}

/// The jobs whose time has come.
pub fn due(project: &Project, now: Millis) -> Result<Vec<Job>, CliError> {
    let mut due = Vec::new();
    for job in Job::ALL {
        let known = Ledger::of(&project.layout, job).read()?;
        if job.next(&project.config.schedule, known.as_ref(), now).is_some_and(|at| at <= now) {
            due.push(job);
        }
    }
    Ok(due)
}

fn collect(project: &Project) -> Result<String, CliError> {
    let keep = &project.config.keep;
    let times = gc::Times { ended: keep.ended.0, workspaces: keep.workspaces.0 };
    gc::sweep(project, times, gc::Rescued::Kept, true).map(|view| gc::sum(&view))
}

/// A copy named by its time; of the older ones as many stay as the configuration says.
fn back_up(project: &Project, at: Millis) -> Result<String, CliError> {
    let folder = project.layout.backups();
    files::private_dir(&folder)?;
    // Who copied before us and was killed has left its beginning; nobody else copies now.
    for part in ours(project, |rest| rest.split_once(".db.part-").is_some_and(|(at, _)| is_time(at)))? {
        remove(&part)?;
    }
    let mut older = copies(project)?;
    older.reverse();
    // Those of a clock that was ahead are older all the same than the one that is made now.
    for copy in older.iter().filter(|copy| modified(copy) >= Some(time(at))) {
        set_modified(copy, Millis(at.0 - 1))?;
    }
    let to = folder.join(format!("windlass-{}.db", Stamp(at).to_string().replace(':', "")));
    project.reader()?.backup(&to)?;
    // It holds what was there when copying began, and nothing of what came while it went on.
    set_modified(&to, at)?;
    let keep = usize::try_from(project.config.keep.backups).unwrap_or(usize::MAX) - 1;
    let spare = older.len().saturating_sub(keep);
    for old in older.drain(..spare) {
        remove(&old)?;
    }
    Ok(format!("copied to {}; copies kept: {}", to.display(), older.len() + 1))
}

/// The copies that the clock made, the newest first.
pub fn copies(project: &Project) -> Result<Vec<PathBuf>, CliError> {
    if !project.layout.backups().exists() {
        return Ok(Vec::new());
    }
    let mut found = ours(project, |rest| rest.strip_suffix(".db").is_some_and(is_time))?;
    found.sort_by_cached_key(|copy| Reverse((modified(copy), copy.clone())));
    Ok(found)
}

/// Whether nobody has written since the newest copy was made.
fn newest_is_current(project: &Project) -> bool {
    let newest = copies(project).ok().and_then(|copies| modified(copies.first()?));
    let database = project.layout.database();
    let last = modified(&database).max(modified(&database.with_extension("db-wal")));
    newest.is_some_and(|copied| last.is_some_and(|last| last + COARSE < copied))
}

fn modified(path: &Path) -> Option<SystemTime> {
    path.metadata().and_then(|found| found.modified()).ok()
}

fn set_modified(path: &Path, at: Millis) -> Result<(), CliError> {
    let file = OpenOptions::new().write(true).open(path);
    let set = file.and_then(|file| file.set_modified(time(at)));
    set.map_err(|source| CliError::io("set the time of", path, source))
}

fn time(at: Millis) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_millis(u64::try_from(at.0).unwrap_or(0))
}

/// As we write a time into the name of a file.
fn is_time(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_digit() || "-T.Z".contains(c))
}

/// Files that we made, by what comes after `windlass-`.
fn ours(project: &Project, wanted: impl Fn(&str) -> bool) -> Result<Vec<PathBuf>, CliError> {
    let folder = project.layout.backups();
    let entries = std::fs::read_dir(&folder).map_err(|source| CliError::io("read", &folder, source))?;
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|source| CliError::io("read", &folder, source))?;
        if entry.file_name().to_string_lossy().strip_prefix("windlass-").is_some_and(&wanted) {
            found.push(entry.path());
        }
    }
    Ok(found)
}

fn remove(path: &Path) -> Result<(), CliError> {
    std::fs::remove_file(path).map_err(|source| CliError::io("remove", path, source))
}

/// Runs all that is due. One that fails keeps no other from its turn; the first failure is the answer.
pub fn run_due(project: &Project) -> Result<Vec<(Job, Last)>, CliError> {
    let mut ran = Vec::new();
    let mut failed = None;
    let now = windlass_engine::now();
    wait_from(&project.layout, now)?;
    for job in due(project, now)? {
        match job.run(project, CLOCK) {
            Ok(last) => ran.push((job, last)),
            // Somebody else is at it.
            Err(error) if error.code == ledger::BUSY => {}
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    failed.map_or(Ok(ran), Err)
}
