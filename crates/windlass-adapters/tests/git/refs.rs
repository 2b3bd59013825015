//! Opening, asking, and changes that only one can win.

use std::sync::Barrier;

use windlass_adapters::Remedy;
use windlass_adapters::git::{BareRepo, Expect, GitError, Swap};
use windlass_core::id::Sha;

use crate::support::{World, git, runner, write};

const RACES: usize = 60;

fn missing() -> Sha {
    Sha::parse(&"1".repeat(40)).unwrap()
}

#[test]
fn the_users_checkout_is_only_read() {
    let world = World::new();
    let before = git(&world.user(), &["status", "--porcelain=v2", "--branch"]);
    let refs = git(&world.user(), &["for-each-ref"]);
    assert_eq!(git(&world.user(), &["rev-parse", "main"]), world.main().to_string());
    assert_eq!(before, git(&world.user(), &["status", "--porcelain=v2", "--branch"]));
    assert_eq!(refs, git(&world.user(), &["for-each-ref"]));
    assert!(!world.user().join(".git/FETCH_HEAD").exists());
    // A second time finds the same repository, and the user's later commits do not come in by themselves.
    let first = world.main();
    git(&world.user(), &["commit", "-q", "--allow-empty", "-m", "later"]);
    let again = BareRepo::create_from(&runner(), world.repo.path(), &world.user(), "main").unwrap();
    assert_eq!(again.main_tip("main").unwrap(), first);
}

#[test]
fn a_failed_creation_leaves_nothing() {
    let world = World::new();
    let path = world.path("other.git");
    let failed = BareRepo::create_from(&runner(), &path, &world.user(), "no-such-branch");
    assert!(matches!(failed, Err(GitError::Failed { .. })));
    assert!(!path.exists());
    let left = std::fs::read_dir(path.parent().unwrap()).unwrap();
    assert!(left.flatten().all(|entry| !entry.file_name().to_string_lossy().contains("other")));
}

#[test]
fn missing_is_none_and_an_error_is_an_error() {
    let world = World::new();
    assert_eq!(world.repo.resolve("refs/heads/main").unwrap(), Some(world.main()));
    assert_eq!(world.repo.resolve("refs/heads/none").unwrap(), None);
    assert_eq!(world.repo.resolve("--help").unwrap(), None);
    assert!(world.repo.is_ancestor(&world.main(), &world.main()).unwrap());
    assert!(matches!(world.repo.is_ancestor(&missing(), &world.main()), Err(GitError::Failed { .. })));
    assert!(world.repo.main_tip("none").is_err());
    std::fs::write(world.repo.path().join("HEAD"), "rubbish").unwrap();
    let error = world.repo.resolve("refs/heads/main").unwrap_err();
    assert_eq!(error.remedy(), Remedy::AskHuman);
}

#[test]
fn a_ref_moves_only_from_where_we_think_it_is() {
    let world = World::new();
    let (repo, first) = (&world.repo, world.main());
    let second = world.commit(&first, &[("c.txt", "c")]);
    let third = world.commit(&first, &[("d.txt", "d")]);
    let name = "refs/windlass/run/7";
    assert_eq!(repo.update_ref(name, &first, Expect::Absent).unwrap(), Swap::Done);
    assert_eq!(
        repo.update_ref(name, &second, Expect::Absent).unwrap(),
        Swap::Lost { actual: Some(first.clone()) }
    );
    assert_eq!(repo.update_ref(name, &second, Expect::At(&first)).unwrap(), Swap::Done);
    // Again, as after a crash between the swap and its record.
    assert_eq!(repo.update_ref(name, &second, Expect::At(&first)).unwrap(), Swap::Done);
    let lost = Swap::Lost { actual: Some(second.clone()) };
    assert_eq!(repo.update_ref(name, &third, Expect::At(&first)).unwrap(), lost);
    assert_eq!(repo.delete_ref(name, Expect::At(&first)).unwrap(), lost);
    assert_eq!(
        repo.list_refs("refs/windlass/run").unwrap().into_iter().collect::<Vec<_>>(),
        [(name.into(), second)]
    );
    assert_eq!(repo.delete_ref(name, Expect::Anything).unwrap(), Swap::Done);
    assert_eq!(repo.delete_ref(name, Expect::Anything).unwrap(), Swap::Done);
    assert_eq!(repo.update_ref(name, &third, Expect::At(&first)).unwrap(), Swap::Lost { actual: None });
    assert!(repo.update_ref(name, &missing(), Expect::Anything).is_err());
    assert!(matches!(repo.update_ref("HEAD", &first, Expect::Anything), Err(GitError::BadName { .. })));
}

#[test]
fn regression_of_two_pushers_at_once_exactly_one_wins_in_sixty_of_sixty_races() {
    let world = World::new();
    for round in 0..RACES {
        let base = world.main();
        let tree = world.repo.tree_of(&base).unwrap();
        let rivals: Vec<Sha> = ["x", "y"]
            .map(|who| {
                world.repo.commit_tree(&tree, &[&base], &format!("{who}{round}"), crate::support::AT).unwrap()
            })
            .into();
        let start = Barrier::new(2);
        let results: Vec<Swap> = std::thread::scope(|scope| {
            let land = |new| {
                start.wait();
                world.repo.land("main", &base, new).unwrap()
            };
            let threads: Vec<_> = rivals.iter().map(|new| scope.spawn(move || land(new))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let winner = world.main();
        let of = |nth: usize| {
            if rivals[nth] == winner { Swap::Done } else { Swap::Lost { actual: Some(winner.clone()) } }
        };
        assert!(rivals.contains(&winner));
        assert_eq!(results, [of(0), of(1)], "round {round}");
    }
    assert_eq!(
        std::fs::read_to_string(world.repo.path().join("logs/refs/heads/main")).unwrap().lines().count(),
        RACES
    );
}

#[test]
fn a_session_that_pushes_gets_a_clear_no() {
    let world = World::new();
    let clone = world.clone("dev");
    write(&clone, "new.txt", "x");
    git(&clone, &["add", "-A"]);
    git(&clone, &["commit", "-qm", "work"]);
    let before = world.main();
    let (ok, text) = crate::support::try_git(&clone, &["push", "origin", "HEAD:refs/heads/main"]);
    assert!(!ok && text.contains("Do not push"), "{text}");
    assert_eq!(world.main(), before);
}

#[test]
fn locks_of_a_killed_git_are_removed_at_the_start() {
    let world = World::new();
    let lock = world.repo.path().join("refs/heads/main.lock");
    std::fs::write(&lock, "").unwrap();
    std::fs::write(world.repo.path().join("packed-refs.lock"), "").unwrap();
    // As git calls an object that it is writing, and as we call a tree of files that is being saved.
    let half = world.repo.path().join("objects/tmp_obj_AbCdEf");
    std::fs::write(&half, "").unwrap();
    let mut gone = std::process::Command::new("true").spawn().unwrap();
    gone.wait().unwrap();
    std::fs::create_dir(world.repo.path().join(format!(".rescue.tmp-{}-1", gone.id()))).unwrap();
    let mut left = std::process::Command::new("sleep")
        .arg("600")
        .env("WINDLASS_GIT_DIR", world.repo.path())
        .spawn()
        .unwrap();
    // `spawn` may return a moment before the kernel shows the new program's environment.
    let environ = format!("/proc/{}/environ", left.id());
    while std::fs::read(&environ).unwrap().is_empty() {
        std::thread::yield_now();
    }
    let recovered = world.repo.recover().unwrap();
    assert_eq!((recovered.processes, recovered.locks, lock.exists()), (1, 2, false));
    assert_eq!((recovered.halves, half.exists()), (2, false));
    assert!(!left.wait().unwrap().success());
    assert_eq!(world.repo.recover().unwrap(), windlass_adapters::git::Recovered::default());
}

#[test]
fn a_git_that_hangs_is_ended() {
    let world = World::new();
    let slow = world.path("slow");
    std::fs::create_dir(&slow).unwrap();
    let (script, _) = crate::support::canary(&slow, "git");
    std::fs::write(&script, "#!/bin/sh\nexec sleep 600\n").unwrap();
    std::fs::rename(&script, slow.join("git")).unwrap();
    let path = format!("{}:{}", slow.display(), std::env::var("PATH").unwrap());
    let git = windlass_adapters::git::Git::new(path).with_time_limit(std::time::Duration::from_millis(200));
    let repo = BareRepo::open(&git, world.repo.path()).unwrap();
    let error = repo.resolve("main").unwrap_err();
    assert!(matches!(error, GitError::TimedOut { .. }) && error.remedy() == Remedy::TryAgain);
    let nowhere = windlass_adapters::git::Git::new("/nonexistent");
    let error = BareRepo::open(&nowhere, world.repo.path()).unwrap().resolve("main").unwrap_err();
    assert!(matches!(error, GitError::Spawn { .. }) && error.remedy() == Remedy::AskHuman);
}
