//! What is known of a job: since when it is waited for, and how its last run went. One small file each.

use std::fs::{File, OpenOptions, TryLockError};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use windlass_adapters::files;
use windlass_core::time::Millis;
use windlass_engine::Layout;

use super::Job;
use crate::error::CliError;
use crate::exit::Exit;

const MAX_BYTES: u64 = 1 << 20;
/// The code of the error that somebody else is at it.
pub const BUSY: &str = "busy";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Known {
    /// From when its first time counts.
    pub since: Millis,
    pub last: Option<Last>,
}

impl Known {
    /// The same, with nothing of it in the future.
    pub fn until(&self, now: Millis) -> Self {
        let last = self.last.clone().map(|last| Last { at: last.at.min(now), ..last });
        Self { since: self.since.min(now), last }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Last {
    pub at: Millis,
    pub took_ms: i64,
    /// A person, or the clock.
    pub by: String,
    pub failed: bool,
    pub says: String,
}

#[derive(Debug)]
pub struct Ledger {
    folder: PathBuf,
    job: Job,
}

impl Ledger {
    pub fn of(layout: &Layout, job: Job) -> Self {
        Self { folder: layout.schedule(), job }
    }

    pub fn read(&self) -> Result<Option<Known>, CliError> {
        let bytes = files::read_head(&self.file("json"), MAX_BYTES)?;
        // A file that is not understood is of another version, and its job begins anew.
        Ok(bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
    }

    pub fn write(&self, known: &Known) -> Result<(), CliError> {
        files::private_dir(&self.folder)?;
        Ok(files::write_json(&self.file("json"), known)?)
    }

    /// How the last run went.
    pub fn note(&self, last: &Last) -> Result<(), CliError> {
        let since = self.read()?.map_or(last.at, |known| known.since);
        self.write(&Known { since, last: Some(last.clone()) })
    }

    /// Nobody else runs the job for as long as this is held.
    pub fn hold(&self) -> Result<File, CliError> {
        files::private_dir(&self.folder)?;
        let path = self.file("lock");
        let open = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&path);
        let file = open.map_err(|source| CliError::io("open", &path, source))?;
        match file.try_lock() {
            Ok(()) => Ok(file),
            Err(TryLockError::WouldBlock) => {
                let title = format!("`{}` is running already", self.job.name());
                Err(CliError::new(BUSY, Exit::Pending, title).next("windlass schedule"))
            }
            Err(TryLockError::Error(source)) => Err(CliError::io("lock", &path, source)),
        }
    }

    /// Whether somebody runs the job now.
    pub fn is_held(&self) -> bool {
        self.hold().is_err_and(|error| error.code == BUSY)
    }

    fn file(&self, kind: &str) -> PathBuf {
        self.folder.join(format!("{}.{kind}", self.job.name()))
    }
}
