//! How heads grew out of a commit, read once for all of them.

use std::collections::{BTreeMap, BTreeSet};

use windlass_core::id::Sha;

use super::bare::BareRepo;
use super::error::GitError;

/// The commits that some heads have and their base has not, each with its parents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Growth {
    parents: BTreeMap<Sha, Vec<Sha>>,
}

impl BareRepo {
    /// One process, however many heads there are; none for no heads.
    pub fn growth<'a>(
        &self,
        base: &Sha,
        heads: impl IntoIterator<Item = &'a Sha>,
    ) -> Result<Growth, GitError> {
        let mut input = String::new();
        for head in heads {
            input.push_str(head.as_str());
            input.push('\n');
        }
        if input.is_empty() {
            return Ok(Growth { parents: BTreeMap::new() });
        }
        input.push_str(&format!("^{base}\n"));
        let answer = self.call().args(["rev-list", "--parents", "--stdin"]).input(input).done()?;
        let mut parents = BTreeMap::new();
        for line in answer.text().lines() {
            let mut words = line.split_whitespace().map(|word| answer.parse_sha(word));
            let commit = words.next().unwrap_or_else(|| Err(answer.unusable("an empty line")))?;
            parents.insert(commit, words.collect::<Result<_, _>>()?);
        }
        Ok(Growth { parents })
    }
}

impl Growth {
    /// Whether the base has this head already.
    pub fn is_in_base(&self, head: &Sha) -> bool {
        !self.parents.contains_key(head)
    }

    /// Whether `head` is or holds `other`, which is not in the base.
    pub fn holds(&self, head: &Sha, other: &Sha) -> bool {
        self.walk(head).0.contains(other)
    }

    /// The one commit of the base that a head began at. `None` if there are several, or none: then git has to be asked.
    pub fn began_at<'a>(&'a self, head: &'a Sha) -> Option<&'a Sha> {
        let (_, roots) = self.walk(head);
        if roots.len() == 1 { roots.into_iter().next() } else { None }
    }

    /// The commits of a head, and those of the base right below them.
    fn walk<'a>(&'a self, head: &'a Sha) -> (BTreeSet<&'a Sha>, BTreeSet<&'a Sha>) {
        let (mut own, mut below) = (BTreeSet::new(), BTreeSet::new());
        let mut next = vec![head];
        while let Some(commit) = next.pop() {
            match self.parents.get(commit) {
                Some(parents) if own.insert(commit) => next.extend(parents),
                Some(_) => {}
                None => drop(below.insert(commit)),
            }
        }
        (own, below)
    }
}
