//! The forge of the simulated world: issues with their whole history, comments under keys, changes, reviews.

use std::collections::{BTreeMap, BTreeSet};

use windlass_core::forge::{ChangeState, Issue};
use windlass_core::id::{ChangeNumber, EffectKey, IssueNumber, Sha};
use windlass_core::time::Millis;

use super::plan::Tick;

#[derive(Debug, Default)]
pub struct Forge {
    /// Every version of each issue, with the world's time of the change.
    issues: BTreeMap<IssueNumber, Vec<(Tick, Issue)>>,
    pub changed_at: Tick,
    pub comments: BTreeMap<IssueNumber, BTreeMap<EffectKey, String>>,
    pub changes: BTreeMap<ChangeNumber, Change>,
    pub reviews: BTreeSet<EffectKey>,
}

#[derive(Debug)]
pub struct Change {
    pub branch: String,
    pub head: Sha,
    pub state: ChangeState,
}

/// When something happens: in the world's time and by the machine's clock.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    pub tick: Tick,
    pub wall: Millis,
}

impl Forge {
    pub fn create(&mut self, when: Moment, number: IssueNumber, labels: Vec<String>, body: String) {
        let issue = Issue {
            number,
            title: format!("change {number}"),
            body,
            open: true,
            labels,
            author: "somebody".into(),
            created_at: when.wall,
            updated_at: when.wall,
            closed_at: None,
        };
        self.changed_at = when.tick;
        self.issues.insert(number, vec![(when.tick, issue)]);
    }

    pub fn issue(&self, number: IssueNumber) -> Option<&Issue> {
        self.issues.get(&number).and_then(|versions| versions.last()).map(|(_, issue)| issue)
    }

    pub fn all(&self) -> impl Iterator<Item = &Issue> {
        self.issues.values().filter_map(|versions| versions.last()).map(|(_, issue)| issue)
    }

    /// What changed since then, as the forge was at `tick`; least recently updated first.
    pub fn read(&self, since: Option<Millis>, tick: Tick) -> Vec<Issue> {
        let at = |versions: &Vec<(Tick, Issue)>| {
            versions.iter().rev().find(|(at, _)| *at <= tick).map(|(_, issue)| issue.clone())
        };
        let mut found: Vec<Issue> = self.issues.values().filter_map(at).collect();
        found.retain(|issue| since.is_none_or(|since| issue.updated_at >= since));
        found.sort_by_key(|issue| (issue.updated_at, issue.number));
        found
    }

    /// Changes an issue; what stays as it was is no change.
    pub fn edit(&mut self, when: Moment, number: IssueNumber, edit: impl FnOnce(&mut Issue)) {
        let Some(versions) = self.issues.get_mut(&number) else { return };
        let Some((_, last)) = versions.last() else { return };
        let mut issue = last.clone();
        edit(&mut issue);
        if issue != *last {
            issue.updated_at = when.wall;
            self.changed_at = when.tick;
            versions.push((when.tick, issue));
        }
    }

    pub fn close(&mut self, when: Moment, number: IssueNumber) {
        self.edit(when, number, |issue| {
            if issue.open {
                issue.open = false;
                issue.closed_at = Some(when.wall);
            }
        });
    }

    pub fn add_label(&mut self, when: Moment, number: IssueNumber, name: &str) {
        self.edit(when, number, |issue| {
            if !issue.has_label(name) {
                issue.labels.push(name.to_owned());
                issue.labels.sort();
            }
        });
    }

    pub fn remove_label(&mut self, when: Moment, number: IssueNumber, name: &str) {
        self.edit(when, number, |issue| issue.labels.retain(|label| label != name));
    }

    /// Whether it is new: the same key is the same comment.
    pub fn comment(&mut self, number: IssueNumber, key: &EffectKey, text: &str) -> bool {
        self.comments.entry(number).or_default().insert(key.clone(), text.to_owned()).is_none()
    }

    pub fn open_change_of(&self, branch: &str) -> Option<ChangeNumber> {
        let open = |change: &Change| change.branch == branch && change.state == ChangeState::Open;
        self.changes.iter().find(|(_, change)| open(change)).map(|(number, _)| *number)
    }

    pub fn open_change(&mut self, branch: &str, head: &Sha) -> ChangeNumber {
        let number = ChangeNumber(1 + self.changes.len() as u64);
        let change = Change { branch: branch.to_owned(), head: head.clone(), state: ChangeState::Open };
        self.changes.insert(number, change);
        number
    }
}
