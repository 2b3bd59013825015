//! Takes a session's work out of its clone, which is treated as written by an enemy.

use std::path::Path;

use windlass_core::id::Sha;

use super::bare::BareRepo;
use super::error::GitError;
use super::names::{elsewhere_ref, head_ref, work_ref};
use crate::Remedy;
use crate::files::{self, FileError};

/// What a session's branch was at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetched {
    pub head: Sha,
    pub tree: Sha,
    /// The clone's HEAD is not on the branch and has commits that the branch has not.
    pub elsewhere: Option<Elsewhere>,
}

/// Work that a session did beside its branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Elsewhere {
    /// `None` for a detached HEAD.
    pub branch: Option<String>,
    pub head: Sha,
}

#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    #[error("there is no repository any more")]
    Gone,
    #[error("the repository has no branch `{branch}`")]
    NoBranch { branch: String },
    #[error("the repository cannot be read: {detail}")]
    Broken { detail: String },
    #[error(transparent)]
    Git(#[from] GitError),
}

impl FetchError {
    pub fn remedy(&self) -> Remedy {
        match self {
            Self::Gone | Self::NoBranch { .. } | Self::Broken { .. } => Remedy::AskHuman,
            Self::Git(error) => error.remedy(),
        }
    }
}

impl From<FileError> for FetchError {
    fn from(error: FileError) -> Self {
        Self::Git(GitError::File(error))
    }
}

impl BareRepo {
    /// Fetches `branch` of the clone into `refs/windlass/work/<branch>`. Git reads the clone through
    /// `upload-pack`, which runs nothing that the clone says. Two processes, three if HEAD is elsewhere.
    pub fn fetch_work(&self, clone: &Path, branch: &str) -> Result<Fetched, FetchError> {
        let git_dir = clone.join(".git");
        self.check_shape(&git_dir)?;
        let elsewhere = head_elsewhere(&git_dir, branch)?;
        let (ours, theirs) = (work_ref(branch)?, head_ref(branch)?);
        self.fetch(&git_dir, &theirs, &ours, branch)?;
        let (head, tree) = self.head_and_tree(&ours)?;
        let Some(other) = elsewhere else { return Ok(Fetched { head, tree, elsewhere: None }) };
        // HEAD may point to nothing yet, or into the branch's own past: then there is no other work.
        let elsewhere = match self.fetch_head(&git_dir, branch)? {
            Some((found, _)) if !self.is_ancestor(&found, &head)? => {
                Some(Elsewhere { branch: other, head: found })
            }
            Some(_) | None => None,
        };
        Ok(Fetched { head, tree, elsewhere })
    }

    /// Where HEAD is, and its tree, kept aside.
    pub(super) fn fetch_head(&self, git_dir: &Path, branch: &str) -> Result<Option<(Sha, Sha)>, FetchError> {
        let aside = elsewhere_ref(branch)?;
        match self.fetch(git_dir, "HEAD", &aside, branch) {
            Ok(()) => self.head_and_tree(&aside).map(Some),
            Err(FetchError::NoBranch { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn fetch(&self, git_dir: &Path, theirs: &str, ours: &str, branch: &str) -> Result<(), FetchError> {
        let call = self
            .call()
            .setting("transfer.fsckObjects=true")
            .setting("fetch.fsckObjects=true")
            .setting("fetch.writeCommitGraph=false")
            // Always one pack, never single objects: only then does the limit count for all of it.
            .setting("fetch.unpackLimit=1")
            .args(["fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head"])
            .args(["--no-auto-maintenance", "--no-show-forced-updates"])
            .arg(git_dir)
            .arg(format!("+{theirs}:{ours}"))
            .file_size_limit(self.max_fetch);
        match call.done() {
            // Git calls it a success when it refuses a shallow history, and leaves our ref where it was.
            Ok(answer) if answer.stderr().contains("rejected") => {
                Err(FetchError::Broken { detail: answer.stderr() })
            }
            Ok(_) => Ok(()),
            Err(GitError::Failed { stderr, .. }) if stderr.contains("couldn't find remote ref") => {
                Err(FetchError::NoBranch { branch: branch.to_owned() })
            }
            // A full disk or a lock of ours is not the clone's fault.
            Err(error @ GitError::Failed { .. }) if error.remedy() == Remedy::TryAgain => Err(error.into()),
            Err(GitError::Failed { stderr, .. }) => Err(FetchError::Broken { detail: stderr }),
            Err(error) => Err(error.into()),
        }
    }

    fn head_and_tree(&self, name: &str) -> Result<(Sha, Sha), FetchError> {
        let call =
            self.call().args(["rev-parse", &format!("{name}^{{commit}}"), &format!("{name}^{{tree}}")]);
        let answer = match call.done() {
            Ok(answer) => answer,
            Err(GitError::Failed { stderr, .. }) => return Err(FetchError::Broken { detail: stderr }),
            Err(error) => return Err(error.into()),
        };
        let text = answer.text();
        let mut lines = text.lines();
        let mut next = || answer.parse_sha(lines.next().unwrap_or_default());
        Ok((next()?, next()?))
    }

    /// The clone must still be a repository of its own: what leads git to other repositories is refused.
    pub(super) fn check_shape(&self, git_dir: &Path) -> Result<(), FetchError> {
        let broken = |detail: &str| Err(FetchError::Broken { detail: detail.to_owned() });
        match git_dir.symlink_metadata() {
            Ok(found) if found.is_dir() => {}
            Ok(_) => return broken("its `.git` is not a folder"),
            Err(_) => return Err(FetchError::Gone),
        }
        for (name, detail) in [
            ("commondir", "it borrows from another repository"),
            ("shallow", "it has only a part of the history"),
        ] {
            if git_dir.join(name).symlink_metadata().is_ok() {
                return broken(detail);
            }
        }
        for folder in ["objects", "refs"] {
            if !git_dir.join(folder).symlink_metadata().is_ok_and(|found| found.is_dir()) {
                return broken("its objects or refs are not a folder");
            }
        }
        match read_hostile(&git_dir.join("objects/info/alternates"), 4096)? {
            Some(lines) if lines != self.alternates_line() => broken("it borrows objects from another place"),
            Some(_) | None => Ok(()),
        }
    }
}

/// Which branch HEAD is on, if it is not `branch`.
fn head_elsewhere(git_dir: &Path, branch: &str) -> Result<Option<Option<String>>, FetchError> {
    let head = read_hostile(&git_dir.join("HEAD"), 1024)?;
    let Some(head) = head else { return Err(FetchError::Broken { detail: "it has no HEAD".to_owned() }) };
    match head.trim().strip_prefix("ref: refs/heads/") {
        Some(name) if name == branch => Ok(None),
        Some(name) => Ok(Some(Some(name.to_owned()))),
        None => Ok(Some(None)),
    }
}

/// A link or a pipe where a file should be makes the clone broken, it is no error of ours.
fn read_hostile(path: &Path, max: u64) -> Result<Option<String>, FetchError> {
    match files::read_head(path, max) {
        Ok(bytes) => Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned())),
        Err(error) => Err(FetchError::Broken { detail: error.to_string() }),
    }
}
