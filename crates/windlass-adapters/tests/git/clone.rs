//! A session's clone: complete or not there, and its own.

use std::os::unix::fs::MetadataExt as _;

use windlass_adapters::git::{FetchError, GitError};

use crate::support::{AT, World, git, read, write};

#[test]
fn a_clone_works_like_any_clone() {
    let world = World::new();
    let clone = world.clone("windlass-1");
    assert_eq!(git(&clone, &["status", "--porcelain"]), "");
    assert_eq!(git(&clone, &["symbolic-ref", "HEAD"]), "refs/heads/windlass-1");
    assert_eq!(git(&clone, &["rev-parse", "HEAD", "origin/main"]), format!("{0}\n{0}", world.main()));
    assert_eq!(git(&clone, &["config", "user.name"]), "u", "the -c of the test wins");
    assert!(read(&clone, ".git/config").contains("name = \"dev-1.1-1\""));
    assert_eq!(git(&clone, &["fsck"]), "");
    git(&clone, &["fetch", "-q", "origin"]);
    git(&clone, &["log", "-1", "--stat"]);
    assert_eq!(read(&clone, "src/b.txt"), "b\n");
}

#[test]
fn a_finished_clone_is_adopted_and_a_half_one_is_removed() {
    let world = World::new();
    let half = world.path(".dev.cloning-1-0");
    write(&half, ".git/HEAD", "ref: x");
    let clone = world.clone("dev");
    assert!(!half.exists());
    write(&clone, "work.txt", "precious");
    world.repo.clone_for_session(&clone, "dev", &world.main(), "dev-1.1-1").unwrap();
    assert_eq!(read(&clone, "work.txt"), "precious");
    let other = world.repo.clone_for_session(&clone, "other", &world.main(), "x");
    assert!(matches!(other, Err(GitError::Occupied { .. })));
    let nowhere = windlass_core::id::Sha::parse(&"3".repeat(40)).unwrap();
    let failed = world.repo.clone_for_session(&world.path("broken"), "b", &nowhere, "x");
    assert!(failed.is_err() && !world.path("broken").exists());
}

#[test]
fn work_comes_back_and_what_is_wrong_has_a_name() {
    let world = World::new();
    let clone = world.clone("dev");
    let first = world.repo.fetch_work(&clone, "dev").unwrap();
    assert_eq!((first.head, first.elsewhere), (world.main(), None));
    write(&clone, "new.txt", "x");
    git(&clone, &["add", "-A"]);
    git(&clone, &["commit", "-qm", "work"]);
    let fetched = world.repo.fetch_work(&clone, "dev").unwrap();
    assert_eq!(fetched.head.to_string(), git(&clone, &["rev-parse", "HEAD"]));
    assert_eq!(fetched.tree, world.repo.tree_of(&fetched.head).unwrap());
    // A rewritten branch is taken as it is now.
    git(&clone, &["commit", "-q", "--amend", "-m", "other"]);
    assert_ne!(world.repo.fetch_work(&clone, "dev").unwrap().head, fetched.head);

    let gone = world.repo.fetch_work(&world.path("none"), "dev");
    assert!(matches!(gone, Err(FetchError::Gone)));
    git(&clone, &["branch", "-qm", "dev", "renamed"]);
    let missing = world.repo.fetch_work(&clone, "dev");
    assert!(matches!(missing, Err(FetchError::NoBranch { branch }) if branch == "dev"));
    std::fs::remove_file(clone.join(".git/HEAD")).unwrap();
    assert!(matches!(world.repo.fetch_work(&clone, "renamed"), Err(FetchError::Broken { .. })));
}

#[test]
fn work_beside_the_branch_is_seen() {
    let world = World::new();
    let clone = world.clone("dev");
    git(&clone, &["checkout", "-q", "-b", "my-own-idea"]);
    assert_eq!(world.repo.fetch_work(&clone, "dev").unwrap().elsewhere, None, "no commits there yet");
    git(&clone, &["commit", "-q", "--allow-empty", "-m", "idea"]);
    let there = world.repo.fetch_work(&clone, "dev").unwrap().elsewhere.unwrap();
    assert_eq!(there.branch.as_deref(), Some("my-own-idea"));
    assert_eq!(there.head.to_string(), git(&clone, &["rev-parse", "HEAD"]));
    git(&clone, &["checkout", "-q", "--detach"]);
    assert_eq!(world.repo.fetch_work(&clone, "dev").unwrap().elsewhere.unwrap().branch, None);
    git(&clone, &["checkout", "-q", "--orphan", "empty"]);
    assert_eq!(world.repo.fetch_work(&clone, "dev").unwrap().elsewhere, None);
}

#[test]
fn borrowed_objects_survive_maintenance() {
    let world = World::new();
    let clone = world.clone("dev");
    for nth in 0..5 {
        git(&clone, &["commit", "-q", "--allow-empty", "-m", &nth.to_string()]);
        world.repo.fetch_work(&clone, "dev").unwrap();
    }
    // A clone on a commit that no ref names any more.
    let tree = world.repo.tree_of(&world.main()).unwrap();
    let loose = world.repo.commit_tree(&tree, &[], "nobody names me", AT).unwrap();
    let borrower = world.path("borrower");
    world.repo.clone_for_session(&borrower, "borrower", &loose, "x").unwrap();
    let head = world.repo.fetch_work(&clone, "dev").unwrap().head;
    git(&clone, &["reset", "-q", "--hard", "HEAD~3"]);
    let ended = world.clone("ended");
    world.repo.remove_workspace(&ended, "ended", "refs/windlass/rescue/ended", AT).unwrap();
    let (before, refs) = (packs(&world), world.repo.list_refs("refs").unwrap());
    world.repo.fetch_work(&clone, "dev").unwrap();
    // What a git that was killed long ago left, and what one is writing now.
    let [old, new] =
        ["tmp_pack_old", "tmp_pack_new"].map(|name| world.repo.path().join("objects/pack").join(name));
    std::fs::write(&new, "half").unwrap();
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(4_000);
    std::fs::File::create(&old).unwrap().set_modified(long_ago).unwrap();
    world.repo.maintain().unwrap();
    assert!(!old.exists() && new.exists());
    assert!(packs(&world) < before, "{before} packs are still {}", packs(&world));
    let all = world.repo.list_refs("refs").unwrap();
    assert!(refs.keys().all(|name| all.contains_key(name)), "{refs:?} {all:?}");
    assert_eq!(git(world.repo.path(), &["fsck", "--connectivity-only", "--no-dangling"]), "");
    assert_eq!(git(&world.clone("from-a-spare"), &["fsck", "--no-dangling"]), "");
    assert!(world.repo.resolve(head.as_str()).unwrap().is_some());
    assert_eq!(git(&borrower, &["fsck", "--no-dangling"]), "");
    assert_eq!(git(&clone, &["fsck", "--no-dangling"]), "");
}

fn packs(world: &World) -> usize {
    let all = std::fs::read_dir(world.repo.path().join("objects/pack")).unwrap();
    all.filter(|entry| entry.as_ref().unwrap().path().extension().is_some_and(|kind| kind == "pack")).count()
}

/// A workspace is made from the files of an ended one, whatever its session did to them.
#[test]
fn the_files_of_an_ended_workspace_are_used_again() {
    let world = World::new();
    let first = world.clone("first");
    let kept = first.join("src/b.txt").metadata().unwrap();
    write(&first, "added.txt", "x\n");
    write(&first, "ignored/cache", "x\n");
    write(&first, ".git/hooks/post-checkout", "#!/bin/sh\nexit 1\n");
    write(&first, "a.txt", "tampered\n");
    std::fs::remove_dir_all(first.join("deep")).ok();
    std::os::unix::fs::symlink("/etc", first.join("deep")).unwrap();
    world.repo.remove_workspace(&first, "first", "refs/windlass/rescue/first", AT).unwrap();
    assert!(!first.exists());
    let second = world.clone("second");
    assert_eq!(second.join("src/b.txt").metadata().unwrap().ino(), kept.ino(), "it is the same file");
    assert_eq!(git(&second, &["status", "--porcelain", "--ignored"]), "");
    assert_eq!(
        git(&second, &["rev-parse", "HEAD", "--abbrev-ref", "HEAD"]),
        format!("{}\nsecond", world.main())
    );
    assert!(!second.join(".git/hooks/post-checkout").exists() && !second.join("deep").is_symlink());
    let fresh = git(&world.user(), &["ls-files", "-s"]);
    assert_eq!(git(&second, &["ls-files", "-s"]), fresh);
}

#[test]
fn a_submodule_of_an_ended_workspace_is_fetched_again() {
    let world = World::new();
    let with_sub = world.commit_with_submodule();
    for (name, spares) in [("first", 0), ("second", 1)] {
        assert_eq!(world.repo.spares().len(), spares, "{name}");
        let clone = world.path(name);
        world.repo.clone_for_session(&clone, name, &with_sub, "x").unwrap();
        assert_eq!(std::fs::read_dir(clone.join("sub")).unwrap().count(), 0, "{name}");
        assert_eq!(std::fs::read_dir(clone.join("src")).unwrap().count(), 1, "{name}");
        git(&clone, &["submodule", "--quiet", "update", "--init"]);
        assert_eq!(read(&clone, "sub/lib.txt"), "lib\n", "{name}");
        git(&clone, &["commit", "-q", "--allow-empty", "-am", name]);
        write(&clone, "sub/planted", "x");
        git(&clone.join("src"), &["init", "-q"]);
        world.repo.fetch_work(&clone, name).unwrap();
        world.repo.remove_workspace(&clone, name, &format!("refs/windlass/rescue/{name}"), AT).unwrap();
    }
}

/// Its index goes with a spare: a workspace of the same name may be made before the spare is used.
#[test]
fn a_spare_is_not_mixed_up_with_a_new_workspace_of_its_name() {
    let world = World::new();
    let remove = |name: &str| {
        let into = format!("refs/windlass/rescue/{name}");
        world.repo.remove_workspace(&world.path(name), name, &into, AT).unwrap();
    };
    let (_, first) = (world.clone("a"), world.clone("first"));
    write(&first, "only-here.txt", "x\n");
    git(&first, &["add", "-A"]);
    git(&first, &["commit", "-qm", "more"]);
    let head = world.repo.fetch_work(&first, "first").unwrap().head;
    remove("first");
    // With this file in its index.
    world.repo.clone_for_session(&first, "first", &head, "dev-1.1-2").unwrap();
    remove("first");
    remove("a");
    let names = || world.repo.spares().iter().map(|spare| (spare.name(), spare.usable)).collect::<Vec<_>>();
    assert_eq!(names(), [("a".to_owned(), true), ("first".to_owned(), true)]);
    world.clone("first");
    assert_eq!(names(), [("first".to_owned(), true)], "it was made from the other one");
    let second = world.clone("second");
    assert_eq!(git(&second, &["status", "--porcelain", "--ignored"]), "");
    assert!(!second.join("only-here.txt").exists());
    remove("second");
    // One without an index is of no use to anybody.
    std::fs::remove_file(world.repo.spares()[0].path.join(".git/index")).unwrap();
    assert_eq!(names(), [("second".to_owned(), false)]);
    let third = world.clone("third");
    assert_eq!((git(&third, &["status", "--porcelain"]), names().len()), (String::new(), 0));
    remove("third");
    let spare = world.repo.spares().remove(0);
    assert!(world.repo.remove_spare(&spare).unwrap());
    assert!(!world.repo.remove_spare(&spare).unwrap() && names().is_empty());
    let left = std::fs::read_dir(world.repo.path()).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(!left.into_iter().any(|name| name.to_string_lossy().contains("removing")));
}
