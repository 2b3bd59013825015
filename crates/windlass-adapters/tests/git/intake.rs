//! A person goes on committing in their own checkout.

use std::os::unix::fs::PermissionsExt as _;

use windlass_adapters::git::{BareRepo, Expect, Git, GitError, Intake, Parted};

use crate::support::{World, git, write};

fn user_commits(world: &World, name: &str) {
    write(&world.user(), name, "mine\n");
    git(&world.user(), &["add", "-A"]);
    git(&world.user(), &["commit", "-qm", name]);
}

fn factory_lands(world: &World, name: &str) {
    let before = world.main();
    let landed = world.commit(&before, &[(name, "ours\n")]);
    let moved = world.repo.update_ref("refs/heads/main", &landed, Expect::At(&before)).unwrap();
    assert_eq!(moved, windlass_adapters::git::Swap::Done);
}

#[test]
fn commits_of_a_person_come_in_and_the_checkout_is_only_read() {
    let world = World::new();
    let take = || world.repo.take_in(&world.user(), "main").unwrap();
    assert_eq!(world.repo.stands_apart("main").unwrap(), None, "nobody has looked yet");
    assert_eq!(take(), Intake::Nothing);
    user_commits(&world, "one");
    user_commits(&world, "two");
    let refs = git(&world.user(), &["for-each-ref"]);
    let Intake::Taken { commits: 2, to } = take() else { panic!("they stand on ours") };
    assert_eq!((world.main(), git(&world.user(), &["rev-parse", "main"])), (to.clone(), to.to_string()));
    assert_eq!(take(), Intake::Nothing);
    assert_eq!(refs, git(&world.user(), &["for-each-ref"]));
    assert!(!world.user().join(".git/FETCH_HEAD").exists());
    factory_lands(&world, "landed");
    assert_eq!(take(), Intake::Nothing, "they are behind");
    assert_eq!(world.repo.stands_apart("main").unwrap(), Some(Parted { theirs: 0, ours: 1 }));
}

#[test]
fn who_has_parted_is_brought_together_by_a_person_alone() {
    let world = World::new();
    factory_lands(&world, "landed");
    user_commits(&world, "mine");
    let ours = world.main();
    let parted = Parted { theirs: 1, ours: 1 };
    assert_eq!(world.repo.take_in(&world.user(), "main").unwrap(), Intake::Parted(parted));
    assert_eq!((world.main(), world.repo.stands_apart("main").unwrap()), (ours.clone(), Some(parted)));
    git(
        &world.user(),
        &["pull", "-q", "--no-rebase", "--no-edit", world.repo.path().to_str().unwrap(), "main"],
    );
    assert!(matches!(world.repo.take_in(&world.user(), "main").unwrap(), Intake::Taken { commits: 2, .. }));
    // A history that was written anew is a parting, too.
    git(&world.user(), &["commit", "-q", "--amend", "-m", "again"]);
    assert!(matches!(world.repo.take_in(&world.user(), "main").unwrap(), Intake::Parted(_)));
    // Somebody sets ours back: what was taken over once is not taken over again.
    world.repo.set_ref("refs/heads/main", &ours).unwrap();
    assert_eq!(world.repo.take_in(&world.user(), "main").unwrap(), Intake::Nothing);
    assert_eq!(world.main(), ours);
}

#[test]
fn a_branch_that_is_gone_is_an_error_and_changes_nothing() {
    let world = World::new();
    let main = world.main();
    git(&world.user(), &["branch", "-m", "main", "other"]);
    world.repo.take_in(&world.user(), "main").unwrap_err();
    assert_eq!(world.main(), main);
}

/// Somebody moves our main each time just before we do, though never to where theirs would not follow.
#[test]
fn who_is_always_too_late_looks_again() {
    let world = World::new();
    let (path, first) = (std::env::var("PATH").unwrap(), world.main());
    user_commits(&world, "one");
    assert!(matches!(world.repo.take_in(&world.user(), "main").unwrap(), Intake::Taken { .. }));
    let second = world.main();
    user_commits(&world, "two");
    let script = format!(
        "#!/bin/sh\nPATH='{path}'\ncase \"$*\" in *update-ref*refs/heads/main*)\n\
         if [ $(git rev-parse main) = {first} ]; then to={second}; else to={first}; fi\n\
         git update-ref refs/heads/main $to;;\nesac\nexec git \"$@\"\n"
    );
    write(&world.path("hurried"), "git", &script);
    let program = world.path("hurried/git");
    std::fs::set_permissions(program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let hurried = Git::new(format!("{}:{path}", world.path("hurried").display()));
    let hurried = BareRepo::open(&hurried, world.repo.path()).unwrap();
    let lost = hurried.take_in(&world.user(), "main");
    assert!(matches!(lost, Err(GitError::Contended { .. })), "{lost:?}");
    assert!(matches!(world.repo.take_in(&world.user(), "main").unwrap(), Intake::Taken { .. }));
}
