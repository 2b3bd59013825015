//! Private files that survive a crash, and careful reads of files that others may have replaced.

use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{CWD, OFlags, RenameFlags, renameat_with};
use serde::Serialize;

use crate::Remedy;

#[derive(Debug, thiserror::Error)]
pub enum FileError {
    #[error("cannot write `{path}`")]
    Write { path: PathBuf, source: io::Error },
    #[error("cannot read `{path}`")]
    Read { path: PathBuf, source: io::Error },
    #[error("cannot remove `{path}`")]
    Remove { path: PathBuf, source: io::Error },
    #[error("cannot write `{path}` as JSON")]
    Encode { path: PathBuf, source: serde_json::Error },
    #[error("`{path}` is not what it should be: expected {expected}")]
    Kind { path: PathBuf, expected: &'static str },
}

impl FileError {
    pub fn remedy(&self) -> Remedy {
        match self {
            Self::Write { .. } | Self::Read { .. } | Self::Remove { .. } => Remedy::TryAgain,
            Self::Encode { .. } | Self::Kind { .. } => Remedy::AskHuman,
        }
    }
}

/// Replaces `path` in one step: a reader sees the old or the new bytes, also after a power cut. Mode 0600.
pub fn write_atomic(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    write_beside(path, bytes, |temp| std::fs::rename(temp, path))
}

/// As `write_atomic`, but whatever is there by now stays: the error's kind is then `AlreadyExists`.
pub fn create_atomic(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    write_beside(path, bytes, |temp| Ok(renameat_with(CWD, temp, CWD, path, RenameFlags::NOREPLACE)?))
}

fn write_beside(
    path: &Path,
    bytes: &[u8],
    rename: impl FnOnce(&Path) -> io::Result<()>,
) -> Result<(), FileError> {
    let failed = |source| FileError::Write { path: path.to_owned(), source };
    let folder = path.parent().ok_or_else(|| failed(io::ErrorKind::InvalidInput.into()))?;
    let temp = beside(path, "tmp");
    let written = write_new(&temp, bytes).and_then(|()| rename(&temp));
    if let Err(source) = written {
        // The first error is the one to tell; a left-over temp file harms nobody.
        drop(std::fs::remove_file(&temp));
        return Err(failed(source));
    }
    sync_dir(folder).map_err(failed)
}

pub fn write_json<T: Serialize>(path: &Path, value: &T) -> Result<(), FileError> {
    let mut bytes = serde_json::to_vec_pretty(value)
        .map_err(|source| FileError::Encode { path: path.to_owned(), source })?;
    bytes.push(b'\n');
    write_atomic(path, &bytes)
}

/// The first `max` bytes of a regular file; `None` when there is no file. Never follows a symlink, never blocks.
pub fn read_head(path: &Path, max: u64) -> Result<Option<Vec<u8>>, FileError> {
    read_part(path, max, |_| 0).map(|part| part.map(|part| part.bytes))
}

/// The last `max` bytes of a regular file, with its whole length; `None` when there is no file.
pub fn read_tail(path: &Path, max: u64) -> Result<Option<Part>, FileError> {
    read_part(path, max, |len| len.saturating_sub(max))
}

/// Up to `max` bytes from `offset` on; `None` when there is no file.
pub fn read_from(path: &Path, offset: u64, max: u64) -> Result<Option<Part>, FileError> {
    read_part(path, max, |_| offset)
}

/// A piece of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    pub bytes: Vec<u8>,
    pub file_len: u64,
}

/// Makes a folder that only we can enter; parents that do not exist are made the same way.
pub fn private_dir(path: &Path) -> Result<(), FileError> {
    let failed = |source| FileError::Write { path: path.to_owned(), source };
    DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(failed)?;
    let found = std::fs::symlink_metadata(path).map_err(failed)?;
    if !found.is_dir() {
        return Err(FileError::Kind { path: path.to_owned(), expected: "a folder, not a symlink" });
    }
    if found.uid() != rustix::process::getuid().as_raw() {
        return Err(FileError::Kind { path: path.to_owned(), expected: "a folder of our own user" });
    }
    if found.permissions().mode() & 0o777 != 0o700 {
        std::fs::set_permissions(path, Permissions::from_mode(0o700)).map_err(failed)?;
    }
    Ok(())
}

/// Removes whatever is at `path`, also folders that were made read-only. Nothing there is fine.
pub fn remove_tree(path: &Path) -> Result<(), FileError> {
    let failed = |source| FileError::Remove { path: path.to_owned(), source };
    let found = match std::fs::symlink_metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(failed(error)),
    };
    if !found.is_dir() {
        return std::fs::remove_file(path).map_err(failed);
    }
    match std::fs::remove_dir_all(path) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(_) => {
            open_up(path).map_err(failed)?;
            std::fs::remove_dir_all(path).map_err(failed)
        }
    }
}

/// A name next to `path` that nobody else uses.
pub fn beside(path: &Path, word: &str) -> PathBuf {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let nth = NEXT.fetch_add(1, Ordering::Relaxed);
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    path.with_file_name(format!(".{name}.{word}-{}-{nth}", std::process::id()))
}

/// Removes what earlier calls of `beside` left next to `path` when they were killed.
pub(crate) fn remove_beside(path: &Path, word: &str) -> Result<(), FileError> {
    let failed = |source| FileError::Read { path: path.to_owned(), source };
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(FileError::Kind { path: path.to_owned(), expected: "a name in a folder" });
    };
    let prefix = format!(".{}.{word}-", name.to_string_lossy());
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        if entry.file_name().to_string_lossy().starts_with(&prefix) {
            remove_tree(&entry.path())?;
        }
    }
    Ok(())
}

/// Removes what `beside` left in a folder for processes that were killed; says how many. No folder is fine.
pub fn remove_abandoned(folder: &Path) -> Result<u32, FileError> {
    let failed = |source| FileError::Read { path: folder.to_owned(), source };
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        Err(error) => return Err(failed(error)),
    };
    let mut removed = 0;
    for entry in entries {
        let entry = entry.map_err(failed)?;
        let owner = owner_of(&entry.file_name().to_string_lossy());
        if owner.is_some_and(|pid| !Path::new("/proc").join(pid.to_string()).exists()) {
            remove_tree(&entry.path())?;
            removed += 1;
        }
    }
    Ok(removed)
}

/// The process that a name of `beside` belongs to.
fn owner_of(name: &str) -> Option<u32> {
    let (rest, nth) = name.strip_prefix('.')?.rsplit_once('-')?;
    let (_, pid) = rest.rsplit_once('-')?;
    nth.parse::<u64>().ok()?;
    pid.parse().ok()
}

/// Makes renames and new names in a folder durable.
pub(crate) fn sync_dir(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

fn read_part(path: &Path, max: u64, start: impl Fn(u64) -> u64) -> Result<Option<Part>, FileError> {
    let failed = |source| FileError::Read { path: path.to_owned(), source };
    // NONBLOCK: a FIFO planted under this name must not hold us up.
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let mut file = match OpenOptions::new().read(true).custom_flags(flags).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    let found = file.metadata().map_err(failed)?;
    if !found.is_file() {
        return Err(FileError::Kind { path: path.to_owned(), expected: "a regular file" });
    }
    file.seek(SeekFrom::Start(start(found.len()))).map_err(failed)?;
    let mut bytes = Vec::new();
    file.take(max).read_to_end(&mut bytes).map_err(failed)?;
    Ok(Some(Part { bytes, file_len: found.len() }))
}

/// Gives us back the right to list and change every folder below `path`.
fn open_up(path: &Path) -> io::Result<()> {
    std::fs::set_permissions(path, Permissions::from_mode(0o700))?;
    for entry in std::fs::read_dir(path)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            open_up(&entry.path())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_replaces_the_whole_file_and_leaves_no_temp_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state.json");
        write_json(&path, &vec![1, 2, 3]).unwrap();
        write_atomic(&path, b"new").unwrap();
        assert_eq!(read_head(&path, 100).unwrap().unwrap(), b"new");
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_new_file_takes_the_place_of_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report");
        create_atomic(&path, b"first").unwrap();
        let again = create_atomic(&path, b"second");
        assert!(
            matches!(&again, Err(FileError::Write { source, .. }) if source.kind() == io::ErrorKind::AlreadyExists),
            "{again:?}"
        );
        assert_eq!(read_head(&path, 100).unwrap().unwrap(), b"first");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_a_killed_process_left_half_made_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let mut ended = std::process::Command::new("true").spawn().unwrap();
        ended.wait().unwrap();
        let dead = format!(".exit.json.tmp-{}-0", ended.id());
        let living = beside(&folder.path().join("exit.json"), "tmp");
        std::fs::create_dir(folder.path().join(format!(".rescue.tmp-{}-7", ended.id()))).unwrap();
        for path in [folder.path().join(dead), living.clone(), folder.path().join(".git-1")] {
            std::fs::write(path, "half").unwrap();
        }
        assert_eq!(remove_abandoned(folder.path()).unwrap(), 2);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
        assert!(living.exists());
        assert_eq!(remove_abandoned(&folder.path().join("none")).unwrap(), 0);
    }

    #[test]
    fn reads_are_bounded_and_refuse_links_and_pipes() {
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().join("real");
        std::fs::write(&real, "0123456789").unwrap();
        assert_eq!(read_head(&real, 4).unwrap().unwrap(), b"0123");
        let tail = read_tail(&real, 3).unwrap().unwrap();
        assert_eq!((tail.bytes.as_slice(), tail.file_len), (b"789".as_slice(), 10));
        assert_eq!(read_head(&folder.path().join("none"), 4).unwrap(), None);

        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&real, &link).unwrap();
        assert!(matches!(read_head(&link, 4), Err(FileError::Read { .. })));
        let fifo = folder.path().join("fifo");
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        assert!(matches!(read_head(&fifo, 4), Err(FileError::Kind { .. })));
    }

    #[test]
    fn read_only_folders_are_removed_and_links_are_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let keep = folder.path().join("keep");
        std::fs::write(&keep, "x").unwrap();
        let tree = folder.path().join("tree");
        std::fs::create_dir_all(tree.join("deep/er")).unwrap();
        std::fs::write(tree.join("deep/er/file"), "x").unwrap();
        std::os::unix::fs::symlink(folder.path(), tree.join("out")).unwrap();
        std::fs::set_permissions(tree.join("deep/er"), Permissions::from_mode(0o500)).unwrap();
        std::fs::set_permissions(tree.join("deep"), Permissions::from_mode(0o000)).unwrap();
        remove_tree(&tree).unwrap();
        remove_tree(&tree).unwrap();
        assert!(!tree.exists() && keep.exists());
    }
}
