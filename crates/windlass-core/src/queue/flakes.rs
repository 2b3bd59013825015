//! The ledger of tests that failed without a reason.

use std::collections::{BTreeMap, VecDeque};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::Sha;
use crate::time::Millis;

/// Tests that are remembered; of more, those that were not seen for longest go.
const MAX_TESTS: usize = 500;
/// Trees whose failures are known to be counted: those of the tests that the queue still looks at.
const MAX_TREES: usize = 256;

/// Tests that were seen to fail on a tree, or with changes, that pass.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Flakes {
    tests: BTreeMap<String, Flake>,
    counted: VecDeque<Sha>,
}

/// What is known of one test that fails without a reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Flake {
    pub count: u32,
    pub first: Millis,
    pub last: Millis,
    /// The tree that it last failed on.
    pub tree: Sha,
}

impl Flakes {
    pub fn contains(&self, test: &str) -> bool {
        self.tests.contains_key(test)
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tests.keys().map(String::as_str)
    }

    pub fn tests(&self) -> &BTreeMap<String, Flake> {
        &self.tests
    }

    /// These failed on `tree` without a reason. The same tree is counted once, however often it is looked at.
    pub fn note(&mut self, tree: &Sha, failing: &[String], at: Millis) {
        if self.counted.contains(tree) {
            return;
        }
        if self.counted.len() == MAX_TREES {
            self.counted.pop_front();
        }
        self.counted.push_back(tree.clone());
        for name in failing {
            let fresh = || Flake { count: 0, first: at, last: at, tree: tree.clone() };
            let flake = self.tests.entry(name.clone()).or_insert_with(fresh);
            flake.count = flake.count.saturating_add(1);
            flake.last = at;
            flake.tree = tree.clone();
        }
        while self.tests.len() > MAX_TESTS {
            let oldest = self.tests.iter().min_by_key(|(_, flake)| flake.last).map(|(name, _)| name.clone());
            oldest.and_then(|name| self.tests.remove(&name));
        }
    }
}
