//! Candidates, and questions about history.

use std::collections::BTreeSet;

use windlass_adapters::git::{Expect, GitError, Merged, Swap};
use windlass_core::id::Sha;
use windlass_core::time::Millis;

use crate::support::{AT, World, git};

#[test]
fn a_merge_is_clean_or_a_conflict_or_could_not_run() {
    let world = World::new();
    let (repo, base) = (&world.repo, world.main());
    let ours = world.commit(&base, &[("a.txt", "one\nOURS\nthree\n"), ("new.txt", "n")]);
    let theirs = world.commit(&base, &[("a.txt", "one\nTHEIRS\nthree\n")]);
    let apart = world.commit(&base, &[("src/b.txt", "changed\n")]);
    let Merged::Clean { tree } = repo.merge_tree(&ours, &apart).unwrap() else { panic!("no clean merge") };
    let candidate = repo.commit_tree(&tree, &[&ours, &apart], "merge", AT).unwrap();
    assert_eq!(repo.changed_paths(&base, &candidate).unwrap(), names(&["a.txt", "new.txt", "src/b.txt"]));
    assert_eq!(repo.merge_tree(&ours, &theirs).unwrap(), Merged::Conflict { files: names(&["a.txt"]) });
    let nobody = Sha::parse(&"2".repeat(40)).unwrap();
    assert!(matches!(repo.merge_tree(&ours, &nobody), Err(GitError::Failed { .. })));
}

#[test]
fn regression_a_merge_looks_at_commits_and_never_at_what_is_checked_out() {
    let world = World::new();
    let (repo, base) = (&world.repo, world.main());
    let change = world.commit(&base, &[("new.txt", "n")]);
    let other = world.commit(&base, &[("other.txt", "o")]);
    // Another worktree's branch is checked out, here as what the bare repository itself is on.
    assert_eq!(repo.update_ref("refs/heads/other", &other, Expect::Absent).unwrap(), Swap::Done);
    git(repo.path(), &["symbolic-ref", "HEAD", "refs/heads/other"]);
    let Merged::Clean { tree } = repo.merge_tree(&base, &change).unwrap() else { panic!("no clean merge") };
    let candidate = repo.commit_tree(&tree, &[&base, &change], "merge", AT).unwrap();
    assert_eq!(repo.land("main", &base, &candidate).unwrap(), Swap::Done);
    assert_eq!(repo.resolve("refs/heads/other").unwrap(), Some(other));
    assert_eq!(
        (world.main(), repo.changed_paths(&base, &candidate).unwrap()),
        (candidate, names(&["new.txt"]))
    );
}

#[test]
fn the_same_commit_has_the_same_id_at_any_time() {
    let world = World::new();
    let (repo, base) = (&world.repo, world.main());
    let tree = repo.tree_of(&base).unwrap();
    let message = "subject\n\nbody with -m \"quotes\" and\n\nmore\n";
    let first = repo.commit_tree(&tree, &[&base], message, AT).unwrap();
    assert_eq!(repo.commit_tree(&tree, &[&base], message, AT).unwrap(), first);
    assert_ne!(repo.commit_tree(&tree, &[&base], message, Millis(AT.0 + 1_000)).unwrap(), first);
    let text = crate::support::git(repo.path(), &["cat-file", "commit", first.as_str()]);
    assert!(text.contains("author Windlass <windlass@localhost> 1700000000 +0000"), "{text}");
    assert!(text.ends_with(message.trim_end()));
    assert!(repo.commit_tree(&tree, &[], "early", Millis(0)).is_ok());
}

/// One question for many heads has the answers of many questions.
#[test]
fn many_heads_are_asked_about_at_once() {
    let world = World::new();
    let (repo, base) = (&world.repo, world.main());
    let main = world.commit(&base, &[("m.txt", "m\n")]);
    let old = world.commit(&base, &[("a.txt", "x\n")]);
    let longer = world.commit(&old, &[("b.txt", "y\n")]);
    let young = world.commit(&main, &[("c.txt", "z\n")]);
    let Merged::Clean { tree } = repo.merge_tree(&longer, &main).unwrap() else { panic!("no clean merge") };
    let joined = repo.commit_tree(&tree, &[&longer, &main], "joins main", AT).unwrap();
    let orphan = repo.commit_tree(&tree, &[], "orphan", AT).unwrap();
    let heads = [&base, &old, &longer, &young, &joined, &orphan];
    let growth = repo.growth(&main, heads).unwrap();
    for head in heads {
        assert_eq!(growth.is_in_base(head), repo.is_ancestor(head, &main).unwrap(), "{head}");
        let began = growth.began_at(head).cloned();
        let asked = repo.merge_base(&main, head).unwrap();
        // Two ways into main: only git can say which is the better one.
        assert_eq!(began, if *head == joined { None } else { asked }, "{head}");
        for other in heads.into_iter().filter(|other| !growth.is_in_base(other)) {
            assert_eq!(growth.holds(head, other), repo.is_ancestor(other, head).unwrap(), "{head} {other}");
        }
    }
    assert_eq!(repo.growth(&main, []).unwrap(), repo.growth(&main, [&base]).unwrap());
    assert!(repo.growth(&main, [&Sha::parse(&"3".repeat(40)).unwrap()]).is_err());
    let anatomies = repo.anatomies(heads).unwrap();
    for head in heads {
        assert_eq!(anatomies[head], repo.anatomy(head).unwrap());
    }
    let changed = repo.changed_by_any([(&base, &longer), (&main, &young), (&old, &old)]).unwrap();
    assert_eq!(changed, names(&["a.txt", "b.txt", "c.txt"]));
    assert_eq!(repo.changed_by_any([(&main, &joined)]).unwrap(), repo.changed_paths(&main, &joined).unwrap());
}

#[test]
fn history_answers() {
    let world = World::new();
    let (repo, base) = (&world.repo, world.main());
    let one = world.commit(&base, &[("a.txt", "x\n")]);
    let two = world.commit(&one, &[("strange [name]*.txt", "y\n")]);
    let side = world.commit(&base, &[("z.txt", "z\n")]);
    assert_eq!(repo.count_commits(&base, &two).unwrap(), 2);
    assert_eq!(repo.merge_base(&two, &side).unwrap(), Some(base.clone()));
    let tree = repo.tree_of(&base).unwrap();
    let orphan = repo.commit_tree(&tree, &[], "orphan", AT).unwrap();
    assert_eq!(repo.merge_base(&two, &orphan).unwrap(), None);
    assert!(repo.is_ancestor(&base, &two).unwrap() && !repo.is_ancestor(&side, &two).unwrap());
    let touching = |paths: &[&str]| -> Vec<(Sha, String)> {
        let found = repo.commits_touching(&base, &two, &names(paths)).unwrap();
        found.into_iter().map(|touch| (touch.commit, touch.subject)).collect()
    };
    assert_eq!(touching(&["a.txt"]), [(one.clone(), "a.txt".to_owned())]);
    assert_eq!(touching(&["strange [name]*.txt", "a.txt"]).len(), 2);
    // A star is a star.
    assert_eq!(touching(&["strange *"]), []);
    assert_eq!(touching(&[]), []);
}

#[test]
fn a_diff_is_cut_but_names_all_files() {
    let world = World::new();
    let base = world.main();
    let big = "línea\n".repeat(10_000);
    let next = world.commit(&base, &[("big.txt", &big), ("a.txt", "x\n"), ("zzz.txt", "z\n")]);
    let whole = world.repo.diff(&base, &next, 1 << 20).unwrap();
    assert!(!whole.truncated && whole.text.contains("+++ b/zzz.txt") && whole.text.contains("-two"));
    for max in [1_000, 1_001, 1_002] {
        let cut = world.repo.diff(&base, &next, max).unwrap();
        assert!(cut.truncated && cut.text.len() <= max && whole.text.starts_with(&cut.text));
        assert_eq!(cut.files, names(&["a.txt", "big.txt", "zzz.txt"]));
    }
}

fn names(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}
