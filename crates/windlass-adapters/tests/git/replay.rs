//! Changes that land as other commits than their own: how those are made, and how they are found again.

use windlass_adapters::git::{Mark, Merged, Replayed, Swap};
use windlass_core::id::Sha;

use crate::support::{AT, World, git, write};

/// Two commits on main as it was: the first in the middle of `a.txt`, the second beside it.
fn change(world: &World, base: &Sha) -> Sha {
    let clone = world.path("change");
    world.repo.clone_for_session(&clone, "change", base, "dev-1.1-1").unwrap();
    write(&clone, "a.txt", "one\nTWO\nthree\n");
    git(
        &clone,
        &["commit", "-qam", "louder\n\nBecause.", "--author=Ann <ann@a.example>", "--date=@1600000000 +0200"],
    );
    write(&clone, "c.txt", "c\n");
    git(&clone, &["add", "-A"]);
    git(&clone, &["commit", "-qm", "another"]);
    world.repo.fetch_work(&clone, "change").unwrap().head
}

#[test]
fn a_replay_keeps_author_date_and_message_and_gives_the_tree_of_the_merge() {
    let world = World::new();
    let (repo, base) = (&world.repo, world.main());
    let head = change(&world, &base);
    let onto = world.commit(&base, &[("a.txt", "one\ntwo\nthree\nfour\n")]);
    let commits = repo.commits(&base, &head).unwrap();
    let subjects: Vec<&str> = commits.iter().map(|commit| commit.subject.as_str()).collect();
    assert_eq!(subjects, ["louder", "another"]);
    let replay = || repo.replay(&commits, &onto, AT, |commit| format!("{}\nX: y\n", commit.message)).unwrap();
    let Replayed::Clean { tip, tree } = replay() else { panic!("it is clean") };
    assert_eq!(replay(), Replayed::Clean { tip: tip.clone(), tree: tree.clone() }, "the same again");
    assert_eq!(repo.merge_tree(&onto, &head).unwrap(), Merged::Clean { tree: tree.clone() });
    assert_eq!(repo.tree_of(&tip).unwrap(), tree);
    let first = git(repo.path(), &["cat-file", "commit", &format!("{tip}^")]);
    assert!(first.contains("author Ann <ann@a.example> 1600000000 +0200"), "{first}");
    assert!(first.contains("committer Windlass <windlass@localhost> 1700000000 +0000"), "{first}");
    assert!(first.ends_with("louder\n\nBecause.\n\nX: y"), "{first}");
    assert_eq!(git(repo.path(), &["rev-parse", &format!("{tip}~2")]), onto.to_string());
}

#[test]
fn merges_and_conflicts_are_not_replayed() {
    let world = World::new();
    let (repo, base) = (&world.repo, world.main());
    let head = change(&world, &base);
    let side = world.commit(&base, &[("side.txt", "s\n")]);
    let Merged::Clean { tree } = repo.merge_tree(&head, &side).unwrap() else { panic!("clean") };
    let merge = repo.commit_tree(&tree, &[&head, &side], "merge", AT).unwrap();
    let keep = |commit: &windlass_adapters::git::Commit| commit.message.clone();
    let commits = repo.commits(&base, &merge).unwrap();
    assert_eq!(repo.replay(&commits, &side, AT, keep).unwrap(), Replayed::NotPossible, "a merge inside");
    let other = world.commit(&base, &[("a.txt", "one\n2\nthree\n")]);
    let commits = repo.commits(&base, &head).unwrap();
    assert_eq!(repo.replay(&commits, &other, AT, keep).unwrap(), Replayed::NotPossible, "a conflict");
    assert_eq!(repo.replay(&[], &other, AT, keep).unwrap(), Replayed::NotPossible, "nothing");
}

#[test]
fn regression_a_patch_that_falls_away_in_a_rebase_is_not_called_landed() {
    let world = World::new();
    let (repo, base) = (&world.repo, world.main());
    let head = change(&world, &base);
    let commits = repo.commits(&base, &head).unwrap();
    let keep = |commit: &windlass_adapters::git::Commit| commit.message.clone();
    let half = world.commit(&base, &[("a.txt", "one\nTWO\nthree\n")]);
    let Replayed::Clean { tip, tree } = repo.replay(&commits, &half, AT, keep).unwrap() else {
        panic!("the second commit is left")
    };
    assert_eq!(git(repo.path(), &["rev-parse", &format!("{tip}^")]), half.to_string(), "the first fell away");
    assert_eq!(repo.merge_tree(&half, &head).unwrap(), Merged::Clean { tree });
    let whole = world.commit(&half, &[("c.txt", "c\n")]);
    assert_eq!(repo.replay(&commits, &whole, AT, keep).unwrap(), Replayed::NotPossible, "nothing is left");
    assert!(!repo.contains(&whole, &head).unwrap(), "equal content is no landing");
}

#[test]
fn main_and_marks_move_together_or_not_at_all() {
    let world = World::new();
    let (repo, base) = (&world.repo, world.main());
    let head = change(&world, &base);
    let tree = repo.tree_of(&head).unwrap();
    let one = repo.commit_tree(&tree, &[&base], "as one", AT).unwrap();
    let marks = [Mark { head: &head, commit: &one }];
    let elsewhere = world.commit(&base, &[("z.txt", "z\n")]);
    let lost = repo.land_marked("main", &elsewhere, &one, &marks).unwrap();
    assert_eq!(lost, Swap::Lost { actual: Some(base.clone()) });
    assert_eq!((world.main(), repo.list_refs("refs/windlass/landed").unwrap().len()), (base.clone(), 0));
    assert!(!repo.contains(&one, &head).unwrap());
    assert_eq!(repo.land_marked("main", &base, &one, &marks).unwrap(), Swap::Done);
    assert_eq!(repo.land_marked("main", &base, &one, &marks).unwrap(), Swap::Done, "again, as after a crash");
    assert!(repo.contains(&world.main(), &head).unwrap() && !repo.contains(&base, &head).unwrap());
    // A person packs the refs: what has landed is found all the same.
    git(repo.path(), &["pack-refs", "--all"]);
    assert!(repo.contains(&world.main(), &head).unwrap());
}

#[test]
fn work_that_landed_as_another_commit_is_not_rescued() {
    let world = World::new();
    let (repo, base) = (&world.repo, world.main());
    let head = change(&world, &base);
    let one = repo.commit_tree(&repo.tree_of(&head).unwrap(), &[&base], "as one", AT).unwrap();
    let marks = [Mark { head: &head, commit: &one }];
    assert_eq!(repo.land_marked("main", &base, &one, &marks).unwrap(), Swap::Done);
    let saved = repo.remove_workspace(&world.path("change"), "change", "refs/windlass/rescue/1.1", AT);
    assert_eq!(saved.unwrap(), None);
}
