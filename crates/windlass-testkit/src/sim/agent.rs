//! What dev agents do in their turns: good work, bad work, lies, silence and death.

use windlass_adapters::shim::End;
use windlass_core::id::{IssueNumber, SessionId, Sha};

use super::git::{Merged, Tree};
use super::plan::{Half, MINUTE, Mishap, SECOND, TurnKind};
use super::session::SessionStep;
use super::world::World;

/// What one turn costs.
const TURN_USD: f64 = 0.05;
/// More than a task may use.
const FORTUNE_USD: f64 = 9.0;

impl World {
    pub fn begin_turn(&mut self, name: &SessionId, text: &str) {
        let issue = self.sessions[name].issue;
        let nth = self.counts.turns.entry(issue).or_default();
        *nth += 1;
        let nth = *nth;
        let kind = self.mishap(|mishap| match mishap {
            Mishap::Turn { issue: planned, nth: at, how } if (*planned, *at) == (issue, nth) => Some(*how),
            _ => None,
        });
        let kind = kind.unwrap_or(TurnKind::Good);
        if text.starts_with("Your change passed alone") {
            self.seen.told_of_gate.insert(issue);
        }
        let length = self.between(name.as_str(), u64::from(nth), 30 * SECOND, 9 * MINUTE);
        match kind {
            TurnKind::Hangs => {
                let now = self.now;
                self.note(|| format!("{name} falls silent"));
                self.sessions.get_mut(name).expect("it lives").quiet_since = Some(now);
            }
            TurnKind::Good
            | TurnKind::Bad
            | TurnKind::Lie
            | TurnKind::Silent
            | TurnKind::Mumble
            | TurnKind::Dies { .. }
            | TurnKind::DiesAfter { .. }
            | TurnKind::Vanishes
            | TurnKind::Asks
            | TurnKind::Refuses
            | TurnKind::GivesUp
            | TurnKind::Spends
            | TurnKind::GoesOn
            | TurnKind::Rewrites => {
                self.then(name, length / 2, SessionStep::Work(kind));
                self.then(name, length * 3 / 4, SessionStep::Signal(kind));
                if kind == TurnKind::GoesOn {
                    self.then(name, length, SessionStep::Work(TurnKind::Good));
                    self.then(name, length + 40 * SECOND, SessionStep::Signal(TurnKind::Good));
                    self.then(name, length + MINUTE, SessionStep::EndTurn(kind));
                } else if matches!(kind, TurnKind::DiesAfter { .. }) {
                    self.then(name, length * 3 / 4 + SECOND / 5, SessionStep::EndTurn(kind));
                } else {
                    self.then(name, length, SessionStep::EndTurn(kind));
                }
            }
        }
    }

    /// Writes files and commits them, as far as this kind of turn does.
    pub fn work(&mut self, name: &SessionId, kind: TurnKind) {
        let session = &self.sessions[name];
        let (task, issue) = (session.task.clone(), session.issue);
        if !self.workspaces.contains_key(&task) {
            return self.turn_over(name, End::Exit(126));
        }
        match kind {
            TurnKind::Good | TurnKind::GoesOn | TurnKind::Spends | TurnKind::DiesAfter { .. } => {
                self.commit_work(name, issue, Quality::Good)
            }
            TurnKind::Bad => self.commit_work(name, issue, Quality::Bad),
            TurnKind::Dies { worked: true, .. } => self.commit_work(name, issue, Quality::Good),
            TurnKind::Rewrites => {
                let tree = self.git.put_tree(Tree::from([("other".to_owned(), "history".to_owned())]));
                let head = self.git.commit(&tree, &[], "from scratch", self.now);
                self.workspaces.get_mut(&task).expect("looked up above").head = head;
            }
            TurnKind::Vanishes => self.workspaces.get_mut(&task).expect("looked up above").dirty = true,
            TurnKind::Dies { worked: false, .. }
            | TurnKind::Lie
            | TurnKind::Silent
            | TurnKind::Mumble
            | TurnKind::Hangs
            | TurnKind::Asks
            | TurnKind::Refuses
            | TurnKind::GivesUp => {}
        }
    }

    /// Takes main in and adds work of its own on top.
    fn commit_work(&mut self, name: &SessionId, issue: IssueNumber, quality: Quality) {
        let task = self.sessions[name].task.clone();
        let (head, main) = (self.workspaces[&task].head.clone(), self.git.main());
        let mut parents = vec![head.clone()];
        let mut tree = (*self.git.tree_of(&head)).clone();
        let fresh = self.dice(name.as_str(), self.now.cast_unsigned()).below(3) > 0;
        if fresh && !self.git.is_ancestor(&main, &head) {
            tree = self.taken_in(&head, &main);
            parents.push(main);
        }
        let version = self.seen.versions.entry(issue).or_default();
        *version += 1;
        let version = *version;
        let word = match quality {
            Quality::Good => "good",
            Quality::Bad => "bad",
        };
        tree.insert(format!("src/{}", issue.0), format!("{word} {version}"));
        let plan = self.plan.issues.iter().find(|plan| plan.number == issue).cloned();
        if let Some(plan) = plan {
            if plan.shared {
                tree.insert("shared".into(), format!("{issue} {version}"));
            }
            // Who was told at the gate makes its half fit.
            let half = plan.half.filter(|_| !self.seen.told_of_gate.contains(&issue));
            match (half, plan.half) {
                (Some(Half::Left), _) => drop(tree.insert("left".into(), "half".into())),
                (Some(Half::Right), _) => drop(tree.insert("right".into(), "half".into())),
                (None, Some(Half::Left)) => drop(tree.insert("left".into(), "whole".into())),
                (None, Some(Half::Right)) => drop(tree.insert("right".into(), "whole".into())),
                (None, None) => {}
            }
        }
        let tree = self.git.put_tree(tree);
        let parents: Vec<&Sha> = parents.iter().collect();
        let head = self.git.commit(&tree, &parents, &format!("work on {issue}"), self.now);
        self.workspaces.get_mut(&task).expect("looked up by the caller").head = head;
    }

    /// Main merged into the work; where both changed a file, main's is taken and written over later.
    fn taken_in(&mut self, head: &Sha, main: &Sha) -> Tree {
        match self.git.merge(head, main) {
            Merged::Clean(tree) => (*self.git.tree(&tree).expect("just made")).clone(),
            Merged::Conflict(_) => {
                let mut tree = (*self.git.tree_of(head)).clone();
                tree.extend((*self.git.tree_of(main)).clone());
                tree
            }
        }
    }

    pub fn signal(&mut self, name: &SessionId, kind: TurnKind) {
        let text = match kind {
            TurnKind::Good
            | TurnKind::Bad
            | TurnKind::GoesOn
            | TurnKind::Spends
            | TurnKind::Rewrites
            | TurnKind::DiesAfter { .. } => "PHASE:awaiting_ci",
            TurnKind::Lie => "PHASE:done",
            TurnKind::Mumble => "i am nearly there",
            TurnKind::Asks => "PHASE:escalate\nReason: which colour?",
            TurnKind::Refuses => "PHASE:failed\nReason: refused: too_large",
            TurnKind::GivesUp => "PHASE:failed\nReason: it cannot be done",
            TurnKind::Silent | TurnKind::Dies { .. } | TurnKind::Vanishes | TurnKind::Hangs => return,
        };
        let session = self.sessions.get_mut(name).expect("it lives");
        let writes = session.phase.as_ref().map_or(0, |(writes, _)| *writes);
        session.phase = Some((writes + 1, text.to_owned()));
        self.stir(name);
    }

    pub fn end_turn(&mut self, name: &SessionId, kind: TurnKind) {
        let end = match kind {
            TurnKind::Dies { code, .. } | TurnKind::DiesAfter { code } => End::Exit(code),
            TurnKind::Vanishes => return self.vanish(name),
            TurnKind::Spends => self.result(name, FORTUNE_USD),
            TurnKind::Good
            | TurnKind::Bad
            | TurnKind::Lie
            | TurnKind::Silent
            | TurnKind::Mumble
            | TurnKind::Hangs
            | TurnKind::Asks
            | TurnKind::Refuses
            | TurnKind::GivesUp
            | TurnKind::GoesOn
            | TurnKind::Rewrites => self.result(name, TURN_USD),
        };
        self.turn_over(name, end);
    }
}

#[derive(Debug, Clone, Copy)]
enum Quality {
    Good,
    Bad,
}
