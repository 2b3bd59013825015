//! Whether somebody holds the state folder, who, and what for. Looks without standing in anybody's way.

use std::fmt;
use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use windlass_adapters::process::ProcessId;
use windlass_core::id::IssueNumber;

use crate::error::CliError;
use crate::exit::Exit;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Daemon {
    Up {
        pid: Option<u32>,
        holder: Holder,
    },
    Down,
    /// Somebody is opening the database at this moment, and that takes long.
    Unknown,
}

/// What somebody runs the factory for. Their words stand in `daemon.lock`, after the pid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holder {
    /// All of it, until it is told to end.
    Daemon,
    /// One issue alone.
    Run(IssueNumber),
    Tick,
    Restore,
    Import,
}

impl Holder {
    /// Only a daemon can be one of which we do not know the words: an older program wrote none.
    fn read(words: Option<&str>) -> Self {
        let run = |words: &str| words.strip_prefix("run #")?.parse().ok().map(IssueNumber).map(Self::Run);
        let known = |words: &str| {
            let of_one_word = [Self::Tick, Self::Restore, Self::Import];
            of_one_word.into_iter().find(|holder| holder.to_string() == words).or_else(|| run(words))
        };
        words.and_then(known).unwrap_or(Self::Daemon)
    }

    /// It ends by itself, and soon.
    fn is_brief(self) -> bool {
        match self {
            Self::Daemon | Self::Run(_) => false,
            Self::Tick | Self::Restore | Self::Import => true,
        }
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Daemon => f.write_str("daemon"),
            Self::Run(issue) => write!(f, "run {issue}"),
            Self::Tick => f.write_str("tick"),
            Self::Restore => f.write_str("restore"),
            Self::Import => f.write_str("import"),
        }
    }
}

/// Somebody else has the factory, and it is no daemon that would do what is wanted.
pub fn busy(holder: Holder, pid: Option<u32>) -> CliError {
    let pid = pid.map_or_else(String::new, |pid| format!(", with pid {pid}"));
    let error = CliError::new("busy", Exit::Pending, format!("`windlass {holder}` has the factory{pid}"));
    match holder {
        Holder::Daemon => error.next("windlass status"),
        Holder::Run(issue) => error
            .why(format!("it works on {issue} alone, and nothing else runs meanwhile"))
            .next("wait until it has ended, or end it there with Ctrl-C; its work is kept")
            .next("windlass down    ends it, its agent included"),
        Holder::Tick | Holder::Restore | Holder::Import => {
            error.why("it has not ended by itself").next("try again when it has ended")
        }
    }
}

const PATIENCE: Duration = Duration::from_millis(300);
const PAUSE: Duration = Duration::from_millis(10);
const LAST_BREATH: Duration = Duration::from_secs(5);
/// How long somebody may have the factory who has it only for a moment.
pub const BRIEF: Duration = Duration::from_secs(15);

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
    wait(state, LAST_BREATH, |seen| !matches!(seen, Daemon::Up { pid: Some(pid), .. } if is_dead(pid)))
}

/// As `look_twice`, but one who has the factory only for a moment is waited for.
pub fn look_past(state: &Path, patience: Duration) -> Result<Daemon, CliError> {
    wait(state, patience, |seen| !matches!(seen, Daemon::Up { holder, .. } if holder.is_brief()))?;
    look_twice(state)
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
            let mut lines = text.lines().map(str::trim);
            let pid = lines.next().and_then(|pid| pid.parse().ok());
            Ok(Daemon::Up { pid, holder: Holder::read(lines.next()) })
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
