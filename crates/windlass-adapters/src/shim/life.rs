//! One life of a shim, from its lock to its exit file.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime};

use windlass_core::text::causes;
use windlass_core::time::Millis;

use super::client::{end_group, full_path, group_name, open_lock, try_lock};
use super::error::ShimError;
use super::journal;
use super::protocol::{EXIT, Exit, FACTS, Fact, Framing, GIVEN, GROUP, LAUNCH, Launch};
use super::{once, stream, turns};
use crate::process::{Cgroup, GroupLimits};
use crate::{files, process};

/// How long a second shim waits for the first to leave.
const LOCK_PATIENCE: Duration = Duration::from_secs(10);
/// How long killed processes may take to be gone.
const KILL_PATIENCE: Duration = Duration::from_secs(10);
/// "Try again later", as sysexits.h has it.
const BUSY: u8 = 75;
const BROKEN: u8 = 70;

/// Runs what `folder` says until its end. The exit code is for people; the daemon reads `exit.json`.
pub fn run(folder: &Path) -> ExitCode {
    match live(folder) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(BUSY),
        Err(error) => {
            eprintln!("shim: {}", causes(&error));
            ExitCode::from(BROKEN)
        }
    }
}

/// What one life works with.
pub(super) struct Life {
    pub folder: PathBuf,
    pub launch: Launch,
    /// Variables for the program that are written down nowhere.
    pub given: BTreeMap<String, String>,
    /// Where its control group is, while it has one; none where the system has none.
    pub group: Option<Cgroup>,
    facts: File,
}

impl Life {
    /// Writes a fact down so that it survives a power cut.
    pub fn record(&mut self, fact: &Fact) -> Result<(), ShimError> {
        self.note(fact)?;
        self.facts.sync_data().map_err(|source| self.failed(FACTS, source))
    }

    /// Writes a fact down that means nothing after a reboot.
    pub fn note(&mut self, fact: &Fact) -> Result<(), ShimError> {
        journal::append(&mut self.facts, fact).map_err(|source| self.failed(FACTS, source))
    }

    pub fn failed(&self, name: &str, source: io::Error) -> ShimError {
        ShimError::Io { path: self.folder.join(name), source }
    }

    pub fn watch_failed(&self, source: io::Error) -> ShimError {
        ShimError::Watch { folder: self.folder.clone(), source }
    }

    /// Kills everything that still runs below us; says how many that were.
    pub fn kill_rest(&self) -> Result<u32, ShimError> {
        let killed = process::kill_tree(KILL_PATIENCE).map_err(|source| self.watch_failed(source))?;
        // None is left where a subreaper has looked; it is said if there is.
        let more = self.group.as_ref().map_or(Ok(0), |group| group.end(KILL_PATIENCE));
        Ok(killed + more.map_err(|source| self.watch_failed(source))?)
    }
}

pub(crate) fn now() -> Millis {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// `false` when another shim holds the folder.
fn live(folder: &Path) -> Result<bool, ShimError> {
    let folder = full_path(folder)?;
    let Some(lock) = hold(&folder)? else { return Ok(false) };
    // A shim that waited for the lock finds the work of this launch done.
    if folder.join(EXIT).exists() {
        return Ok(true);
    }
    let exit = match supervise(&folder) {
        Ok(exit) => exit,
        Err(error) => {
            eprintln!("shim: {}", causes(&error));
            Exit { error: Some(causes(&error)), at: now(), ..Exit::default() }
        }
    };
    files::write_json(&folder.join(EXIT), &exit)?;
    drop(lock);
    Ok(true)
}

fn supervise(folder: &Path) -> Result<Exit, ShimError> {
    let watch_failed = |source| ShimError::Watch { folder: folder.to_owned(), source };
    process::keep_descriptors_private().map_err(watch_failed)?;
    process::become_subreaper().map_err(watch_failed)?;
    let path = folder.join(LAUNCH);
    let bytes = files::read_head(&path, 16 << 20)?.unwrap_or_default();
    let launch: Launch =
        serde_json::from_slice(&bytes).map_err(|source| ShimError::Decode { path, source })?;
    let facts = folder.join(FACTS);
    let facts = journal::open(&facts).map_err(|source| ShimError::Io { path: facts, source })?;
    let group = group(folder, launch.limits)?;
    let mut life = Life { folder: folder.to_owned(), launch, given: given(), group, facts };
    let ended = match life.launch.framing {
        Framing::Once => once::run(&mut life),
        Framing::Turns => turns::run(&mut life),
        Framing::StreamJson => stream::run(&mut life),
    };
    let rest = life.kill_rest()?;
    files::remove_tree(&folder.join(GROUP))?;
    let mut exit = ended?;
    exit.killed_leftovers += rest;
    exit.at = now();
    life.note(&Fact::Exited(exit.clone()))?;
    Ok(exit)
}

/// Nothing for one that is started by hand.
fn given() -> BTreeMap<String, String> {
    let text = std::env::var(GIVEN).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

/// The place of a control group, named by the folder. Written down first: should we be killed, others end it.
fn group(folder: &Path, limits: GroupLimits) -> Result<Option<Cgroup>, ShimError> {
    let Some(group) = Cgroup::plan(&group_name(folder), limits) else { return Ok(None) };
    // One that an earlier life had elsewhere would be forgotten.
    end_group(folder)?;
    files::write_json(&folder.join(GROUP), &group)?;
    Ok(Some(group))
}

/// The daemon hands the lock over as our stdin; by hand, we wait for it.
fn hold(folder: &Path) -> Result<Option<File>, ShimError> {
    if let Some(lock) = handed_over(folder)? {
        return Ok(Some(lock));
    }
    let until = Instant::now() + LOCK_PATIENCE;
    loop {
        match try_lock(folder)? {
            Some(lock) => return Ok(Some(lock)),
            None if Instant::now() < until => std::thread::sleep(Duration::from_millis(20)),
            None => return Ok(None),
        }
    }
}

fn handed_over(folder: &Path) -> Result<Option<File>, ShimError> {
    let named = open_lock(folder)?;
    let failed = |source| ShimError::Io { path: folder.to_owned(), source };
    let stdin = io::stdin();
    let Ok(copy) = stdin.as_fd().try_clone_to_owned() else { return Ok(None) };
    let copy = File::from(copy);
    let (ours, wanted) = (copy.metadata().map_err(failed)?, named.metadata().map_err(failed)?);
    if (ours.dev(), ours.ino()) != (wanted.dev(), wanted.ino()) {
        return Ok(None);
    }
    let taken = rustix::fs::flock(&copy, rustix::fs::FlockOperation::NonBlockingLockExclusive);
    Ok(taken.is_ok().then_some(copy))
}
