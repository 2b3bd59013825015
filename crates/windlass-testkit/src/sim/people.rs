//! People: they bring issues, answer questions, give commands, push to main and let a stopped queue go on.

use windlass_core::command::Command;
use windlass_core::id::IssueNumber;
use windlass_engine::Cause;
use windlass_store::{SqliteStore, Store};

use super::ci;
use super::git::{MAIN, Merged, Tree};
use super::plan::{Deed, MINUTE, Mishap, PushKind, SECOND};
use super::world::{Happening, World};

/// Whoever asks more often than this gets no answer.
const MAX_ANSWERS: u32 = 3;

impl World {
    pub fn arrive(&mut self, nth: usize) {
        let issue = self.plan.issues[nth].clone();
        let needs: Vec<String> = issue.depends_on.iter().map(|on| format!("depends on {on}")).collect();
        let when = self.moment();
        self.forge.create(when, issue.number, issue.labels, needs.join("\n"));
        self.trace.note(self.now, || format!("issue {} arrives", issue.number));
        self.knock();
    }

    /// Touches the wake file.
    pub fn knock(&mut self) {
        let daemons: Vec<u32> = self.daemons.keys().copied().collect();
        for daemon in daemons {
            self.tell(daemon, 5, || Cause::Knock);
        }
    }

    /// A question on the forge gets an answer, unless nobody is there.
    pub fn read_by_people(&mut self, issue: IssueNumber, text: &str) {
        if !text.starts_with("**Needs you.**") {
            return;
        }
        let silent = self
            .plan
            .mishaps
            .iter()
            .any(|mishap| matches!(mishap, Mishap::Silence { issue: planned } if *planned == issue));
        let answers = self.answers.entry(issue).or_default();
        *answers += 1;
        let nth = *answers;
        if silent || nth > MAX_ANSWERS {
            return;
        }
        let wait = self.between("answer", issue.0 * 100 + u64::from(nth), 5 * MINUTE, 45 * MINUTE);
        self.after(wait, Happening::Deed(Deed::Tell(issue)));
    }

    /// Somebody looks after a queue that stands.
    pub fn queue_stands(&mut self) {
        let wait = self.between("resume", self.now.cast_unsigned(), 2 * MINUTE, 20 * MINUTE);
        if !ci::failing(&self.git.tree_of(&self.git.main())).is_empty() {
            self.after(wait, Happening::Deed(Deed::MendMain));
        }
        self.after(wait + SECOND, Happening::Deed(Deed::Resume));
    }

    pub fn deed(&mut self, store: &SqliteStore, deed: &Deed) {
        self.trace.note(self.now, || format!("person: {deed:?}"));
        let when = self.moment();
        let command = match deed {
            Deed::Tell(issue) => Command::Tell { issue: *issue, text: "blue".into() },
            Deed::Retry(issue) => Command::Retry { issue: *issue },
            Deed::Abandon(issue) => Command::Abandon { issue: *issue },
            Deed::Pause => {
                let wait = self.between("pause", self.now.cast_unsigned(), 5 * MINUTE, 50 * MINUTE);
                self.after(wait, Happening::Deed(Deed::Resume));
                Command::Pause { reason: None }
            }
            Deed::Resume => Command::Resume,
            Deed::LabelAbandon(issue) => return self.forge.add_label(when, *issue, "loop:abandon"),
            Deed::Close(issue) => return self.forge.close(when, *issue),
            Deed::Edit(issue) => return self.forge.edit(when, *issue, |issue| issue.body.push_str("\nmore")),
            Deed::Push(kind) => return self.push(*kind),
            Deed::ResetMain => return self.reset_main(),
            Deed::MendMain => return self.mend_main(),
        };
        match store.post_command(&command, "a person", when.wall) {
            Ok(_) => self.knock(),
            // The disk is full: the person tries again.
            Err(_) => self.after(2 * MINUTE, Happening::Deed(deed.clone())),
        }
    }

    fn push(&mut self, kind: PushKind) {
        if kind == PushKind::Branch {
            return self.merge_by_hand();
        }
        let mut tree = (*self.git.tree_of(&self.git.main())).clone();
        let (path, content) = match kind {
            PushKind::Own => ("theirs".to_owned(), format!("at {}", self.now)),
            PushKind::Shared => ("shared".to_owned(), format!("somebody at {}", self.now)),
            PushKind::Breaking | PushKind::Branch => ("broken".to_owned(), "bad".to_owned()),
        };
        tree.insert(path, content);
        self.push_tree(tree);
    }

    /// Somebody does not wait for the queue.
    fn merge_by_hand(&mut self) {
        let main = self.git.main();
        let branches = self.git.refs.iter().filter(|(name, _)| name.starts_with("refs/heads/issue-"));
        let heads = branches.map(|(_, head)| head.clone()).collect::<Vec<_>>();
        let Some(head) = heads.into_iter().find(|head| !self.git.is_ancestor(head, &main)) else { return };
        if let Merged::Clean(tree) = self.git.merge(&main, &head) {
            let merged = self.git.commit(&tree, &[&main, &head], "merged by hand", self.now);
            self.git.refs.insert(MAIN.to_owned(), merged.clone());
            self.seen.main_moved_by_others(merged);
        }
    }

    fn mend_main(&mut self) {
        let mut tree = (*self.git.tree_of(&self.git.main())).clone();
        for content in tree.values_mut().filter(|content| content.starts_with("bad")) {
            *content = format!("mended at {}", self.now);
        }
        if ci::failing(&tree).iter().any(|name| name.contains("halves")) {
            tree.insert("left".into(), "whole".into());
        }
        self.push_tree(tree);
    }

    fn push_tree(&mut self, tree: Tree) {
        let main = self.git.main();
        let tree = self.git.put_tree(tree);
        if tree == self.git.get(&main).tree {
            return;
        }
        let pushed = self.git.commit(&tree, &[&main], "pushed by hand", self.now);
        self.git.refs.insert(MAIN.to_owned(), pushed.clone());
        self.seen.main_moved_by_others(pushed);
    }

    fn reset_main(&mut self) {
        let main = self.git.main();
        let Some(before) = self.git.get(&main).parents.first().cloned() else { return };
        self.git.refs.insert(MAIN.to_owned(), before.clone());
        let kept = |commit: &windlass_core::id::Sha| self.git.is_ancestor(commit, &before);
        let lost: Vec<_> = self.seen.external.iter().filter(|commit| !kept(commit)).cloned().collect();
        self.seen.main_reset(before, &lost);
    }
}
