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
    let attacks: [Attack<'_>; 4] = [
        ("repository in a folder of ours", &|work: &Path| {
            git(&work.join("src"), &["init", "-q"]);
            git(&work.join("src"), &["config", "core.fsmonitor", script]);
        }),
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

#[test]
fn a_submodule_can_be_fetched_by_each_build_and_keeps_nothing_of_the_last() {
    let world = World::new();
    let (base, with_sub) = (world.main(), world.commit_with_submodule());
    let slot = Slot::new(&world.path("slot"), vec!["target".into(), "sub/target".into()]).unwrap();
    for commit in [&with_sub, &with_sub, &base, &with_sub] {
        let work = slot.check_out(&world.repo, commit).unwrap();
        let inside: Vec<_> =
            std::fs::read_dir(work.join("sub")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        if commit == &base {
            assert_eq!(inside, ["target"], "here it is no submodule, but a folder with a cache");
            continue;
        }
        assert!(inside.is_empty(), "{inside:?}");
        git(&work, &["submodule", "--quiet", "update", "--init"]);
        assert_eq!(read(&work, "sub/lib.txt"), "lib\n");
        assert_eq!(git(&work, &["status", "--porcelain"]).replace("?? target/", ""), "");
        for name in ["sub/planted", "sub/target/planted", "target/cache"] {
            write(&work, name, "warm");
        }
    }
    assert_eq!(read(&slot.work(), "target/cache"), "warm");
}

#[test]
fn a_submodule_behind_a_link_is_not_looked_for_outside() {
    let world = World::new();
    let parent = world.commit_with_submodule();
    let clone = world.path("deeper");
    world.repo.clone_for_session(&clone, "deeper", &parent, "x").unwrap();
    git(&clone, &["rm", "-q", "--cached", "sub"]);
    let library = git(&world.path("library"), &["rev-parse", "HEAD"]);
    git(&clone, &["update-index", "--add", "--cacheinfo", &format!("160000,{library},kept/sub")]);
    git(&clone, &["commit", "-qm", "deeper"]);
    let deeper = world.repo.fetch_work(&clone, "deeper").unwrap().head;
    let outside = world.path("outside");
    write(&outside, "sub/precious", "not yours\n");
    let slot = Slot::new(&world.path("slot"), vec!["kept/cache".into()]).unwrap();
    let work = slot.check_out(&world.repo, &deeper).unwrap();
    std::fs::remove_dir_all(work.join("kept")).unwrap();
    symlink(&outside, work.join("kept")).unwrap();
    slot.check_out(&world.repo, &deeper).unwrap();
    assert!(work.join("kept/sub").symlink_metadata().unwrap().is_dir() && !work.join("kept").is_symlink());
    assert_eq!(read(&outside, "sub/precious"), "not yours\n");
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
        assert_eq!(std::fs::read_dir(work.join("src")).unwrap().count(), 1, "{name}");
        assert_eq!(read(&outside, "a.txt"), "not yours\n", "{name}");
        assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 1, "{name}");
    }
}
