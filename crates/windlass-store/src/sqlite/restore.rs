//! Puts a copy in the place of a damaged database, which is moved aside and never deleted.

use std::fs::{self, File};
use std::path::Path;

use rusqlite::{Connection, OpenFlags};
use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::{backup, folder};
use crate::error::{StoreError, classify, io_fault};

/// The files of one database: itself, and what SQLite keeps beside it.
const SIDE_FILES: [&str; 2] = ["-wal", "-shm"];

/// `aside` is a folder that does not exist yet; it gets the files as they are. Whoever is killed on the way leaves the old
/// database or the copy in place, and nothing is ever overwritten.
pub(super) fn restore(state_dir: &Path, copy: &Path, aside: &Path) -> Result<(), StoreError> {
    folder::prepare(state_dir)?;
    let opening = folder::begin_opening(state_dir)?;
    let _lock = folder::lock_as_daemon(state_dir, &opening, "restore")?;
    check(copy)?;
    fs::create_dir(aside).map_err(io_fault(aside, "make"))?;
    let (path, other) = (folder::database(state_dir), folder::database(aside));
    fs::copy(copy, &other).map_err(io_fault(&other, "copy"))?;
    sync(&other)?;
    // Before the copy is in place: what they hold belongs to the old file.
    move_side_files(state_dir, aside)?;
    // In one step: there is no moment without a database, unless there was none.
    let how = if path.exists() { RenameFlags::EXCHANGE } else { RenameFlags::NOREPLACE };
    if let Err(error) = renameat_with(CWD, &other, CWD, &path, how) {
        move_side_files(aside, state_dir)?;
        return Err(io_fault(&path, "put the copy in place")(error.into()));
    }
    sync(aside)?;
    sync(state_dir)?;
    folder::make_private(&path)
}

fn check(copy: &Path) -> Result<(), StoreError> {
    let conn = Connection::open_with_flags(copy, OpenFlags::SQLITE_OPEN_READ_ONLY)
        .map_err(|error| classify(copy, "open the copy", error))?;
    backup::integrity(&conn)
}

fn move_side_files(from: &Path, to: &Path) -> Result<(), StoreError> {
    for end in SIDE_FILES {
        let name = format!("windlass.db{end}");
        let from = from.join(&name);
        match fs::rename(&from, to.join(&name)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(io_fault(&from, "move aside")(error));
            }
            Ok(()) | Err(_) => {}
        }
    }
    Ok(())
}

fn sync(path: &Path) -> Result<(), StoreError> {
    File::open(path).and_then(|file| file.sync_all()).map_err(io_fault(path, "sync"))
}
