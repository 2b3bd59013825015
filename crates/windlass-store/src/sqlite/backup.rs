//! Copies the database while work goes on.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, ErrorCode, ffi};
use rustix::fs::{CWD, RenameFlags, renameat_with};

use crate::error::{StoreError, classify, fault, io_fault};

/// The copy gets its name only when it is whole, checked and on the disk.
pub(super) fn backup(from: &Connection, to: &Path) -> Result<(), StoreError> {
    if fs::symlink_metadata(to).is_ok() {
        return Err(StoreError::Exists { path: to.to_owned() });
    }
    let part = part_name(to);
    let done = copy(from, &part).and_then(|()| check(&part)).and_then(|()| publish(&part, to));
    if done.is_err() && !matches!(&done, Err(StoreError::Exists { path }) if *path == part) {
        // What is left of a failed copy is of no use; if it cannot be removed, it stands under its own name.
        drop(fs::remove_file(&part));
    }
    done
}

fn part_name(to: &Path) -> PathBuf {
    let mut name = to.file_name().unwrap_or_default().to_owned();
    name.push(format!(".part-{}", std::process::id()));
    to.with_file_name(name)
}

fn copy(from: &Connection, part: &Path) -> Result<(), StoreError> {
    let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(part);
    match made {
        Ok(file) => drop(file),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            return Err(StoreError::Exists { path: part.to_owned() });
        }
        Err(error) => return Err(io_fault(part, "make")(error)),
    }
    let failed = |error| classify(part, "copy the database", error);
    let mut copy = Connection::open(part).map_err(failed)?;
    // In one step: one snapshot, and writers go on beside it.
    match Backup::new(from, &mut copy)
        .and_then(|backup| backup.step(-1))
        .map_err(fault(from, "copy the database"))?
    {
        StepResult::Done => {}
        _ => return Err(failed(busy())),
    }
    // A file that needs no side files, so that it can be carried away alone.
    copy.pragma_update(None, "journal_mode", "DELETE").map_err(failed)
}

fn check(part: &Path) -> Result<(), StoreError> {
    let copy = Connection::open(part).map_err(|error| classify(part, "open the copy", error))?;
    integrity(&copy)
}

pub(super) fn integrity(conn: &Connection) -> Result<(), StoreError> {
    let said: String = conn
        .query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))
        .map_err(fault(conn, "check the database"))?;
    let path = conn.path().unwrap_or_default().into();
    if said == "ok" { Ok(()) } else { Err(StoreError::Corrupt { path, detail: said }) }
}

fn publish(part: &Path, to: &Path) -> Result<(), StoreError> {
    File::open(part).and_then(|file| file.sync_all()).map_err(io_fault(part, "sync"))?;
    match renameat_with(CWD, part, CWD, to, RenameFlags::NOREPLACE) {
        Ok(()) => {}
        Err(rustix::io::Errno::EXIST) => return Err(StoreError::Exists { path: to.to_owned() }),
        Err(error) => return Err(io_fault(to, "name the copy")(error.into())),
    }
    let folder = to.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(io_fault(folder, "sync"))
}

fn busy() -> rusqlite::Error {
    let error = ffi::Error { code: ErrorCode::DatabaseBusy, extended_code: ffi::SQLITE_BUSY };
    rusqlite::Error::SqliteFailure(error, None)
}
