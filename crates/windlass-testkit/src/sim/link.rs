//! Answers the queue's questions to git: how main stands, and what entries are on top of it.

use std::collections::BTreeSet;

use windlass_core::id::{Sha, TaskId};
use windlass_core::message;
use windlass_core::queue::{Change, History, Link, Stand};
use windlass_engine::{Chained, MainMoved, Question, Stack, Wanted};

use super::git::Merged;
use super::world::World;

enum Merge {
    Clean(Sha),
    Contained,
    Conflict { files: Vec<String> },
}

impl World {
    pub fn link(&mut self, question: &Question) -> Chained {
        let main = self.git.main();
        let moved = match &question.known {
            None => MainMoved::Not,
            Some(known) if *known == main => MainMoved::Not,
            Some(known) if self.git.is_ancestor(known, &main) => MainMoved::Outside,
            Some(_) => MainMoved::Rewritten,
        };
        let base = match question.base.as_ref().filter(|_| question.known.as_ref() == Some(&main)) {
            Some(base) => base.clone(),
            None => (main.clone(), self.git.get(&main).tree.clone()),
        };
        let stacks = question.wanted.iter().map(|wanted| self.stack(&base.0, wanted)).collect();
        Chained { main, base, moved, stacks }
    }

    fn stack(&mut self, main: &Sha, wanted: &Wanted) -> Stack {
        let mut stack = Stack { links: Vec::new(), left_out: Vec::new(), verdict: wanted.verdict };
        let mut tip = main.clone();
        for (task, change, since) in &wanted.entries {
            match self.merge_change(&tip, change) {
                Merge::Clean(tree) => {
                    let text = message::merge_commit(task, &change.head);
                    tip = self.git.commit(&tree, &[&tip, &change.head], &text, since.0);
                    stack.links.push(Link {
                        change: change.clone(),
                        candidate: tip.clone(),
                        tree,
                        history: History::Merge,
                    });
                }
                Merge::Contained if stack.links.is_empty() => {
                    stack.left_out.push((change.clone(), Stand::Contained));
                }
                Merge::Conflict { files } if stack.links.is_empty() => {
                    stack.left_out.push((change.clone(), Stand::Conflict { files, commits: Vec::new() }));
                }
                Merge::Contained | Merge::Conflict { .. } => {
                    let stand = self.alone(main, change, &stack.links);
                    stack.left_out.push((change.clone(), stand));
                }
            }
        }
        stack
    }

    fn alone(&mut self, main: &Sha, change: &Change, before: &[Link]) -> Stand {
        match self.merge_change(main, change) {
            Merge::Clean(_) => {
                let by: BTreeSet<TaskId> = before.iter().map(|link| link.change.task.clone()).collect();
                Stand::Held { by }
            }
            Merge::Contained => Stand::Contained,
            Merge::Conflict { files } => Stand::Conflict { files, commits: Vec::new() },
        }
    }

    fn merge_change(&mut self, tip: &Sha, change: &Change) -> Merge {
        if self.git.is_ancestor(&change.head, tip) {
            return Merge::Contained;
        }
        match self.git.merge(tip, &change.head) {
            Merged::Clean(tree) => Merge::Clean(tree),
            Merged::Conflict(files) => Merge::Conflict { files },
        }
    }
}
