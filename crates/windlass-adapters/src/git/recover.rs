//! Keeps the repository in order: after a daemon was killed in the middle of something, and over the months.

use std::path::Path;
use std::time::{Duration, SystemTime};

use super::bare::{BareRepo, MARK};
use super::error::GitError;
use crate::{files, process};

/// How long the packs of a large repository may take. No git of ours lives longer.
const MAINTENANCE: Duration = Duration::from_secs(3_600);

/// What a start found and took away.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Recovered {
    pub processes: u32,
    pub locks: u32,
    /// Files and folders that were being made.
    pub halves: u32,
}

impl BareRepo {
    /// Ends git processes of an earlier daemon and removes the locks that killed ones left. For the start only,
    /// while nobody else uses the repository: a lock is stale only because no git of ours is alive.
    pub fn recover(&self) -> Result<Recovered, GitError> {
        let failed = |source| GitError::Io { path: self.path().to_owned(), source };
        let left = process::find_by_env(MARK, &self.path().to_string_lossy()).map_err(failed)?;
        let processes = process::kill_found(&left).map_err(failed)?;
        let mut locks = 0;
        for name in ["HEAD.lock", "config.lock", "packed-refs.lock", "packed-refs.new", "shallow.lock"] {
            locks += u32::from(remove_if_there(&self.path().join(name))?);
        }
        locks += remove_locks_below(&self.path().join("refs"))?;
        let halves = files::remove_abandoned(self.path())? + self.remove_half_objects(None)?;
        Ok(Recovered { processes, locks, halves })
    }

    /// A git that is killed leaves the object that it was writing under a name of its own. `before`: only what nobody has
    /// written to since.
    fn remove_half_objects(&self, before: Option<SystemTime>) -> Result<u32, GitError> {
        let objects = self.path().join("objects");
        let failed = |source| GitError::Io { path: objects.clone(), source };
        let mut folders = vec![objects.clone()];
        for entry in std::fs::read_dir(&objects).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            if entry.file_type().map_err(failed)?.is_dir() {
                folders.push(entry.path());
            }
        }
        let mut removed = 0;
        for folder in folders {
            for entry in std::fs::read_dir(&folder).map_err(failed)? {
                let path = entry.map_err(failed)?.path();
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                let half = ["tmp_", ".tmp-", "incoming-"].iter().any(|begin| name.starts_with(begin));
                if half && before.is_none_or(|before| is_older(&path, before)) {
                    removed += u32::from(remove_if_there(&path)?);
                }
            }
        }
        Ok(removed)
    }

    /// Joins the packs that fetching leaves, one for each, so that git stays fast. Drops no object: clones borrow
    /// them, and they may need what no ref of ours names any more. Others may work here meanwhile. One that was ended leaves
    /// half a pack, which goes with the next. One process and its helpers.
    pub fn maintain(&self) -> Result<(), GitError> {
        self.remove_half_objects(SystemTime::now().checked_sub(MAINTENANCE))?;
        let mut patient = self.clone();
        patient.git = patient.git.with_time_limit(MAINTENANCE);
        patient.call().args(["repack", "--quiet", "-d", "--geometric=2"]).done().map(drop)
    }
}

/// One that is gone is nobody's to remove.
fn is_older(path: &Path, time: SystemTime) -> bool {
    path.symlink_metadata().and_then(|found| found.modified()).is_ok_and(|written| written < time)
}

fn remove_locks_below(folder: &Path) -> Result<u32, GitError> {
    let failed = |source| GitError::Io { path: folder.to_owned(), source };
    let mut removed = 0;
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let path = entry.path();
        if entry.file_type().map_err(failed)?.is_dir() {
            removed += remove_locks_below(&path)?;
        } else if path.extension().is_some_and(|extension| extension == "lock") {
            removed += u32::from(remove_if_there(&path)?);
        }
    }
    Ok(removed)
}

fn remove_if_there(path: &Path) -> Result<bool, GitError> {
    let there = path.symlink_metadata().is_ok();
    files::remove_tree(path)?;
    Ok(there)
}
