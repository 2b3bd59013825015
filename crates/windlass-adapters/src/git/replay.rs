//! Puts a change's commits on another base, in the object database alone.

use windlass_core::id::Sha;
use windlass_core::time::Millis;

use super::bare::BareRepo;
use super::error::GitError;
use super::merge::{Merged, date};

/// More commits than this are not put one by one.
const MAX_COMMITS: usize = 200;
const FORMAT: &str = "--format=%H%x1f%T%x1f%P%x1f%an%x1f%ae%x1f%ad%x1f%s%x1f%B";

/// A commit with all that survives when it is put elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    pub id: Sha,
    pub tree: Sha,
    pub parents: Vec<Sha>,
    pub author: Author,
    pub subject: String,
    pub message: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Author {
    pub name: String,
    pub email: String,
    /// Seconds and zone, as git keeps it.
    pub date: String,
}

/// What came of putting commits elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Replayed {
    Clean {
        tip: Sha,
        tree: Sha,
    },
    /// There is a merge among them, one conflicts, nothing would be left, or there are too many.
    NotPossible,
}

impl BareRepo {
    /// The commits that `head` has and `base` has not, oldest first. One process.
    pub fn commits(&self, base: &Sha, head: &Sha) -> Result<Vec<Commit>, GitError> {
        let answer = self
            .call()
            .args(["log", "-z", "--reverse", "--topo-order", "--no-color", "--date=raw", FORMAT])
            .arg(format!("{base}..{head}"))
            .done()?;
        let commit = |text: String| {
            let parts: Vec<&str> = text.splitn(8, '\u{1f}').collect();
            let [id, tree, parents, name, email, date, subject, message] = parts.as_slice() else {
                return Err(answer.unusable("a commit with missing parts"));
            };
            let parents = parents.split_whitespace().map(|parent| answer.parse_sha(parent));
            Ok(Commit {
                id: answer.parse_sha(id)?,
                tree: answer.parse_sha(tree)?,
                parents: parents.collect::<Result<_, _>>()?,
                author: Author { name: known(name), email: known(email), date: (*date).to_owned() },
                subject: (*subject).to_owned(),
                message: (*message).to_owned(),
            })
        };
        answer.parts().into_iter().map(commit).collect()
    }

    /// Puts `commits` on `onto`, each with its author and what `message` makes of its message. The same arguments
    /// give the same commits. A commit that `onto` has already falls away. One process a commit, five where it must be merged.
    pub fn replay(
        &self,
        commits: &[Commit],
        onto: &Sha,
        at: Millis,
        message: impl Fn(&Commit) -> String,
    ) -> Result<Replayed, GitError> {
        let Some(below) = commits.first().filter(|_| commits.len() <= MAX_COMMITS) else {
            return Ok(Replayed::NotPossible);
        };
        let [below] = below.parents.as_slice() else { return Ok(Replayed::NotPossible) };
        let mut parent = (below.clone(), self.tree_of(below)?);
        let (mut tip, mut tree) = (onto.clone(), self.tree_of(onto)?);
        for commit in commits {
            if commit.parents != [parent.0.clone()] {
                return Ok(Replayed::NotPossible);
            }
            let Merged::Clean { tree: next } = self.transplant(&parent.1, &commit.tree, &tree)? else {
                return Ok(Replayed::NotPossible);
            };
            let falls_away = next == tree && commit.tree != parent.1;
            if !falls_away {
                tip = self.commit_as(&next, &[&tip], &message(commit), &commit.author, at)?;
            }
            tree = next;
            parent = (commit.id.clone(), commit.tree.clone());
        }
        Ok(if tip == *onto { Replayed::NotPossible } else { Replayed::Clean { tip, tree } })
    }

    /// What the step from one tree to another makes of a third. Git 2.39 takes no merge base, so it gets three
    /// commits whose history says it.
    fn transplant(&self, from: &Sha, to: &Sha, onto: &Sha) -> Result<Merged, GitError> {
        if from == onto {
            return Ok(Merged::Clean { tree: to.clone() });
        }
        let made = |tree: &Sha, parents: &[&Sha]| self.commit_tree(tree, parents, "", Millis(0));
        let base = made(from, &[])?;
        self.merge_tree(&made(onto, &[&base])?, &made(to, &[&base])?)
    }

    fn commit_as(
        &self,
        tree: &Sha,
        parents: &[&Sha],
        message: &str,
        author: &Author,
        at: Millis,
    ) -> Result<Sha, GitError> {
        let mut call = self
            .call()
            .env("GIT_AUTHOR_NAME", &author.name)
            .env("GIT_AUTHOR_EMAIL", &author.email)
            .env("GIT_AUTHOR_DATE", &author.date)
            .env("GIT_COMMITTER_DATE", date(at))
            .args(["commit-tree", tree.as_str()]);
        for parent in parents {
            call = call.args(["-p", parent.as_str()]);
        }
        call.args(["-F", "-"]).input(message).done()?.sha()
    }
}

/// Git refuses to write an empty name, but not to have one.
fn known(name: &str) -> String {
    let name = name.trim();
    if name.is_empty() { "unknown".to_owned() } else { name.to_owned() }
}
