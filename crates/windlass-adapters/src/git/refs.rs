//! Names of commits: asking for them, and changing them only from where we think they are.

use std::collections::BTreeMap;
use std::path::Path;

use windlass_core::id::Sha;

use super::bare::BareRepo;
use super::error::GitError;
use super::names::{full_ref, head_ref, landed_ref};
use crate::files;

/// Where a ref must be for a change to go through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expect<'a> {
    At(&'a Sha),
    Absent,
    Anything,
}

/// A head that lands, and the commit of main's own line that it becomes.
#[derive(Debug, Clone, Copy)]
pub struct Mark<'a> {
    pub head: &'a Sha,
    pub commit: &'a Sha,
}

/// The result of a change that only one of several can win.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum Swap {
    /// The ref is where we wanted it, by this call or an earlier one.
    Done,
    /// It was somewhere else and was left there.
    Lost { actual: Option<Sha> },
}

impl BareRepo {
    /// The commit a branch is at. No process, or one if the branch is not a file of its own.
    pub fn main_tip(&self, branch: &str) -> Result<Sha, GitError> {
        if let Some(sha) = loose_ref(self.path(), &head_ref(branch)?) {
            return Ok(sha);
        }
        self.call().args(["rev-parse", "--verify", "--end-of-options"]).arg(head_ref(branch)?).done()?.sha()
    }

    /// The commit a name stands for; `None` when there is none. One process.
    pub fn resolve(&self, rev: &str) -> Result<Option<Sha>, GitError> {
        let answer = self
            .call()
            .args(["rev-parse", "--verify", "--quiet", "--end-of-options"])
            .arg(format!("{rev}^{{commit}}"))
            .run(&[0, 1])?;
        if answer.code() == 1 { Ok(None) } else { answer.sha().map(Some) }
    }

    /// One process.
    pub fn tree_of(&self, commit: &Sha) -> Result<Sha, GitError> {
        self.call().args(["rev-parse", "--verify"]).arg(format!("{commit}^{{tree}}")).done()?.sha()
    }

    /// Sets `name` to `new`, if it is where `expected` says. One process; two when it did not work.
    pub fn update_ref(&self, name: &str, new: &Sha, expected: Expect<'_>) -> Result<Swap, GitError> {
        self.swap(full_ref(name)?, new, expected, None)
    }

    /// Sets `name` to `new`, wherever it was.
    pub fn set_ref(&self, name: &str, new: &Sha) -> Result<(), GitError> {
        self.swap(full_ref(name)?, new, Expect::Anything, None).map(drop)
    }

    /// Moves a branch, with a line in its reflog. Besides what a person commits (`intake`) the only way main ever moves.
    pub fn land(&self, branch: &str, expected: &Sha, new: &Sha) -> Result<Swap, GitError> {
        self.swap(&head_ref(branch)?, new, Expect::At(expected), Some("windlass: landed"))
    }

    /// Moves a branch and says in the same transaction as what each head came there: all of it or nothing.
    /// One process, and one for each mark that is not a file of its own; two more when it did not work.
    pub fn land_marked(
        &self,
        branch: &str,
        expected: &Sha,
        new: &Sha,
        marks: &[Mark<'_>],
    ) -> Result<Swap, GitError> {
        let name = head_ref(branch)?;
        let mut input = format!("start\nupdate {name} {new} {expected}\n");
        let nothing = "0".repeat(new.as_str().len());
        for mark in marks {
            let old = self.landed_as(mark.head)?;
            let old = old.as_ref().map_or(nothing.as_str(), Sha::as_str);
            input.push_str(&format!("update {} {} {old}\n", landed_ref(mark.head), mark.commit));
        }
        input.push_str("prepare\ncommit\n");
        let call =
            self.call().args(["update-ref", "--no-deref", "--create-reflog", "-m", "windlass: landed"]);
        let Err(error) = call.arg("--stdin").input(input).done() else { return Ok(Swap::Done) };
        match self.read_ref(&name)? {
            Some(actual) if actual == *new => Ok(Swap::Done),
            Some(actual) if actual == *expected => Err(error),
            actual => Ok(Swap::Lost { actual }),
        }
    }

    /// Whether `tip` holds `head`: as an ancestor, or as the commit that it became when it landed. One process, two if
    /// it landed as another commit.
    pub fn contains(&self, tip: &Sha, head: &Sha) -> Result<bool, GitError> {
        Ok(self.is_ancestor(head, tip)? || self.contains_mark(tip, head)?)
    }

    /// Whether `tip` holds the commit that `head` became when it landed. No process if it never did.
    pub fn contains_mark(&self, tip: &Sha, head: &Sha) -> Result<bool, GitError> {
        match self.landed_as(head)? {
            Some(commit) => self.is_ancestor(&commit, tip),
            None => Ok(false),
        }
    }

    /// The commit that a head became when it landed, if that is another one.
    fn landed_as(&self, head: &Sha) -> Result<Option<Sha>, GitError> {
        let name = landed_ref(head);
        match loose_ref(self.path(), &name) {
            Some(commit) => Ok(Some(commit)),
            None if self.path().join("packed-refs").exists() => self.read_ref(&name),
            None => Ok(None),
        }
    }

    /// Deletes `name`, if it is where `expected` says; a ref that is not there is deleted already.
    pub fn delete_ref(&self, name: &str, expected: Expect<'_>) -> Result<Swap, GitError> {
        let mut call = self.call().args(["update-ref", "--no-deref", "-d", full_ref(name)?]);
        if let Expect::At(old) = expected {
            call = call.arg(old.as_str());
        }
        let Err(error) = call.done() else { return Ok(Swap::Done) };
        match (self.read_ref(name)?, expected) {
            (None, _) => Ok(Swap::Done),
            (Some(actual), Expect::At(old)) if actual != *old => Ok(Swap::Lost { actual: Some(actual) }),
            (Some(_), Expect::At(_) | Expect::Absent | Expect::Anything) => Err(error),
        }
    }

    /// All refs below `prefix`, such as `refs/windlass/run`. One process.
    pub fn list_refs(&self, prefix: &str) -> Result<BTreeMap<String, Sha>, GitError> {
        let answer =
            self.call().args(["for-each-ref", "--format=%(objectname) %(refname)", "--", prefix]).done()?;
        let mut found = BTreeMap::new();
        for line in answer.text().lines() {
            let (sha, name) = line.split_once(' ').ok_or_else(|| answer.unusable(line))?;
            found.insert(name.to_owned(), answer.parse_sha(sha)?);
        }
        Ok(found)
    }

    pub(super) fn swap(
        &self,
        name: &str,
        new: &Sha,
        expected: Expect<'_>,
        log: Option<&str>,
    ) -> Result<Swap, GitError> {
        let mut call = self.call().args(["update-ref", "--no-deref"]);
        if let Some(log) = log {
            call = call.args(["--create-reflog", "-m", log]);
        }
        call = call.args([name, new.as_str()]);
        call = match expected {
            Expect::At(old) => call.arg(old.as_str()),
            Expect::Absent => call.arg("0".repeat(new.as_str().len())),
            Expect::Anything => call,
        };
        let Err(error) = call.done() else { return Ok(Swap::Done) };
        let actual = self.read_ref(name)?;
        let was_expected = match expected {
            Expect::At(old) => actual.as_ref() == Some(old),
            Expect::Absent => actual.is_none(),
            Expect::Anything => true,
        };
        match actual {
            // A crash may have come between an earlier swap and its record.
            Some(actual) if actual == *new => Ok(Swap::Done),
            _ if was_expected => Err(error),
            actual => Ok(Swap::Lost { actual }),
        }
    }

    /// What a ref holds, whatever kind of object that is.
    fn read_ref(&self, name: &str) -> Result<Option<Sha>, GitError> {
        let answer = self.call().args(["rev-parse", "--verify", "--quiet", name]).run(&[0, 1])?;
        if answer.code() == 1 { Ok(None) } else { answer.sha().map(Some) }
    }
}

/// A ref that is a file of its own: git replaces it in one step, so it can be read without git.
pub(super) fn loose_ref(git_dir: &Path, full: &str) -> Option<Sha> {
    let bytes = files::read_head(&git_dir.join(full), 128).ok()??;
    Sha::parse(String::from_utf8(bytes).ok()?.trim_end()).ok()
}
