//! A checkout that is right whatever was done to it before.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::time::{Duration, SystemTime};

use windlass_adapters::git::{GitError, Slot};

use crate::support::{Attack, World, canary, git, read, write};

#[test]
fn a_slot_goes_from_commit_to_commit_and_keeps_caches() {
    let world = World::new();
    let base = world.main();
    let next = world.commit(&base, &[("a.txt", "two\n"), ("more/c.txt", "c\n")]);
    let slot = Slot::new(&world.path("slot"), vec!["target".into()]).unwrap();
    let work = slot.check_out(&world.repo, &next).unwrap();
    assert_eq!(git(&work, &["rev-parse", "HEAD"]), next.to_string());
    assert_eq!(git(&work, &["status", "--porcelain"]), "");
    assert_eq!(git(&work, &["describe", "--always"]), &next.as_str()[..7]);
    write(&work, "target/cache", "warm");
    write(&work, "ignored/x", "x");
    write(&work, "junk", "x");
    slot.check_out(&world.repo, &base).unwrap();
    assert_eq!(git(&work, &["rev-parse", "HEAD"]), base.to_string());
    assert_eq!(git(&work, &["status", "--porcelain"]), "?? target/");
    assert_eq!(read(&work, "target/cache"), "warm");
    assert!(!work.join("more").exists() && !work.join("junk").exists() && !work.join("ignored").exists());
    for bad in ["../x", "/etc", ".git", "a*", ""] {
        assert!(
            matches!(Slot::new(&world.path("s2"), vec![bad.into()]), Err(GitError::BadName { .. })),
            "{bad}"
        );
    }
}

#[test]
fn tampered_files_give_a_right_checkout() {
    let world = World::new();
    let outside = world.path("outside");
    write(&outside, "a.txt", "not yours\n");
    let attacks: [Attack<'_>; 8] = [
        ("same size and time", &|work: &Path| {
            let before = std::fs::metadata(work.join("a.txt")).unwrap();
            write(work, "a.txt", "ONE\ntwo\nthree\n");
            let file = std::fs::File::options().write(true).open(work.join("a.txt")).unwrap();
            file.set_modified(before.modified().unwrap()).unwrap();
        }),
        ("future time", &|work: &Path| {
            write(work, "a.txt", "evil\n");
            let file = std::fs::File::options().write(true).open(work.join("a.txt")).unwrap();
            file.set_modified(SystemTime::now() + Duration::from_secs(3600)).unwrap();
        }),
        ("no work", &|work: &Path| std::fs::remove_dir_all(work).unwrap()),
        ("work is a link", &|work: &Path| {
            std::fs::remove_dir_all(work).unwrap();
            symlink(&outside, work).unwrap();
        }),
        ("work is a file", &|work: &Path| {
            std::fs::remove_dir_all(work).unwrap();
            std::fs::write(work, "x").unwrap();
        }),
        ("folder is a link", &|work: &Path| {
            std::fs::remove_dir_all(work.join("src")).unwrap();
            symlink(&outside, work.join("src")).unwrap();
        }),
        ("file is a folder", &|work: &Path| {
            std::fs::remove_file(work.join("a.txt")).unwrap();
            write(work, "a.txt/deep/x", "x");
        }),
        ("read-only folders", &|work: &Path| {
            write(work, "junk/x", "x");
            for folder in ["junk", "src"] {
                std::fs::set_permissions(work.join(folder), std::fs::Permissions::from_mode(0o500)).unwrap();
            }
        }),
    ];
    survives(&world, &attacks);
}

#[test]
fn tampered_repositories_give_a_right_checkout_and_run_nothing() {
    let world = World::new();
    let (script, sign) = canary(&world.path(""), "slot");
    let script = script.to_str().unwrap();
    let outside = world.path("outside");
    write(&outside, "a.txt", "not yours\n");
    let attacks: [Attack<'_>; 3] = [
        ("evil repository", &|work: &Path| {
            std::fs::remove_dir_all(work.join(".git")).unwrap();
            git(work, &["init", "-q"]);
            git(work, &["config", "core.fsmonitor", script]);
            git(work, &["config", "core.worktree", outside.to_str().unwrap()]);
            std::fs::create_dir_all(work.join(".git/hooks")).unwrap();
            std::fs::copy(script, work.join(".git/hooks/post-checkout")).unwrap();
            std::fs::copy(script, work.join(".git/hooks/post-index-change")).unwrap();
        }),
        ("repository is a link", &|work: &Path| {
            std::fs::remove_dir_all(work.join(".git")).unwrap();
            symlink(&outside, work.join(".git")).unwrap();
        }),
        ("nested repository and linked cache", &|work: &Path| {
            write(work, "nested/x", "x");
            git(&work.join("nested"), &["init", "-q"]);
            git(&work.join("nested"), &["config", "core.fsmonitor", script]);
            symlink(&outside, work.join("target")).unwrap();
        }),
    ];
    survives(&world, &attacks);
    assert!(!sign.exists());
}

#[test]
fn locks_of_a_killed_git_do_not_stop_a_slot() {
    let world = World::new();
    let slot = Slot::new(&world.path("slot"), vec![]).unwrap();
    slot.check_out(&world.repo, &world.main()).unwrap();
    std::fs::write(world.path("slot/index.lock"), "").unwrap();
    std::fs::write(world.path("slot/index"), "half an index").unwrap();
    let work = slot.check_out(&world.repo, &world.main()).unwrap();
    assert_eq!(git(&work, &["status", "--porcelain"]), "");
    let nowhere = windlass_core::id::Sha::parse(&"4".repeat(40)).unwrap();
    assert!(matches!(slot.check_out(&world.repo, &nowhere), Err(GitError::Failed { .. })));
    slot.check_out(&world.repo, &world.main()).unwrap();
}

/// After each attack the checkout is right, and the folder outside is as it was.
fn survives(world: &World, attacks: &[Attack<'_>]) {
    let (base, outside) = (world.main(), world.path("outside"));
    let slot = Slot::new(&world.path("slot"), vec!["target".into()]).unwrap();
    for (name, attack) in attacks {
        let work = slot.check_out(&world.repo, &base).unwrap();
        attack(&work);
        let work = slot.check_out(&world.repo, &base).unwrap();
        assert_eq!(read(&work, "a.txt"), "one\ntwo\nthree\n", "{name}");
        assert_eq!(read(&work, "src/b.txt"), "b\n", "{name}");
        assert_eq!(git(&work, &["status", "--porcelain", "--ignored"]), "", "{name}");
        assert_eq!(git(&work, &["rev-parse", "HEAD"]), base.to_string(), "{name}");
        let mut names: Vec<_> = std::fs::read_dir(&work).unwrap().map(|e| e.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, [".git", ".gitignore", "a.txt", "src"], "{name}");
        assert_eq!(read(&outside, "a.txt"), "not yours\n", "{name}");
        assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 1, "{name}");
    }
}
