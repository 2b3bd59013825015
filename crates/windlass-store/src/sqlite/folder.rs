//! The state folder: who may enter it, and which daemon holds it.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions, TryLockError};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::error::{StoreError, io_fault};

const OURS_ALONE: u32 = 0o600;
const ENTERED_BY_US_ALONE: u32 = 0o700;
const WRITTEN_BY_OTHERS: u32 = 0o022;

pub(super) fn database(state_dir: &Path) -> PathBuf {
    state_dir.join("windlass.db")
}

/// Makes the folder if it is missing, whatever the umask; refuses one that others can write to.
pub(super) fn prepare(state_dir: &Path) -> Result<(), StoreError> {
    match fs::metadata(state_dir) {
        Ok(found) => must_be_ours(state_dir, &found),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => make(state_dir),
        Err(error) => Err(io_fault(state_dir, "look at the state folder")(error)),
    }
}

/// Files that we made in somebody else's folder would be in its owner's way; and what others can write to, nobody may
/// believe.
pub(super) fn must_be_ours(path: &Path, found: &fs::Metadata) -> Result<(), StoreError> {
    let (owner, us) = (found.uid(), rustix::process::geteuid().as_raw());
    if owner != us {
        return Err(StoreError::Foreign { path: path.to_owned(), owner, us });
    }
    let mode = found.permissions().mode() & 0o7777;
    if mode & WRITTEN_BY_OTHERS != 0 {
        return Err(StoreError::Permissions { path: path.to_owned(), mode });
    }
    Ok(())
}

fn make(state_dir: &Path) -> Result<(), StoreError> {
    let tried = "make the state folder";
    if let Some(parent) = state_dir.parent() {
        fs::create_dir_all(parent).map_err(io_fault(parent, tried))?;
    }
    match DirBuilder::new().mode(ENTERED_BY_US_ALONE).create(state_dir) {
        Ok(()) => fs::set_permissions(state_dir, Permissions::from_mode(ENTERED_BY_US_ALONE))
            .map_err(io_fault(state_dir, tried)),
        // Somebody was faster: look at what they made.
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => prepare(state_dir),
        Err(error) => Err(io_fault(state_dir, tried)(error)),
    }
}

/// Makes the database's file before SQLite does: SQLite would follow the umask, and gives its side files the mode of
/// this one.
pub(super) fn make_private(path: &Path) -> Result<(), StoreError> {
    let tried = "make";
    match OpenOptions::new().write(true).create_new(true).mode(OURS_ALONE).open(path) {
        Ok(file) => drop(file),
        // A file that is there is never opened here: closing it again would take the locks away that SQLite holds
        // on it elsewhere in this process.
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(io_fault(path, tried)(error)),
    }
    let mode = fs::metadata(path).map_err(io_fault(path, tried))?.permissions().mode() & 0o777;
    if mode != OURS_ALONE {
        fs::set_permissions(path, Permissions::from_mode(OURS_ALONE)).map_err(io_fault(path, tried))?;
    }
    // Or a power cut could take the name of the file away, and all commits with it.
    let folder = path.parent().unwrap_or(path);
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(io_fault(folder, "sync"))
}

fn open_private(path: &Path) -> Result<File, StoreError> {
    let tried = "open";
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(OURS_ALONE);
    let file = options.open(path).map_err(io_fault(path, tried))?;
    let mode = file.metadata().map_err(io_fault(path, tried))?.permissions().mode() & 0o777;
    if mode != OURS_ALONE {
        file.set_permissions(Permissions::from_mode(OURS_ALONE)).map_err(io_fault(path, tried))?;
    }
    Ok(file)
}

/// Held while a database is made, migrated or taken over, so that a client that looks for a daemon never meets one
/// that is half started, nor stands in its way. Released when dropped.
#[derive(Debug)]
pub(super) struct Opening {
    _held: Held,
}

pub(super) fn begin_opening(state_dir: &Path) -> Result<Opening, StoreError> {
    let path = state_dir.join("open.lock");
    let file = open_private(&path)?;
    file.lock().map_err(io_fault(&path, "lock"))?;
    Ok(Opening { _held: Held(file) })
}

/// The daemon's hold on the state folder, for as long as the process lives: the kernel lets go of it after SIGKILL.
#[derive(Debug)]
pub(super) struct DaemonLock {
    _held: Held,
}

/// Only while opening. The file says who we are and what for: our pid, and a line of words.
pub(super) fn lock_as_daemon(
    state_dir: &Path,
    _opening: &Opening,
    holder: &str,
) -> Result<DaemonLock, StoreError> {
    let path = state_dir.join("daemon.lock");
    let held = try_hold(&path)?.map_err(|pid| StoreError::HeldBy { path: path.clone(), pid })?;
    let (text, mut file) = (format!("{}\n{holder}\n", std::process::id()), &held.0);
    file.set_len(0)
        .and_then(|()| file.rewind())
        .and_then(|()| file.write_all(text.as_bytes()))
        .map_err(io_fault(&path, "write our pid to"))?;
    Ok(DaemonLock { _held: held })
}

/// Whether a daemon holds the folder, and which. Only while opening.
pub(super) fn daemon_at_work(
    state_dir: &Path,
    _opening: &Opening,
) -> Result<Option<Option<u32>>, StoreError> {
    Ok(try_hold(&state_dir.join("daemon.lock"))?.err())
}

#[derive(Debug)]
struct Held(File);

impl Drop for Held {
    // Closing the file is not enough: a child that is just being started has a copy of it until it runs its program,
    // and holds the lock for as long.
    fn drop(&mut self) {
        // If it fails, the lock goes when the file is closed.
        drop(self.0.unlock());
    }
}

/// The inner error is the holder's pid, if it can be read.
fn try_hold(path: &Path) -> Result<Result<Held, Option<u32>>, StoreError> {
    let mut file = open_private(path)?;
    match file.try_lock() {
        Ok(()) => Ok(Ok(Held(file))),
        Err(TryLockError::WouldBlock) => Ok(Err(read_pid(&mut file))),
        Err(TryLockError::Error(error)) => Err(io_fault(path, "lock")(error)),
    }
}

fn read_pid(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.read_to_string(&mut text).ok()?;
    text.lines().next()?.trim().parse().ok()
}
