//! Checkouts of ended workspaces, kept to be used again: making thousands of files is what a new workspace costs.

use std::path::{Path, PathBuf};

use super::bare::BareRepo;
use super::clone::copy_with_time;
use super::error::GitError;
use crate::files::{self, FileError};

/// As many as may be wanted at once; what is left over goes.
const MAX_SPARES: usize = 8;

impl BareRepo {
    /// Keeps the files of an ended workspace, cleaned of all that its session added. Only a help: what cannot be kept is
    /// removed.
    pub(super) fn put_by(&self, ended: &Path, name: &Path) -> Result<(), FileError> {
        let spare = self.spares().join(name.file_name().unwrap_or_default());
        let kept = self.spare_names().len() < MAX_SPARES && self.clean(ended, name).is_ok();
        if kept && std::fs::rename(ended, &spare).is_ok() {
            return Ok(());
        }
        files::remove_tree(ended)?;
        files::remove_tree(&self.kept_index(name))
    }

    /// Makes `temp` one of them, with the index that knows its files. `false` when there is none.
    pub(super) fn take_spare(&self, temp: &Path) -> Result<bool, GitError> {
        for name in self.spare_names() {
            // Another task may be quicker.
            if std::fs::rename(self.spares().join(&name), temp).is_err() {
                continue;
            }
            let index = self.kept_index(&name);
            let known = std::fs::create_dir_all(temp.join(".git"))
                .and_then(|()| copy_with_time(&index, &temp.join(".git/index")));
            files::remove_tree(&index)?;
            if known.is_ok() {
                return Ok(true);
            }
            files::remove_tree(temp)?;
        }
        Ok(false)
    }

    /// Git works with our own index and repository: nothing that the session left says what is run.
    fn clean(&self, ended: &Path, name: &Path) -> Result<(), GitError> {
        std::fs::create_dir_all(self.spares())
            .map_err(|source| GitError::Io { path: self.spares(), source })?;
        files::remove_tree(&ended.join(".git"))?;
        self.call()
            .env("GIT_WORK_TREE", ended)
            .env("GIT_INDEX_FILE", self.kept_index(name))
            .cwd(ended)
            .args(["clean", "-ffdxq"])
            .done()
            .map(drop)
    }

    fn spares(&self) -> PathBuf {
        self.path().join("spares")
    }

    fn spare_names(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.spares()).into_iter().flatten().flatten();
        entries.map(|entry| PathBuf::from(entry.file_name())).collect()
    }
}
