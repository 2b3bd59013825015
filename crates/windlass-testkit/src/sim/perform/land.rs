//! The one act that moves main: every check again, then a compare-and-swap.

use std::collections::BTreeSet;

use windlass_core::build::TreeResult;
use windlass_core::id::{IssueNumber, Sha};
use windlass_core::message;
use windlass_core::queue::Link;
use windlass_core::task::State;
use windlass_core::time::Millis;
use windlass_engine::{Landing, Order, Report};
use windlass_store::Store;

use super::{Fault, Hands};
use crate::sim::git::MAIN;
use crate::sim::probe::sometimes;
use crate::sim::rules::Rule;
use crate::sim::world::World;

impl World {
    pub(super) fn land(
        &mut self,
        hands: Hands<'_>,
        order: &Order,
        links: &[Link],
        expected: &Sha,
        at: Millis,
    ) -> Result<Report, Fault> {
        self.step()?;
        let Some(last) = links.last() else {
            self.complain(Rule::Tested, "nothing was to land");
            return Ok(landing(refused("there is nothing to land")));
        };
        let recipe = self.settings.recipe();
        let Some(verdict) = hands.store.verdict(&last.tree, &recipe)? else {
            self.complain(Rule::Tested, format!("{} was to land and has no verdict", last.candidate));
            return Ok(landing(refused("a tree without a verdict was to land")));
        };
        let commit = self.compose(links, last, expected, at);
        self.step()?;
        let landed = Landing::Landed { commit: commit.clone(), build: verdict.build };
        let main = self.git.main();
        if main == commit || (main != *expected && self.git.is_ancestor(&commit, &main)) {
            sometimes!(self, "a landing was found done after a crash");
            return Ok(Report { adopted: true, ..landing(landed) });
        }
        if main != *expected {
            sometimes!(self, "a landing came too late");
            return Ok(landing(Landing::Stale));
        }
        if verdict.result != TreeResult::Pass {
            return Ok(landing(refused("a tree whose tests fail was to land")));
        }
        for link in links {
            let found = hands.store.task(&link.change.task)?;
            let approved = found.is_some_and(
                |task| matches!(&task.value.state, State::Queued { head, .. } if *head == link.change.head),
            );
            if !approved {
                return Ok(landing(Landing::Stale));
            }
        }
        self.check_candidate(links, expected, &commit);
        self.git.refs.insert(MAIN.to_owned(), commit.clone());
        self.act(&order.key, "main was moved");
        self.main_moved_by_us(links, expected, &commit);
        self.step()?;
        Ok(landing(landed))
    }

    /// The commit that main becomes: the tested tree on the main before.
    fn compose(&mut self, links: &[Link], last: &Link, expected: &Sha, at: Millis) -> Sha {
        if links.len() == 1 && self.git.get(&last.candidate).parents.first() == Some(expected) {
            return last.candidate.clone();
        }
        let issues: Vec<IssueNumber> = links.iter().filter_map(|link| link.change.task.issue()).collect();
        self.git.commit(&last.tree, &[expected, &last.candidate], &message::merge_several(&issues), at.0)
    }

    /// What the real landing refuses, the heart must never ask for.
    fn check_candidate(&mut self, links: &[Link], expected: &Sha, commit: &Sha) {
        let mut below: Option<&Sha> = None;
        for link in links {
            let candidate = self.git.get(&link.candidate).clone();
            let built = match (below, candidate.parents.as_slice()) {
                (Some(below), [first, head]) => first == below && *head == link.change.head,
                (None, [first, head]) => *head == link.change.head && self.speaks_for(first, expected),
                (_, _) => false,
            };
            if candidate.tree != link.tree || !built {
                let what = format!("{} is not the approved head on the expected main", link.candidate);
                self.complain(Rule::FromTested, what);
            }
            below = Some(&link.candidate);
        }
        let ours = self.git.changed_paths(expected, commit);
        let mut theirs = BTreeSet::new();
        for link in links {
            if let Some(base) = self.git.merge_base(expected, &link.change.head) {
                theirs.extend(self.git.changed_paths(&base, &link.change.head));
            }
        }
        if let Some(path) = ours.difference(&theirs).next() {
            self.complain(Rule::Paths, format!("{commit} touches `{path}`, which no change in it does"));
        }
    }

    fn speaks_for(&self, base: &Sha, main: &Sha) -> bool {
        let same_tree = self.git.get(base).tree == self.git.get(main).tree;
        base == main || (same_tree && self.git.is_ancestor(base, main))
    }
}

fn refused(why: &str) -> Landing {
    Landing::Refused { task: None, why: why.to_owned() }
}

fn landing(landing: Landing) -> Report {
    Report { landing: Some(landing), ..Report::default() }
}
