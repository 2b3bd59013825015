//! Git in memory, with git's own rules: commits name parents and a tree, a tree is paths and contents, ids follow from
//! the content.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use windlass_core::id::Sha;

use crate::queue_sim::dice::mix;

pub type Tree = BTreeMap<String, String>;

#[derive(Debug, Clone)]
pub struct Commit {
    pub parents: Vec<Sha>,
    pub tree: Sha,
    /// Longer histories have higher numbers; what is below an ancestor need not be looked at.
    generation: u32,
}

#[derive(Debug, Default)]
pub struct Git {
    commits: BTreeMap<Sha, Commit>,
    trees: BTreeMap<Sha, Arc<Tree>>,
    pub refs: BTreeMap<String, Sha>,
}

#[derive(Debug)]
pub enum Merged {
    Clean(Sha),
    Conflict(Vec<String>),
}

pub const MAIN: &str = "refs/heads/main";

impl Git {
    pub fn main(&self) -> Sha {
        self.refs.get(MAIN).cloned().expect("main is there from the start")
    }

    pub fn put_tree(&mut self, tree: Tree) -> Sha {
        let mut hash = Hash::new(1);
        for (path, content) in &tree {
            hash.add(path.as_bytes());
            hash.add(content.as_bytes());
        }
        let id = hash.sha();
        self.trees.entry(id.clone()).or_insert_with(|| Arc::new(tree));
        id
    }

    /// The same inputs make the same commit.
    pub fn commit(&mut self, tree: &Sha, parents: &[&Sha], text: &str, at: i64) -> Sha {
        let mut hash = Hash::new(2);
        hash.add(tree.as_str().as_bytes());
        for parent in parents {
            hash.add(parent.as_str().as_bytes());
        }
        hash.add(text.as_bytes());
        hash.add(&at.to_le_bytes());
        let id = hash.sha();
        let generation = parents.iter().map(|parent| self.get(parent).generation + 1).max().unwrap_or(0);
        let parents = parents.iter().map(|parent| (*parent).clone()).collect();
        self.commits.entry(id.clone()).or_insert(Commit { parents, tree: tree.clone(), generation });
        id
    }

    pub fn get(&self, commit: &Sha) -> &Commit {
        self.commits.get(commit).expect("only commits of ours are named")
    }

    pub fn tree_of(&self, commit: &Sha) -> Arc<Tree> {
        Arc::clone(&self.trees[&self.get(commit).tree])
    }

    pub fn tree(&self, tree: &Sha) -> Option<Arc<Tree>> {
        self.trees.get(tree).map(Arc::clone)
    }

    pub fn is_ancestor(&self, older: &Sha, newer: &Sha) -> bool {
        let floor = self.get(older).generation;
        let mut open = vec![newer];
        let mut seen = BTreeSet::new();
        while let Some(commit) = open.pop() {
            if commit == older {
                return true;
            }
            let found = self.get(commit);
            if found.generation > floor && seen.insert(commit) {
                open.extend(&found.parents);
            }
        }
        false
    }

    fn ancestors<'a>(&'a self, of: &'a Sha) -> BTreeSet<&'a Sha> {
        let mut open = vec![of];
        let mut seen = BTreeSet::new();
        while let Some(commit) = open.pop() {
            if seen.insert(commit) {
                open.extend(&self.get(commit).parents);
            }
        }
        seen
    }

    /// The youngest commit that both hold.
    pub fn merge_base(&self, a: &Sha, b: &Sha) -> Option<Sha> {
        let (left, right) = (self.ancestors(a), self.ancestors(b));
        let common = left.intersection(&right);
        common
            .max_by_key(|commit| (self.get(commit).generation, (**commit).clone()))
            .map(|found| (*found).clone())
    }

    /// Path by path: who changed it since the base wins; who both changed differently conflicts.
    pub fn merge(&mut self, ours: &Sha, theirs: &Sha) -> Merged {
        let base = self.merge_base(ours, theirs).map(|base| self.tree_of(&base)).unwrap_or_default();
        let (left, right) = (self.tree_of(ours), self.tree_of(theirs));
        let paths: BTreeSet<&String> = base.keys().chain(left.keys()).chain(right.keys()).collect();
        let (mut tree, mut conflicts) = (Tree::new(), Vec::new());
        for path in paths {
            let (old, ours, theirs) = (base.get(path), left.get(path), right.get(path));
            let merged = if ours == theirs || theirs == old {
                ours
            } else if ours == old {
                theirs
            } else {
                conflicts.push(path.clone());
                continue;
            };
            if let Some(content) = merged {
                tree.insert(path.clone(), content.clone());
            }
        }
        if conflicts.is_empty() { Merged::Clean(self.put_tree(tree)) } else { Merged::Conflict(conflicts) }
    }

    pub fn changed_paths(&self, from: &Sha, to: &Sha) -> BTreeSet<String> {
        let (old, new) = (self.tree_of(from), self.tree_of(to));
        let paths = old.keys().chain(new.keys());
        paths.filter(|path| old.get(*path) != new.get(*path)).cloned().collect()
    }
}

/// Enough to tell contents apart; nobody attacks a simulation.
struct Hash([u64; 3]);

impl Hash {
    fn new(kind: u64) -> Self {
        Self([mix(kind), mix(kind + 100), mix(kind + 200)])
    }

    fn add(&mut self, bytes: &[u8]) {
        let mut word = bytes.len() as u64;
        for chunk in bytes.chunks(8) {
            let mut padded = [0; 8];
            padded[..chunk.len()].copy_from_slice(chunk);
            word = mix(word ^ u64::from_le_bytes(padded));
        }
        let [a, b, c] = &mut self.0;
        *a = mix(*a ^ word);
        *b = mix(b.wrapping_add(word).rotate_left(23));
        *c = mix(c.rotate_left(41) ^ word.wrapping_mul(3));
    }

    fn sha(&self) -> Sha {
        let [a, b, c] = self.0;
        Sha::parse(&format!("{a:016x}{b:016x}{:08x}", c >> 32)).expect("forty hex digits")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[(&str, &str)]) -> Tree {
        files.iter().map(|(path, content)| ((*path).to_owned(), (*content).to_owned())).collect()
    }

    #[test]
    fn merges_go_path_by_path() {
        let mut git = Git::default();
        let root = git.put_tree(tree(&[("a", "1"), ("b", "1")]));
        let root = git.commit(&root, &[], "root", 0);
        let left = git.put_tree(tree(&[("a", "2"), ("b", "1"), ("c", "1")]));
        let left = git.commit(&left, &[&root], "left", 0);
        let right = git.put_tree(tree(&[("a", "1")]));
        let right = git.commit(&right, &[&root], "right", 0);
        let Merged::Clean(both) = git.merge(&left, &right) else { panic!("they touch different paths") };
        assert_eq!(*git.tree(&both).unwrap(), tree(&[("a", "2"), ("c", "1")]));
        let third = git.put_tree(tree(&[("a", "3"), ("b", "1")]));
        let third = git.commit(&third, &[&root], "third", 0);
        let Merged::Conflict(files) = git.merge(&left, &third) else { panic!("both changed it") };
        assert_eq!(files, ["a"]);
        assert_eq!(git.merge_base(&left, &third), Some(root.clone()));
        assert!(git.is_ancestor(&root, &left) && !git.is_ancestor(&left, &right));
    }
}
