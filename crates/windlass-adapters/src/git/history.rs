//! Questions about commits that are already in the bare repository.

use std::collections::{BTreeMap, BTreeSet};

use windlass_core::id::Sha;

use super::bare::BareRepo;
use super::error::GitError;

/// A commit that touched a path somebody asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Touch {
    pub commit: Sha,
    pub subject: String,
}

/// What a commit is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Anatomy {
    pub tree: Sha,
    pub parents: Vec<Sha>,
}

/// The text of a change, as much of it as was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diff {
    pub text: String,
    pub truncated: bool,
    /// All changed paths, also those whose text did not fit.
    pub files: BTreeSet<String>,
}

impl BareRepo {
    /// Whether `a` is `b` or one of its ancestors. One process.
    pub fn is_ancestor(&self, a: &Sha, b: &Sha) -> Result<bool, GitError> {
        let answer =
            self.call().args(["merge-base", "--is-ancestor", a.as_str(), b.as_str()]).run(&[0, 1])?;
        Ok(answer.code() == 0)
    }

    /// What a commit is made of: its tree and its parents. One process.
    pub fn anatomy(&self, commit: &Sha) -> Result<Anatomy, GitError> {
        let answer = self.call().args(["show", "--no-patch", "--format=%T %P", commit.as_str()]).done()?;
        let text = answer.text();
        let mut words = text.split_whitespace().map(|word| answer.parse_sha(word));
        let tree = words.next().unwrap_or_else(|| Err(answer.unusable("no tree")))?;
        Ok(Anatomy { tree, parents: words.collect::<Result<_, _>>()? })
    }

    /// The same of several, by commit. One process.
    pub fn anatomies<'a>(
        &self,
        commits: impl IntoIterator<Item = &'a Sha>,
    ) -> Result<BTreeMap<Sha, Anatomy>, GitError> {
        let input: String = commits.into_iter().map(|commit| format!("{commit}\n")).collect();
        let args = ["log", "--no-walk=unsorted", "--no-color", "--format=%H %T %P", "--stdin"];
        let answer = self.call().args(args).input(input).done()?;
        let mut found = BTreeMap::new();
        for line in answer.text().lines() {
            let words = line.split_whitespace().map(|word| answer.parse_sha(word));
            let mut words = words.collect::<Result<Vec<_>, _>>()?.into_iter();
            let (Some(commit), Some(tree)) = (words.next(), words.next()) else {
                return Err(answer.unusable(line));
            };
            found.insert(commit, Anatomy { tree, parents: words.collect() });
        }
        Ok(found)
    }

    /// The best common ancestor; `None` for unrelated histories. One process.
    pub fn merge_base(&self, a: &Sha, b: &Sha) -> Result<Option<Sha>, GitError> {
        let answer = self.call().args(["merge-base", a.as_str(), b.as_str()]).run(&[0, 1])?;
        if answer.code() == 1 { Ok(None) } else { answer.sha().map(Some) }
    }

    /// How many commits `to` has that `from` has not. One process.
    pub fn count_commits(&self, from: &Sha, to: &Sha) -> Result<u64, GitError> {
        let answer = self.call().args(["rev-list", "--count"]).arg(format!("{from}..{to}")).done()?;
        answer.text().trim().parse().map_err(|_| answer.unusable("not a number"))
    }

    /// Paths whose content or mode differs. One process.
    pub fn changed_paths(&self, from: &Sha, to: &Sha) -> Result<BTreeSet<String>, GitError> {
        let answer = self
            .call()
            .args(["diff-tree", "-r", "-z", "--name-only", "--no-renames", "--no-ext-diff"])
            .args([from.as_str(), to.as_str()])
            .done()?;
        Ok(answer.parts().into_iter().collect())
    }

    /// Paths in which any of these pairs differs, each from its first commit to its second. One process.
    pub fn changed_by_any<'a>(
        &self,
        pairs: impl IntoIterator<Item = (&'a Sha, &'a Sha)>,
    ) -> Result<BTreeSet<String>, GitError> {
        // The second of two commits stands for the parent of the first.
        let input: String = pairs.into_iter().map(|(from, to)| format!("{to} {from}\n")).collect();
        let answer = self
            .call()
            .args(["diff-tree", "-r", "-z", "--name-only", "--no-renames", "--no-ext-diff", "--no-commit-id"])
            .arg("--stdin")
            .input(input)
            .done()?;
        Ok(answer.parts().into_iter().filter(|path| !path.is_empty()).collect())
    }

    /// Commits in `from..to` that touched one of `paths`, newest first. One process; none without paths.
    pub fn commits_touching(
        &self,
        from: &Sha,
        to: &Sha,
        paths: &BTreeSet<String>,
    ) -> Result<Vec<Touch>, GitError> {
        if paths.is_empty() {
            return Ok(Vec::new());
        }
        // Through stdin, since there may be more paths than a command line holds.
        let mut input = format!("{to}\n^{from}\n--\n");
        for path in paths.iter().filter(|path| !path.contains('\n')) {
            input.push_str(path);
            input.push('\n');
        }
        let answer = self
            .call()
            .args(["--literal-pathspecs", "log", "-z", "--no-color", "--format=%H %s", "--stdin"])
            .input(input)
            .done()?;
        let touch = |line: String| {
            let (sha, subject) = line.split_once(' ').ok_or_else(|| answer.unusable(&line))?;
            Ok(Touch { commit: answer.parse_sha(sha)?, subject: subject.to_owned() })
        };
        answer.parts().into_iter().map(touch).collect()
    }

    /// The change from one commit to another as text. Two processes.
    pub fn diff(&self, from: &Sha, to: &Sha, max_bytes: usize) -> Result<Diff, GitError> {
        let answer = self
            .call()
            .args(["diff-tree", "-r", "-p", "-M", "--no-color", "--no-ext-diff", "--no-textconv"])
            .args([from.as_str(), to.as_str()])
            .cut_after(max_bytes)
            .done()?;
        let mut text = answer.text();
        // The cut may have gone through a character.
        if answer.was_cut() && text.ends_with('\u{fffd}') {
            text.pop();
        }
        Ok(Diff { text, truncated: answer.was_cut(), files: self.changed_paths(from, to)? })
    }
}
