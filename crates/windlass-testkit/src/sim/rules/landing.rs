//! What must hold whenever we move main.

use windlass_core::id::Sha;
use windlass_core::queue::Link;
use windlass_core::task::State;

use super::Rule;
use crate::sim::probe::sometimes;
use crate::sim::world::World;

/// So often an entry may be overtaken: two parkings, the halving of its suspects, and its confirmation.
const MAX_OVERTAKEN: u32 = 12;

impl World {
    pub fn main_moved_by_us(&mut self, links: &[Link], from: &Sha, commit: &Sha) {
        let tree = self.git.get(commit).tree.clone();
        if !self.seen.green.contains(&tree) {
            self.complain(Rule::Tested, format!("{commit} lands and its tree never passed"));
        }
        let lost = self.seen.external.iter().find(|theirs| !self.git.is_ancestor(theirs, commit)).cloned();
        if let Some(lost) = lost {
            self.complain(Rule::OthersKept, format!("{commit} does not hold {lost}, which others pushed"));
        }
        for link in links {
            let change = (link.change.task.clone(), link.change.head.clone());
            if !self.seen.approved.contains(&change) {
                self.complain(Rule::Approved, format!("{} lands and no critic approved it", change.1));
            }
            let before = self.seen.landed.insert(change, commit.clone());
            if before.is_some_and(|before| self.git.is_ancestor(&before, from)) {
                self.complain(Rule::Once, format!("{} lands again", link.change.task));
            }
        }
        if links.len() > 1 {
            sometimes!(self, "several changes landed as one");
        }
        self.count_overtaken(links);
        self.probe_red(links);
        self.seen.mains.push(commit.clone());
    }

    fn count_overtaken(&mut self, links: &[Link]) {
        let landed: Vec<_> = links.iter().map(|link| &link.change.task).collect();
        let youngest =
            landed.iter().filter_map(|task| self.seen.tasks.get(*task)).map(|task| task.since).max();
        let older = self.seen.tasks.values().filter(|task| {
            matches!(task.state, State::Queued { .. })
                && youngest.is_some_and(|youngest| task.since < youngest)
                && !landed.contains(&&task.id)
        });
        let older: Vec<_> = older.map(|task| task.id.clone()).collect();
        for task in older {
            let times = self.seen.overtaken.entry(task.clone()).or_default();
            *times += 1;
            let times = *times;
            if times > MAX_OVERTAKEN {
                self.complain(Rule::InTurn, format!("{task} was overtaken {times} times"));
            }
        }
    }

    /// A red test below a green one, or a red one that its members survived: chance, or the others' doing.
    fn probe_red(&mut self, links: &[Link]) {
        use windlass_core::build::BuildOutcome::Failed;
        let red =
            |id: &windlass_core::id::BuildId| matches!(self.seen.results.get(id), Some(Some(Failed { .. })));
        let trees: Vec<&Sha> = links.iter().map(|link| &link.tree).collect();
        let below = self.runs.iter().any(|(id, run)| trees.contains(&&run.tree) && red(id));
        if below {
            sometimes!(self, "landed over a red test");
        }
        let flaky = |id: &windlass_core::id::BuildId| match self.seen.results.get(id) {
            Some(Some(Failed { failing, .. })) => failing.iter().all(|name| name.starts_with("flaky")),
            _ => false,
        };
        if self.runs.iter().any(|(id, run)| trees.contains(&&run.tree) && flaky(id)) {
            sometimes!(self, "a flake was found out");
        }
    }
}
