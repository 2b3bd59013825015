//! Saves what a workspace holds before the workspace goes. The only way a workspace is ever removed.

use std::fs::Permissions;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use windlass_core::bugs::{self, Bug};
use windlass_core::crash;
use windlass_core::id::Sha;
use windlass_core::time::Millis;

use super::bare::BareRepo;
use super::clone::copy_with_time;
use super::error::GitError;
use super::fetch::{Elsewhere, FetchError, Fetched};
use super::names::{full_ref, head_ref, work_ref};
use super::refs::loose_ref;
use super::run::Call;
use crate::Remedy;
use crate::files::{self, FileError};

/// Larger files are named in the message and not saved.
const HUGE: u64 = 50 << 20;

/// Attributes with which git changes no byte of a file.
pub(super) const AS_THEY_ARE: &str = "* -text -filter -ident -working-tree-encoding -eol\n";

/// What is kept of a workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Saved {
    pub commit: Sha,
    /// There was more than the branch's own commits.
    pub uncommitted: bool,
    /// Huge files, nested repositories, pipes and the like.
    pub left_out: Vec<PathBuf>,
}

#[derive(Debug, thiserror::Error)]
pub enum RescueError {
    #[error("cannot save the work in `{path}`, so it stays")]
    Save { path: PathBuf, source: Box<FetchError> },
    #[error("cannot remove `{path}`, its work is saved")]
    Remove { path: PathBuf, source: FileError },
}

impl RescueError {
    pub fn remedy(&self) -> Remedy {
        match self {
            Self::Save { source, .. } => source.remedy(),
            Self::Remove { source, .. } => source.remedy(),
        }
    }
}

impl BareRepo {
    /// Saves branch, uncommitted and untracked files under `into_ref`; `None` when main has it all already.
    /// Never runs git in the clone, and no filter: git reads the files with a repository of our own.
    /// The session must have ended. Six to nine processes.
    pub fn save(
        &self,
        clone: &Path,
        branch: &str,
        into_ref: &str,
        at: Millis,
    ) -> Result<Option<Saved>, FetchError> {
        let into_ref = full_ref(into_ref)?;
        // A link would have us save what lies somewhere else.
        if !clone.symlink_metadata().is_ok_and(|found| found.is_dir()) {
            return Err(FetchError::Gone);
        }
        let fetched = self.last_known(clone, branch)?;
        let left_out = left_out(clone)?;
        let tree = self.tree_of_files(clone, fetched.as_ref().map(|known| &known.head), &left_out)?;
        let mut parents: Vec<&Sha> = Vec::new();
        parents.extend(fetched.as_ref().map(|known| &known.head));
        parents.extend(fetched.as_ref().and_then(|known| known.elsewhere.as_ref()).map(|other| &other.head));
        let clean = fetched.as_ref().filter(|known| known.tree == tree && parents.len() == 1);
        if let Some(known) = clean
            && left_out.is_empty()
            && self.contains(&self.main_ref()?.1, &known.head)?
        {
            return Ok(None);
        }
        let commit = match clean {
            Some(known) => known.head.clone(),
            None => self.commit_tree(&tree, &parents, &message(branch, &left_out), at)?,
        };
        self.set_ref(into_ref, &commit)?;
        Ok(Some(Saved { commit, uncommitted: clean.is_none(), left_out }))
    }

    /// Saves, then removes. A workspace whose work could not be saved stays. Nothing there is fine.
    pub fn remove_workspace(
        &self,
        clone: &Path,
        branch: &str,
        into_ref: &str,
        at: Millis,
    ) -> Result<Option<Saved>, RescueError> {
        let unremoved = |source| RescueError::Remove { path: clone.to_owned(), source };
        // Saved already by a call that was killed while it removed.
        files::remove_beside(clone, "removing").map_err(unremoved)?;
        if clone.symlink_metadata().is_err() {
            return Ok(None);
        }
        let unsaved = |source| RescueError::Save { path: clone.to_owned(), source: Box::new(source) };
        let saved = if bugs::is(Bug::RemovalWithoutSaving) {
            None
        } else {
            self.save(clone, branch, into_ref, at).map_err(unsaved)?
        };
        crash::step("saved");
        // Out of the way in one step: half a workspace must never be taken for what is to be saved.
        let aside = files::beside(clone, "removing");
        std::fs::rename(clone, &aside)
            .map_err(|source| unremoved(FileError::Remove { path: clone.to_owned(), source }))?;
        crash::step("aside");
        self.put_by(&aside, clone).map_err(unremoved)?;
        Ok(saved)
    }

    /// The clone's commits, or those fetched last if the clone can no longer be read.
    fn last_known(&self, clone: &Path, branch: &str) -> Result<Option<Fetched>, FetchError> {
        if let Some(head) = self.fetched_already(clone, branch)? {
            let tree = self.tree_of(&head)?;
            return Ok(Some(Fetched { head, tree, elsewhere: None }));
        }
        match self.fetch_work(clone, branch) {
            Ok(fetched) => Ok(Some(fetched)),
            Err(FetchError::Git(error)) => Err(error.into()),
            Err(FetchError::NoBranch { .. }) => self.without_branch(clone, branch),
            Err(FetchError::Gone | FetchError::Broken { .. }) => self.fetched_last(branch),
        }
    }

    /// The agent renamed or removed its branch: what it is on now counts, and what it had before.
    fn without_branch(&self, clone: &Path, branch: &str) -> Result<Option<Fetched>, FetchError> {
        let before = self.fetched_last(branch)?;
        let Some((head, tree)) = self.fetch_head(&clone.join(".git"), branch)? else { return Ok(before) };
        Ok(Some(match before {
            Some(before) if !self.is_ancestor(&before.head, &head)? => {
                Fetched { elsewhere: Some(Elsewhere { branch: None, head }), ..before }
            }
            Some(_) | None => Fetched { head, tree, elsewhere: None },
        }))
    }

    fn fetched_last(&self, branch: &str) -> Result<Option<Fetched>, FetchError> {
        let Some(head) = self.resolve(&work_ref(branch)?)? else { return Ok(None) };
        let tree = self.tree_of(&head)?;
        Ok(Some(Fetched { head, tree, elsewhere: None }))
    }

    /// The branch's head, if the clone is on it and we have it: then there is nothing to fetch.
    fn fetched_already(&self, clone: &Path, branch: &str) -> Result<Option<Sha>, GitError> {
        let (git_dir, full) = (clone.join(".git"), head_ref(branch)?);
        let on_branch = files::read_head(&git_dir.join("HEAD"), 1024).ok().flatten();
        if on_branch.as_deref() != Some(format!("ref: {full}\n").as_bytes()) {
            return Ok(None);
        }
        let known = loose_ref(self.path(), &work_ref(branch)?);
        Ok(loose_ref(&git_dir, &full).filter(|head| known.as_ref() == Some(head)))
    }

    fn tree_of_files(&self, clone: &Path, head: Option<&Sha>, left_out: &[PathBuf]) -> Result<Sha, GitError> {
        let scratch = files::beside(&self.path().join("rescue"), "tmp");
        let built = self.build_tree(&scratch, clone, head, left_out);
        files::remove_tree(&scratch)?;
        built
    }

    fn build_tree(
        &self,
        scratch: &Path,
        clone: &Path,
        head: Option<&Sha>,
        left_out: &[PathBuf],
    ) -> Result<Sha, GitError> {
        write_scratch(scratch).map_err(|source| GitError::Io { path: scratch.to_owned(), source })?;
        self.read_head_tree(scratch, clone, head)?;
        let mut paths = b".\0".to_vec();
        for path in left_out {
            paths.extend([b":(exclude,literal,top)".as_slice(), path.as_os_str().as_bytes(), b"\0"].concat());
        }
        self.rescue_call(scratch, clone)
            .args(["add", "-A", "--pathspec-from-file=-", "--pathspec-file-nul"])
            .input(paths)
            .done()?;
        self.rescue_call(scratch, clone).arg("write-tree").done()?.sha()
    }

    /// With the index of the fresh clone, files that were never touched need not be read again.
    fn read_head_tree(&self, scratch: &Path, clone: &Path, head: Option<&Sha>) -> Result<(), GitError> {
        let read = || self.rescue_call(scratch, clone).arg("read-tree");
        let Some(head) = head else { return read().arg("--empty").done().map(drop) };
        let known = copy_with_time(&self.kept_index(clone), &scratch.join("index")).is_ok();
        if known && read().args(["-m", head.as_str()]).done().is_ok() {
            return Ok(());
        }
        files::remove_tree(&scratch.join("index"))?;
        read().arg(head.as_str()).done().map(drop)
    }

    fn rescue_call(&self, scratch: &Path, clone: &Path) -> Call<'_> {
        self.call()
            .env("GIT_DIR", scratch)
            .env("GIT_OBJECT_DIRECTORY", self.path().join("objects"))
            .env("GIT_WORK_TREE", clone)
            .env("GIT_INDEX_FILE", scratch.join("index"))
            .cwd(clone)
            .setting("diff.ignoreSubmodules=all")
            .setting("core.safecrlf=false")
            .setting("core.bare=false")
            .setting("core.fsync=committed,loose-object")
    }
}

/// A repository without content whose attributes outrank those of the workspace: bytes are saved as they are.
fn write_scratch(folder: &Path) -> io::Result<()> {
    std::fs::create_dir_all(folder.join("refs"))?;
    std::fs::create_dir_all(folder.join("info"))?;
    std::fs::write(folder.join("HEAD"), "ref: refs/heads/none\n")?;
    std::fs::write(folder.join("config"), "[core]\n\trepositoryformatversion = 0\n")?;
    std::fs::write(folder.join("info/attributes"), AS_THEY_ARE)
}

/// What must not be handed to git; the rest is made readable.
pub(super) fn left_out(clone: &Path) -> Result<Vec<PathBuf>, GitError> {
    let mut left_out = Vec::new();
    survey(clone, clone, &mut left_out).map_err(|source| GitError::Io { path: clone.to_owned(), source })?;
    Ok(left_out)
}

/// Notes what must not be handed to git, and makes the rest readable.
fn survey(root: &Path, folder: &Path, left_out: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path == root.join(".git") {
            continue;
        }
        let found = path.symlink_metadata()?;
        let mode = found.permissions().mode();
        let name = || path.strip_prefix(root).unwrap_or(&path).to_owned();
        if found.is_dir() {
            if mode & 0o700 != 0o700 {
                std::fs::set_permissions(&path, Permissions::from_mode(mode | 0o700))?;
            }
            if path.join(".git").symlink_metadata().is_ok() {
                left_out.push(name());
            } else {
                survey(root, &path, left_out)?;
            }
        } else if found.is_file() {
            if found.len() > HUGE {
                left_out.push(name());
            } else if mode & 0o400 == 0 {
                std::fs::set_permissions(&path, Permissions::from_mode(mode | 0o400))?;
            }
        } else if !found.is_symlink() {
            left_out.push(name());
        }
    }
    Ok(())
}

/// By this line a commit of ours is told from one of the session.
pub(super) fn subject(branch: &str) -> String {
    format!("Work of `{branch}`, saved before its workspace was removed")
}

fn message(branch: &str, left_out: &[PathBuf]) -> String {
    let mut text = format!("{}\n", subject(branch));
    if !left_out.is_empty() {
        text.push_str("\nNot saved:\n");
    }
    for path in left_out {
        text.push_str(&format!("- {}\n", path.display()));
    }
    text
}
