//! Whether a daemon holds the state folder, and which. Looks without standing in anybody's way.

use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use windlass_adapters::process::ProcessId;

use crate::error::CliError;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Daemon {
    Up {
        pid: Option<u32>,
    },
    Down,
    /// Somebody is opening the database at this moment, and that takes long.
    Unknown,
}

const PATIENCE: Duration = Duration::from_millis(300);
const PAUSE: Duration = Duration::from_millis(10);
const LAST_BREATH: Duration = Duration::from_secs(5);

/// The daemon's lock may be tried only by one who also keeps new daemons from starting meanwhile: `open.lock`.
pub fn look(state: &Path) -> Result<Daemon, CliError> {
    let path = state.join("open.lock");
    let Some(opening) = open(&path)? else { return Ok(Daemon::Down) };
    let until = Instant::now() + PATIENCE;
    loop {
        match opening.try_lock_shared() {
            Ok(()) => return holder(state),
            Err(TryLockError::WouldBlock) if Instant::now() < until => std::thread::sleep(PAUSE),
            Err(TryLockError::WouldBlock) => return Ok(Daemon::Unknown),
            Err(TryLockError::Error(source)) => return Err(CliError::io("lock", &path, source)),
        }
    }
}

/// As `look`, but a daemon that was killed is not taken for one that runs: a child that it was just starting holds its
/// lock for a moment longer.
pub fn look_twice(state: &Path) -> Result<Daemon, CliError> {
    let is_dead =
        |pid: u32| !i32::try_from(pid).ok().and_then(ProcessId::of).is_some_and(ProcessId::is_alive);
    wait(state, LAST_BREATH, |seen| !matches!(seen, Daemon::Up { pid: Some(pid) } if is_dead(pid)))
}

/// Waits until `wanted` is so; answers what was seen last.
pub fn wait(state: &Path, patience: Duration, wanted: impl Fn(Daemon) -> bool) -> Result<Daemon, CliError> {
    let until = Instant::now() + patience;
    loop {
        let seen = look(state)?;
        if wanted(seen) || Instant::now() >= until {
            return Ok(seen);
        }
        std::thread::sleep(PAUSE * 5);
    }
}

fn holder(state: &Path) -> Result<Daemon, CliError> {
    let path = state.join("daemon.lock");
    let Some(lock) = open(&path)? else { return Ok(Daemon::Down) };
    match lock.try_lock_shared() {
        Ok(()) => Ok(Daemon::Down),
        Err(TryLockError::WouldBlock) => {
            let text = io::read_to_string(&lock).map_err(|source| CliError::io("read", &path, source))?;
            Ok(Daemon::Up { pid: text.trim().parse().ok() })
        }
        Err(TryLockError::Error(source)) => Err(CliError::io("lock", &path, source)),
    }
}

fn open(path: &Path) -> Result<Option<File>, CliError> {
    match File::open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(CliError::io("open", path, source)),
    }
}
