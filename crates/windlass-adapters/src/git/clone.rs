//! A session's own clone: objects borrowed from the bare repository, everything else its own.

use std::io;
use std::path::{Path, PathBuf};

use windlass_core::crash;
use windlass_core::id::Sha;

use super::bare::BareRepo;
use super::error::GitError;
use super::names::head_ref;
use super::restore::Begin;
use crate::files;

/// Left in a finished clone, so that a second call knows it as its own.
const MARKER: &str = "windlass-branch";

impl BareRepo {
    /// Makes `dest` a clone on the new branch `branch` at `at`. A finished clone is adopted as it is,
    /// an unfinished one is never seen under `dest`. Two processes, one of them the checkout.
    pub fn clone_for_session(
        &self,
        dest: &Path,
        branch: &str,
        at: &Sha,
        author: &str,
    ) -> Result<(), GitError> {
        self.clone_with_files(dest, branch, Begin { at, files: None }, author)
    }

    /// The same, with files that were saved. Two more processes.
    pub fn clone_with_files(
        &self,
        dest: &Path,
        branch: &str,
        begin: Begin<'_>,
        author: &str,
    ) -> Result<(), GitError> {
        let full = head_ref(branch)?;
        files::remove_beside(dest, "cloning")?;
        if dest.symlink_metadata().is_ok() {
            let marker = files::read_head(&dest.join(".git").join(MARKER), 1024)?;
            let ours = marker.as_deref() == Some(branch.as_bytes());
            return if ours { Ok(()) } else { Err(GitError::Occupied { path: dest.to_owned() }) };
        }
        let temp = files::beside(dest, "cloning");
        let mut built = Ok(());
        if self.take_spare(&temp)? {
            built = self.build_clone(&temp, branch, &full, begin.at, author);
            if built.is_err() {
                files::remove_tree(&temp)?;
            }
        }
        if !temp.exists() {
            built = self.build_clone(&temp, branch, &full, begin.at, author);
        }
        let built = built.and_then(|()| {
            self.put_back(&temp, begin)?;
            self.keep_index(&temp, dest)?;
            crash::step("cloned");
            std::fs::rename(&temp, dest).map_err(|source| GitError::Io { path: dest.to_owned(), source })
        });
        if built.is_err() {
            files::remove_tree(&temp)?;
        }
        built
    }

    /// Nobody else knows the folder yet, so running git inside it is safe.
    fn build_clone(
        &self,
        temp: &Path,
        branch: &str,
        full: &str,
        at: &Sha,
        author: &str,
    ) -> Result<(), GitError> {
        let (main, tip) = self.main_ref()?;
        files::private_dir(temp)?;
        let git_dir = temp.join(".git");
        let written = (|| {
            write(&git_dir, "HEAD", format!("ref: {full}\n"))?;
            write(&git_dir, full, format!("{at}\n"))?;
            write(&git_dir, &format!("refs/remotes/origin/{main}"), format!("{tip}\n"))?;
            write(&git_dir, "objects/info/alternates", self.alternates_line())?;
            write(&git_dir, "config", self.clone_config(author))?;
            write(&git_dir, MARKER, branch)?;
            std::fs::create_dir_all(git_dir.join("objects/pack"))
        })();
        written.map_err(|source| GitError::Io { path: git_dir.clone(), source })?;
        self.git
            .call()
            .env("GIT_DIR", &git_dir)
            .env("GIT_WORK_TREE", temp)
            .cwd(temp)
            .args(["read-tree", "--reset", "-u", at.as_str()])
            .done()?;
        Ok(())
    }

    /// A copy of the fresh index, out of the session's reach: with it, saving reads only what has changed since.
    fn keep_index(&self, temp: &Path, dest: &Path) -> Result<(), GitError> {
        let kept = self.kept_index(dest);
        let copied = (|| {
            std::fs::create_dir_all(kept.parent().unwrap_or(self.path()))?;
            copy_with_time(&temp.join(".git/index"), &kept)
        })();
        copied.map_err(|source| GitError::Io { path: kept, source })
    }

    pub(super) fn kept_index(&self, dest: &Path) -> PathBuf {
        self.path().join("indexes").join(dest.file_name().unwrap_or_default())
    }

    pub(super) fn alternates_line(&self) -> String {
        format!("{}\n", self.path().join("objects").display())
    }

    /// The main branch and its tip.
    pub(super) fn main_ref(&self) -> Result<(String, Sha), GitError> {
        let head = files::read_head(&self.path().join("HEAD"), 1024)?.unwrap_or_default();
        let head = String::from_utf8_lossy(&head).into_owned();
        let branch = head.trim().strip_prefix("ref: refs/heads/");
        let branch = branch.ok_or_else(|| GitError::BadName { name: head.trim().to_owned() })?;
        Ok((branch.to_owned(), self.main_tip(branch)?))
    }

    fn clone_config(&self, author: &str) -> String {
        format!(
            "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n\
             [remote \"origin\"]\n\turl = {}\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n\ttagOpt = --no-tags\n\
             [user]\n\tname = {}\n\temail = {}\n[gc]\n\tauto = 0\n",
            quoted(&self.path().display().to_string()),
            quoted(author),
            quoted(&format!("{author}@windlass.localhost")),
        )
    }
}

fn write(folder: &Path, name: &str, text: impl AsRef<[u8]>) -> io::Result<()> {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().unwrap_or(folder))?;
    std::fs::write(path, text)
}

/// Git compares the time of an index with the times in it, so a copy must have the time of the original.
pub(super) fn copy_with_time(from: &Path, to: &Path) -> io::Result<()> {
    let time = from.metadata()?.modified()?;
    std::fs::copy(from, to)?;
    std::fs::File::options().append(true).open(to)?.set_modified(time)
}

/// A value of git's configuration file.
fn quoted(text: &str) -> String {
    let escaped: String = text
        .chars()
        .filter(|c| !c.is_control())
        .flat_map(|c| if matches!(c, '"' | '\\') { vec!['\\', c] } else { vec![c] })
        .collect();
    format!("\"{escaped}\"")
}
