//! What was saved of a workspace: how much of it that is, and how a new one gets it back.

use std::path::Path;

use windlass_core::id::Sha;

use super::bare::BareRepo;
use super::error::{GitError, passes};
use super::fetch::FetchError;
use super::names::{full_ref, head_ref};
use super::rescue;
use crate::files;

/// What `save` has kept of a workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// What its branch was at, if that was known.
    pub head: Option<Sha>,
    /// The commit with its files, if these were others.
    pub files: Option<Sha>,
}

/// Where a new clone begins.
#[derive(Debug, Clone, Copy)]
pub struct Begin<'a> {
    pub at: &'a Sha,
    /// Its files are those of this commit, and nobody has committed them.
    pub files: Option<&'a Sha>,
}

impl BareRepo {
    /// What lies under the name that `save` was given; `None` when nothing does. Up to two processes.
    pub fn kept(&self, name: &str, branch: &str) -> Result<Option<Kept>, GitError> {
        let Some(commit) = self.resolve(full_ref(name)?)? else { return Ok(None) };
        let call = self.call().args(["log", "-1", "--no-show-signature", "--format=%P%n%s"]);
        let answer = call.arg(commit.as_str()).done()?;
        let text = answer.text();
        let (parents, subject) = text.split_once('\n').ok_or_else(|| answer.unusable(&text))?;
        if subject.trim_end() != rescue::subject(branch) {
            return Ok(Some(Kept { head: Some(commit), files: None }));
        }
        let head = parents.split(' ').next().filter(|head| !head.is_empty());
        let head = head.map(|head| answer.parse_sha(head)).transpose()?;
        Ok(Some(Kept { head, files: Some(commit) }))
    }

    /// Gives a clone in the making these files; its branch and its index stay where they are. Two processes.
    pub(super) fn put_back(&self, temp: &Path, begin: Begin<'_>) -> Result<(), GitError> {
        let Some(saved) = begin.files else { return Ok(()) };
        // They were saved byte by byte, so that is how they come back.
        let raw = temp.join(".git/info/attributes");
        let written = std::fs::create_dir_all(temp.join(".git/info"))
            .and_then(|()| std::fs::write(&raw, rescue::AS_THEY_ARE));
        written.map_err(|source| GitError::Io { path: raw.clone(), source })?;
        let read_tree = || {
            let call = self.git.call().env("GIT_DIR", temp.join(".git")).env("GIT_WORK_TREE", temp);
            call.cwd(temp).arg("read-tree")
        };
        read_tree().args(["--reset", "-u", saved.as_str()]).done()?;
        read_tree().args(["-m", begin.at.as_str()]).done()?;
        Ok(files::remove_tree(&raw)?)
    }

    /// What `save` cannot keep of a clone: files that git is not given, and commits that only other branches, tags or
    /// stashes of the clone name. Up to one process, and one for each such name.
    pub fn unsavable(&self, clone: &Path, branch: &str) -> Result<Vec<String>, FetchError> {
        // A link would have us look at what lies somewhere else.
        if !clone.symlink_metadata().is_ok_and(|found| found.is_dir()) {
            return Err(FetchError::Gone);
        }
        let left_out = rescue::left_out(clone)?;
        let mut found: Vec<String> = left_out.iter().map(|path| path.display().to_string()).collect();
        match self.check_shape(&clone.join(".git")) {
            Ok(()) => {}
            // Then there is nothing in it but files.
            Err(FetchError::Gone) => return Ok(found),
            Err(error) => return Err(error),
        }
        let answer = match self.call().args(["ls-remote", "--quiet"]).arg(clone.join(".git")).done() {
            Ok(answer) => answer,
            Err(GitError::Failed { code, stderr, .. }) if !passes(code, &stderr) => {
                return Err(FetchError::Broken { detail: stderr });
            }
            Err(error) => return Err(error.into()),
        };
        let text = answer.text();
        let refs: Vec<(&str, &str)> = text.lines().filter_map(|line| line.split_once('\t')).collect();
        let own = head_ref(branch)?;
        let is_saved = |name: &str| name == "HEAD" || name == own;
        let saved: Vec<&str> = refs.iter().filter(|(_, name)| is_saved(name)).map(|(sha, _)| *sha).collect();
        for (sha, name) in refs {
            let peeled = name.ends_with("^{}");
            if !peeled && !saved.contains(&sha) && self.resolve(sha)?.is_none() {
                found.push(name.to_owned());
            }
        }
        Ok(found)
    }
}
