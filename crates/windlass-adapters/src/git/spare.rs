//! Checkouts of ended workspaces, kept to be used again: making thousands of files is what a new workspace costs.

use std::path::{Path, PathBuf};

use super::bare::BareRepo;
use super::error::GitError;
use super::nested::remove_nested;
use crate::files::{self, FileError};

/// As many as may be wanted at once; what is left over goes.
const MAX_SPARES: usize = 8;

/// One of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spare {
    pub path: PathBuf,
    /// It has the index without which nobody knows what its files are.
    pub usable: bool,
}

impl Spare {
    pub fn name(&self) -> String {
        self.path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
    }
}

impl BareRepo {
    /// Keeps the files of an ended workspace, cleaned of all that its session added. Only a help: what cannot be kept is
    /// removed.
    pub(super) fn put_by(&self, ended: &Path, name: &Path) -> Result<(), FileError> {
        let spare = self.spare_folder().join(name.file_name().unwrap_or_default());
        let kept = self.spares().len() < MAX_SPARES && self.clean(ended, name).is_ok();
        if kept && std::fs::rename(ended, &spare).is_ok() {
            return Ok(());
        }
        files::remove_tree(ended)?;
        files::remove_tree(&self.kept_index(name))
    }

    /// Makes `temp` one of them, with the index that knows its files. `false` when there is none.
    pub(super) fn take_spare(&self, temp: &Path) -> Result<bool, GitError> {
        for spare in self.spares() {
            // Another task may be quicker.
            if std::fs::rename(&spare.path, temp).is_err() {
                continue;
            }
            if spare.usable {
                return Ok(true);
            }
            files::remove_tree(temp)?;
        }
        Ok(false)
    }

    /// Those that are kept now, by name.
    pub fn spares(&self) -> Vec<Spare> {
        let entries = std::fs::read_dir(self.spare_folder()).into_iter().flatten().flatten();
        let mut spares: Vec<Spare> = entries
            .map(|entry| Spare { path: entry.path(), usable: entry.path().join(".git/index").is_file() })
            .collect();
        spares.sort_by(|one, other| one.path.cmp(&other.path));
        spares
    }

    /// Gone in one step, so that no task takes half of it. `false` when a task was quicker.
    pub fn remove_spare(&self, spare: &Spare) -> Result<bool, GitError> {
        let aside = files::beside(&self.path().join(spare.name()), "removing");
        if std::fs::rename(&spare.path, &aside).is_err() {
            return Ok(false);
        }
        files::remove_tree(&aside)?;
        Ok(true)
    }

    /// Git works with our own index and repository: nothing that the session left says what is run. The index goes with
    /// the files that it knows: a workspace of the same name may be made again before they are used.
    fn clean(&self, ended: &Path, name: &Path) -> Result<(), GitError> {
        let failed = |source| GitError::Io { path: self.spare_folder(), source };
        std::fs::create_dir_all(self.spare_folder()).map_err(failed)?;
        let ended = ended.canonicalize().map_err(failed)?;
        files::remove_tree(&ended.join(".git"))?;
        let index = self.kept_index(name);
        let call = || self.call().env("GIT_WORK_TREE", &ended).env("GIT_INDEX_FILE", &index).cwd(&ended);
        call().args(["clean", "-ffdxq"]).done()?;
        remove_nested(call(), &ended, &[])?;
        std::fs::create_dir(ended.join(".git"))
            .and_then(|()| std::fs::rename(&index, ended.join(".git/index")))
            .map_err(failed)
    }

    fn spare_folder(&self) -> PathBuf {
        self.path().join("spares")
    }
}
