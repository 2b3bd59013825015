//! The daemon's side: starting a shim, talking to it, and finding it again after a restart.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::fs::FlockOperation;
use rustix::io::Errno;
use sha2::{Digest, Sha256};

use super::error::ShimError;
use super::journal;
use super::protocol::{
    EXIT, Exit, FACTS, Fact, GIVEN, GROUP, INBOX, LAUNCH, LOCK, Launch, Message, SESSION_DIR, SHIM_LOG, STOP,
    TRANSCRIPT,
};
use crate::process::Cgroup;
use crate::{files, process};

/// How long killed processes may take to be gone.
const KILL_PATIENCE: Duration = Duration::from_secs(10);

/// What `spawn` found or did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spawned {
    /// A new shim runs; `alive` is true from here on.
    Started,
    /// There was one already.
    Running,
    /// This launch came to its end earlier; `respawn` is for another life.
    Ended,
}

/// Writes down what is to run. Makes the folder.
pub fn prepare(folder: &Path, launch: &Launch) -> Result<(), ShimError> {
    files::private_dir(folder)?;
    Ok(files::write_json(&folder.join(LAUNCH), launch)?)
}

/// What is to run there, if that was written down.
pub fn launch(folder: &Path) -> Result<Option<Launch>, ShimError> {
    let path = folder.join(LAUNCH);
    let Some(bytes) = files::read_head(&path, 16 << 20)? else { return Ok(None) };
    serde_json::from_slice(&bytes).map(Some).map_err(|source| ShimError::Decode { path, source })
}

/// Starts `exe shim <folder>`, unless it runs or has ended already. The lock is taken here and handed over,
/// so there is no moment in which a started shim does not count as alive.
///
/// The program gets the variables `given` as well, where the launch has none of that name. No file has them.
pub fn spawn(exe: &Path, folder: &Path, given: &BTreeMap<String, String>) -> Result<Spawned, ShimError> {
    start(exe, folder, given, Life::First)
}

/// Starts it for another life: an earlier end and an earlier request to stop are forgotten.
pub fn respawn(exe: &Path, folder: &Path, given: &BTreeMap<String, String>) -> Result<Spawned, ShimError> {
    start(exe, folder, given, Life::Another)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Life {
    First,
    Another,
}

/// Whether a shim holds the folder.
pub fn alive(folder: &Path) -> Result<bool, ShimError> {
    let path = folder.join(LOCK);
    let file = match File::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(source) => return Err(ShimError::Io { path, source }),
    };
    flock_now(&file, folder, FlockOperation::NonBlockingLockShared).map(|got_it| !got_it)
}

/// Blocks until no shim holds the folder.
pub fn wait_gone(folder: &Path) -> Result<(), ShimError> {
    let path = folder.join(LOCK);
    let file = match File::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(source) => return Err(ShimError::Io { path, source }),
    };
    loop {
        match rustix::fs::flock(&file, FlockOperation::LockShared) {
            Ok(()) => return Ok(()),
            Err(Errno::INTR) => {}
            Err(error) => return Err(ShimError::Io { path, source: error.into() }),
        }
    }
}

/// Puts a message into the inbox; a message with the same id is there once, however often it is said.
pub fn say(folder: &Path, id: &str, text: &str) -> Result<(), ShimError> {
    let path = folder.join(INBOX);
    let failed = |source| ShimError::Io { path: path.clone(), source };
    let mut file =
        OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(&path).map_err(failed)?;
    rustix::fs::flock(&file, FlockOperation::LockExclusive).map_err(|error| failed(error.into()))?;
    journal::mend(&mut file).map_err(failed)?;
    let (known, _) = journal::values::<Message>(&path, 0)?;
    if known.iter().any(|message| message.id == id) {
        return Ok(());
    }
    let message = Message { id: id.to_owned(), text: text.to_owned() };
    journal::append(&mut file, &message).and_then(|()| file.sync_data()).map_err(failed)
}

/// Messages that were put into the inbox and never handed to the program.
pub fn unheard(folder: &Path) -> Result<Vec<Message>, ShimError> {
    let (facts, _) = read_facts(folder, 0)?;
    let heard =
        |id: &str| facts.iter().any(|fact| matches!(fact, Fact::Delivered { message, .. } if message == id));
    let mut messages = inbox(folder)?;
    messages.retain(|message| !heard(&message.id));
    Ok(messages)
}

/// All that was ever said, in its order.
pub fn inbox(folder: &Path) -> Result<Vec<Message>, ShimError> {
    Ok(journal::values(&folder.join(INBOX), 0)?.0)
}

/// Asks the shim to end the program and itself.
pub fn request_stop(folder: &Path) -> Result<(), ShimError> {
    Ok(files::write_atomic(&folder.join(STOP), b"")?)
}

/// Ends the shim and everything that it runs. One that does not hear is killed after `patience`; none there is fine.
pub fn end(folder: &Path, patience: Duration) -> Result<(), ShimError> {
    if !folder.exists() {
        return Ok(());
    }
    request_stop(folder)?;
    let until = Instant::now() + patience;
    while alive(folder)? && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(10));
    }
    if alive(folder)? {
        let full = full_path(folder)?;
        let failed = |source| ShimError::Watch { folder: full.clone(), source };
        let shims = process::find_by_args(&["shim", &full.to_string_lossy()]).map_err(failed)?;
        process::kill_found(&shims).map_err(failed)?;
    }
    wait_gone(folder)?;
    kill_leftovers(folder).map(drop)
}

/// What the shim wrote down since `offset`, and where to go on reading.
pub fn read_facts(folder: &Path, offset: u64) -> Result<(Vec<Fact>, u64), ShimError> {
    Ok(journal::values(&folder.join(FACTS), offset)?)
}

/// Complete lines of the transcript since `offset`, and where to go on reading.
pub fn read_transcript(folder: &Path, offset: u64) -> Result<(Vec<String>, u64), ShimError> {
    Ok(journal::lines(&folder.join(TRANSCRIPT), offset)?)
}

/// How it ended, once it has.
pub fn exit(folder: &Path) -> Result<Option<Exit>, ShimError> {
    let path = folder.join(EXIT);
    let Some(bytes) = files::read_head(&path, 64 * 1024)? else { return Ok(None) };
    serde_json::from_slice(&bytes).map(Some).map_err(|source| ShimError::Decode { path, source })
}

/// Kills what a shim left behind that was itself killed; says how many. Only for a folder that is not alive.
pub fn kill_leftovers(folder: &Path) -> Result<u32, ShimError> {
    if !folder.exists() {
        return Ok(0);
    }
    let folder = full_path(folder)?;
    let failed = |source| ShimError::Watch { folder: folder.clone(), source };
    let group = end_group(&folder);
    let mut killed = 0;
    // Whoever was forked while we looked is found in the next round.
    for _ in 0..20 {
        let found = process::find_by_env(SESSION_DIR, &folder.to_string_lossy()).map_err(failed)?;
        if found.is_empty() {
            break;
        }
        killed += process::kill_found(&found).map_err(failed)?;
    }
    // Whatever became of the group, those who carry our mark are ended.
    Ok(killed + group?)
}

/// The members of its control group: they are found whatever they did to their environment.
pub fn group_members(folder: &Path) -> Result<Vec<i32>, ShimError> {
    let members = group(folder)?.map_or(Ok(Vec::new()), |group| group.members());
    members.map_err(|source| ShimError::Watch { folder: folder.to_owned(), source })
}

pub(super) fn end_group(folder: &Path) -> Result<u32, ShimError> {
    let ended = group(folder)?.map_or(Ok(0), |group| group.end(KILL_PATIENCE));
    let killed = ended.map_err(|source| ShimError::Watch { folder: folder.to_owned(), source })?;
    files::remove_tree(&folder.join(GROUP))?;
    Ok(killed)
}

/// What is not understood was never written whole, and then no group was made. Programs can write there: a group of another
/// name is none of ours.
fn group(folder: &Path) -> Result<Option<Cgroup>, ShimError> {
    let bytes = files::read_head(&folder.join(GROUP), 64 * 1024)?;
    let group = bytes.and_then(|bytes| serde_json::from_slice::<Cgroup>(&bytes).ok());
    Ok(group.filter(|group| group.is_named(&group_name(folder))))
}

/// No other folder has the same.
pub(super) fn group_name(folder: &Path) -> String {
    let digest = Sha256::digest(folder.to_string_lossy().as_bytes());
    let name: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    format!("windlass-{name}")
}

/// Processor time used so far by the program that runs now and all its children: a sign of life.
pub fn cpu_time(folder: &Path) -> Result<Option<Duration>, ShimError> {
    let (facts, _) = read_facts(folder, 0)?;
    let last = facts.iter().rev().find_map(|fact| match fact {
        Fact::Started { pid, start_time, .. } => {
            Some(process::ProcessId { pid: *pid, start_time: *start_time })
        }
        Fact::Delivered { .. } | Fact::TurnEnded { .. } | Fact::Exited(_) => None,
    });
    let Some(id) = last else { return Ok(None) };
    process::cpu_time(id).map_err(|source| ShimError::Watch { folder: folder.to_owned(), source })
}

fn start(
    exe: &Path,
    folder: &Path,
    given: &BTreeMap<String, String>,
    life: Life,
) -> Result<Spawned, ShimError> {
    let folder = full_path(folder)?;
    let Some(lock) = try_lock(&folder)? else { return Ok(Spawned::Running) };
    if life == Life::Another {
        files::remove_tree(&folder.join(EXIT))?;
        files::remove_tree(&folder.join(STOP))?;
    } else if exit(&folder)?.is_some() {
        return Ok(Spawned::Ended);
    }
    let failed = |source| ShimError::Spawn { folder: folder.clone(), source };
    let log = folder.join(SHIM_LOG);
    let log = OpenOptions::new().append(true).create(true).mode(0o600).open(log).map_err(failed)?;
    let mut command = Command::new(exe);
    command.arg("shim").arg(&folder).env_clear().current_dir("/");
    command.env(GIVEN, serde_json::to_string(given).expect("texts are JSON"));
    command.stdin(lock).stdout(Stdio::null()).stderr(log);
    process::new_session(&mut command);
    let mut child = command.spawn().map_err(failed)?;
    // Somebody has to take the exit status, or each shim leaves a zombie; the thread costs nothing while it waits.
    let reaper = std::thread::Builder::new().name("shim-reaper".to_owned()).stack_size(64 * 1024);
    reaper.spawn(move || child.wait()).map_err(failed)?;
    Ok(Spawned::Started)
}

pub(super) fn open_lock(folder: &Path) -> Result<File, ShimError> {
    let path = folder.join(LOCK);
    let opened = OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(&path);
    opened.map_err(|source| ShimError::Io { path, source })
}

/// The lock of the folder; `None` when a shim has it. Whoever only asks holds it shared for a moment: that passes.
pub(super) fn try_lock(folder: &Path) -> Result<Option<File>, ShimError> {
    let file = open_lock(folder)?;
    loop {
        if flock_now(&file, folder, FlockOperation::NonBlockingLockExclusive)? {
            return Ok(Some(file));
        }
        if !flock_now(&file, folder, FlockOperation::NonBlockingLockShared)? {
            return Ok(None);
        }
        std::thread::yield_now();
    }
}

fn flock_now(file: &File, folder: &Path, operation: FlockOperation) -> Result<bool, ShimError> {
    match rustix::fs::flock(file, operation) {
        Ok(()) => Ok(true),
        Err(Errno::WOULDBLOCK) => Ok(false),
        Err(error) => Err(ShimError::Io { path: folder.join(LOCK), source: error.into() }),
    }
}

pub(super) fn full_path(folder: &Path) -> Result<PathBuf, ShimError> {
    folder.canonicalize().map_err(|source| ShimError::Io { path: folder.to_owned(), source })
}
