//! Repositories inside a checkout: git goes into none of them, so it neither replaces nor cleans what is there.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::error::GitError;
use super::run::Call;
use crate::files::{self, FileError};

/// How `ls-files --stage` begins the line of a submodule.
const SUBMODULE: &[u8] = b"160000 ";

/// Makes each submodule of a checkout the empty folder that it is in a new one, and takes away repositories that somebody
/// made in folders with files of ours, or around the folders that are kept. `call` is a git with the index of the checkout;
/// for after `clean`. One process.
pub(super) fn remove_nested(call: Call<'_>, work: &Path, keep: &[String]) -> Result<(), GitError> {
    let answer = call.args(["ls-files", "--stage", "-z"]).done()?;
    let mut folders: BTreeSet<&Path> =
        keep.iter().flat_map(|path| Path::new(path).ancestors().skip(1)).collect();
    let mut submodules = Vec::new();
    for line in answer.raw_parts() {
        let tab = line.iter().position(|byte| *byte == b'\t').ok_or_else(|| answer.unusable("no path"))?;
        let path = Path::new(OsStr::from_bytes(&line[tab + 1..]));
        folders.extend(path.ancestors().skip(1));
        if line.starts_with(SUBMODULE) {
            submodules.push(path);
        }
    }
    for path in submodules {
        let folder = within(work, path)?;
        files::remove_tree(&folder)?;
        std::fs::create_dir(&folder).map_err(|source| GitError::Io { path: folder, source })?;
    }
    for path in folders.into_iter().map(|folder| folder.join(".git")) {
        if work.join(&path).symlink_metadata().is_ok() {
            files::remove_tree(&within(work, &path)?)?;
        }
    }
    Ok(())
}

/// The place of `path` in the checkout, if no link leads elsewhere.
fn within(work: &Path, path: &Path) -> Result<PathBuf, GitError> {
    let folder = work.join(path.parent().unwrap_or(path));
    let real = folder.canonicalize().map_err(|source| GitError::Io { path: folder.clone(), source })?;
    if real != folder {
        return Err(FileError::Kind { path: folder, expected: "a folder, not a symlink" }.into());
    }
    Ok(work.join(path))
}
