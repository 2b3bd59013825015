//! Candidates for main, made without a checkout.

use std::collections::BTreeSet;

use windlass_core::id::Sha;
use windlass_core::time::Millis;

use super::bare::BareRepo;
use super::error::GitError;

/// What came of merging two commits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Merged {
    Clean { tree: Sha },
    Conflict { files: BTreeSet<String> },
}

impl BareRepo {
    /// Merges in memory and writes the tree. Only git's own word makes it a conflict. One process.
    pub fn merge_tree(&self, ours: &Sha, theirs: &Sha) -> Result<Merged, GitError> {
        let answer = self
            .call()
            .args(["merge-tree", "--write-tree", "-z", "--name-only", "--no-messages"])
            .args([ours.as_str(), theirs.as_str()])
            .run(&[0, 1])?;
        let mut parts = answer.parts().into_iter();
        // Exit code 1 is also what git says of a commit it does not have; a real conflict comes with a tree.
        let Some(tree) = parts.next() else { return Err(answer.failed()) };
        let tree = answer.parse_sha(tree.trim())?;
        if answer.code() == 0 {
            return Ok(Merged::Clean { tree });
        }
        Ok(Merged::Conflict { files: parts.filter(|file| !file.is_empty()).collect() })
    }

    /// Writes a commit. The same arguments always give the same id. One process.
    pub fn commit_tree(
        &self,
        tree: &Sha,
        parents: &[&Sha],
        message: &str,
        at: Millis,
    ) -> Result<Sha, GitError> {
        let date = date(at);
        let mut call = self.call().env("GIT_AUTHOR_DATE", &date).env("GIT_COMMITTER_DATE", &date);
        call = call.args(["commit-tree", tree.as_str()]);
        for parent in parents {
            call = call.args(["-p", parent.as_str()]);
        }
        call.args(["-F", "-"]).input(message).done()?.sha()
    }
}

/// A point in time as git takes it.
pub(super) fn date(at: Millis) -> String {
    format!("@{} +0000", at.0.max(0) / 1_000)
}
