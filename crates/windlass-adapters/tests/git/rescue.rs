//! No work is lost when a workspace goes.

use std::path::PathBuf;

use windlass_adapters::git::{Begin, FetchError, Kept, RescueError};

use crate::support::{AT, World, canary, git, read, write};

const INTO: &str = "refs/windlass/rescue/dev";

#[test]
fn committed_changed_and_untracked_work_is_saved() {
    let world = World::new();
    let clone = world.clone("dev");
    write(&clone, "committed.txt", "c\n");
    git(&clone, &["add", "-A"]);
    git(&clone, &["commit", "-qm", "work"]);
    let head = git(&clone, &["rev-parse", "HEAD"]);
    write(&clone, "a.txt", "changed\n");
    write(&clone, "deep/untracked.txt", "u\n");
    write(&clone, "ignored/big", "i\n");
    write(&clone, "crlf.txt", "a\r\nb\r\n");
    write(&clone, ".gitattributes", "*.txt text eol=crlf working-tree-encoding=UTF-16\n");
    std::fs::remove_file(clone.join("src/b.txt")).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", clone.join("link")).unwrap();
    let saved = world.repo.remove_workspace(&clone, "dev", INTO, AT).unwrap().unwrap();
    assert!(!clone.exists() && saved.uncommitted && saved.left_out.is_empty());
    let bare = world.repo.path();
    assert_eq!(world.repo.resolve(INTO).unwrap().as_ref(), Some(&saved.commit));
    assert_eq!(git(bare, &["rev-parse", &format!("{INTO}^")]), head);
    let files = git(bare, &["ls-tree", "-r", "--name-only", INTO]);
    let expected = ".gitattributes .gitignore a.txt committed.txt crlf.txt deep/untracked.txt link";
    assert_eq!(files.split('\n').collect::<Vec<_>>().join(" "), expected);
    assert_eq!(git(bare, &["cat-file", "-s", &format!("{INTO}:crlf.txt")]), "6", "bytes as they are");
    assert_eq!(git(bare, &["cat-file", "blob", &format!("{INTO}:link")]), "/etc/passwd");
    // Doing it again finds nothing to do.
    assert_eq!(world.repo.remove_workspace(&clone, "dev", INTO, AT).unwrap(), None);
}

#[test]
fn nothing_is_saved_when_there_is_nothing_new() {
    let world = World::new();
    let clone = world.clone("dev");
    assert_eq!(world.repo.save(&clone, "dev", INTO, AT).unwrap(), None);
    git(&clone, &["commit", "-q", "--allow-empty", "-m", "only a commit"]);
    let saved = world.repo.save(&clone, "dev", INTO, AT).unwrap().unwrap();
    assert!(!saved.uncommitted && saved.commit.to_string() == git(&clone, &["rev-parse", "HEAD"]));
}

#[test]
fn what_cannot_be_saved_is_named_and_nothing_is_run() {
    let world = World::new();
    let clone = world.clone("dev");
    let (script, sign) = canary(&world.path(""), "rescue");
    let script = script.to_str().unwrap();
    // A tracked submodule whose own repository is evil: `git add` would ask it for its state.
    write(&clone, "sub/x", "x");
    git(&clone.join("sub"), &["init", "-q"]);
    git(&clone.join("sub"), &["add", "-A"]);
    git(&clone.join("sub"), &["commit", "-qm", "sub"]);
    let sub = git(&clone.join("sub"), &["rev-parse", "HEAD"]);
    git(&clone, &["update-index", "--add", "--cacheinfo", &format!("160000,{sub},sub")]);
    git(&clone, &["commit", "-qm", "gitlink"]);
    git(&clone.join("sub"), &["config", "core.fsmonitor", script]);
    git(&clone, &["config", "filter.evil.clean", script]);
    write(&clone, ".gitattributes", "* filter=evil\n");
    write(&clone, "keep.txt", "keep\n");
    std::fs::File::create(clone.join("huge.bin")).unwrap().set_len(51 << 20).unwrap();
    std::fs::remove_file(clone.join("a.txt")).unwrap();
    let fifo = clone.join("a.txt");
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    let saved = world.repo.save(&clone, "dev", INTO, AT).unwrap().unwrap();
    let mut left_out = saved.left_out;
    left_out.sort();
    assert_eq!(left_out, ["a.txt", "huge.bin", "sub"].map(PathBuf::from));
    assert_eq!(git(world.repo.path(), &["show", &format!("{INTO}:keep.txt")]), "keep");
    assert!(git(world.repo.path(), &["log", "-1", "--format=%B", INTO]).contains("- huge.bin"));
    assert!(!sign.exists());
}

#[test]
fn a_broken_clone_is_saved_on_top_of_what_was_fetched_last() {
    let world = World::new();
    let clone = world.clone("dev");
    git(&clone, &["commit", "-q", "--allow-empty", "-m", "known"]);
    let known = world.repo.fetch_work(&clone, "dev").unwrap().head;
    std::fs::remove_dir_all(clone.join(".git")).unwrap();
    write(&clone, "late.txt", "late\n");
    let saved = world.repo.remove_workspace(&clone, "dev", INTO, AT).unwrap().unwrap();
    assert_eq!(git(world.repo.path(), &["rev-parse", &format!("{}^", saved.commit)]), known.to_string());
    assert_eq!(git(world.repo.path(), &["show", &format!("{INTO}:late.txt")]), "late");
    // Not even a branch was ever seen: the files alone are saved.
    let other = world.clone("other");
    std::fs::remove_dir_all(other.join(".git")).unwrap();
    let saved =
        world.repo.remove_workspace(&other, "other", "refs/windlass/rescue/other", AT).unwrap().unwrap();
    assert_eq!(git(world.repo.path(), &["show", &format!("{}:a.txt", saved.commit)]), "one\ntwo\nthree");
}

#[test]
fn work_on_another_branch_is_saved_too() {
    let world = World::new();
    let clone = world.clone("dev");
    git(&clone, &["checkout", "-q", "-b", "idea"]);
    write(&clone, "idea.txt", "idea\n");
    git(&clone, &["add", "-A"]);
    git(&clone, &["commit", "-qm", "idea"]);
    let idea = git(&clone, &["rev-parse", "HEAD"]);
    let saved = world.repo.remove_workspace(&clone, "dev", INTO, AT).unwrap().unwrap();
    let parents = git(world.repo.path(), &["show", "-s", "--format=%P", saved.commit.as_str()]);
    assert_eq!(parents, format!("{} {idea}", world.main()));
}

#[test]
fn commits_on_a_renamed_branch_are_saved_with_their_past() {
    let world = World::new();
    let clone = world.clone("dev");
    git(&clone, &["branch", "-q", "-m", "mine"]);
    write(&clone, "draft.txt", "draft\n");
    git(&clone, &["add", "-A"]);
    git(&clone, &["commit", "-qm", "draft"]);
    git(&clone, &["rm", "-q", "draft.txt"]);
    git(&clone, &["commit", "-qm", "no draft"]);
    let head = git(&clone, &["rev-parse", "HEAD"]);
    let saved = world.repo.save(&clone, "dev", INTO, AT).unwrap().unwrap();
    assert_eq!(saved.commit.to_string(), head);
    assert_eq!(git(world.repo.path(), &["show", &format!("{INTO}^:draft.txt")]), "draft");
    // What was fetched before the branch was thrown away is kept beside it.
    let other = world.clone("other");
    git(&other, &["commit", "-q", "--allow-empty", "-m", "known"]);
    let known = world.repo.fetch_work(&other, "other").unwrap().head;
    git(&other, &["checkout", "-q", "-b", "anew", "HEAD^"]);
    git(&other, &["branch", "-q", "-D", "other"]);
    git(&other, &["commit", "-q", "--allow-empty", "-m", "anew"]);
    let anew = git(&other, &["rev-parse", "HEAD"]);
    let saved = world.repo.save(&other, "other", INTO, AT).unwrap().unwrap();
    let parents = git(world.repo.path(), &["show", "-s", "--format=%P", saved.commit.as_str()]);
    assert_eq!(parents, format!("{known} {anew}"));
}

#[test]
fn a_workspace_that_cannot_be_saved_stays() {
    let world = World::new();
    let clone = world.clone("dev");
    write(&clone, "precious.txt", "p");
    let objects = world.repo.path().join("objects");
    let aside = world.path("objects-aside");
    std::fs::rename(&objects, &aside).unwrap();
    let failed = world.repo.remove_workspace(&clone, "dev", INTO, AT);
    assert!(matches!(failed, Err(RescueError::Save { .. })), "{failed:?}");
    assert!(clone.join("precious.txt").exists());
    std::fs::rename(&aside, &objects).unwrap();
    assert!(world.repo.remove_workspace(&clone, "dev", INTO, AT).unwrap().is_some());
}

#[test]
fn a_removal_that_was_killed_is_finished_without_saving_half() {
    let world = World::new();
    let clone = world.clone("dev");
    write(&clone, "work.txt", "w");
    let saved = world.repo.save(&clone, "dev", INTO, AT).unwrap().unwrap();
    let half = world.path(".dev.removing-1-0");
    std::fs::rename(&clone, &half).unwrap();
    std::fs::remove_file(half.join("work.txt")).unwrap();
    assert_eq!(world.repo.remove_workspace(&clone, "dev", INTO, AT).unwrap(), None);
    assert!(!half.exists());
    assert_eq!(world.repo.resolve(INTO).unwrap(), Some(saved.commit));
    // What is not a workspace is not touched.
    let elsewhere = world.path("elsewhere");
    write(&elsewhere, "x", "x");
    std::os::unix::fs::symlink(&elsewhere, &clone).unwrap();
    assert!(matches!(world.repo.remove_workspace(&clone, "dev", INTO, AT), Err(RescueError::Save { .. })));
    assert!(elsewhere.join("x").exists());
}

/// A change that keeps the size and the time of a file is still seen: the clock of the inode cannot be turned back.
#[test]
fn a_change_in_disguise_is_saved_too() {
    let world = World::new();
    let clone = world.clone("dev");
    let path = clone.join("a.txt");
    let (text, time) = (std::fs::read(&path).unwrap(), path.metadata().unwrap().modified().unwrap());
    let disguised: String =
        String::from_utf8(text).unwrap().chars().map(|c| if c == '\n' { c } else { 'x' }).collect();
    std::fs::write(&path, &disguised).unwrap();
    std::fs::File::options().append(true).open(&path).unwrap().set_modified(time).unwrap();
    let saved = world.repo.save(&clone, "dev", INTO, AT).unwrap().expect("something to save");
    assert!(saved.uncommitted);
    assert_eq!(git(world.repo.path(), &["show", &format!("{INTO}:a.txt")]), disguised.trim());
}

/// What was saved comes back as it was: commits as commits, the rest uncommitted, and every byte the same.
#[test]
fn a_workspace_that_was_removed_is_made_again_as_it_was() {
    let world = World::new();
    let clone = world.clone("dev");
    assert_eq!(world.repo.kept(INTO, "dev").unwrap(), None);
    write(&clone, "committed.txt", "c\n");
    git(&clone, &["add", "-A"]);
    git(&clone, &["commit", "-qm", "work"]);
    let head = world.repo.fetch_work(&clone, "dev").unwrap().head;
    world.repo.save(&clone, "dev", INTO, AT).unwrap().unwrap();
    assert_eq!(world.repo.kept(INTO, "dev").unwrap(), Some(Kept { head: Some(head.clone()), files: None }));
    write(&clone, "a.txt", "changed\n");
    write(&clone, "new/untracked.txt", "u\r\n");
    write(&clone, ".gitattributes", "*.txt text eol=crlf\n");
    std::fs::remove_file(clone.join("src/b.txt")).unwrap();
    let before = git(&clone, &["status", "--porcelain"]);
    let saved = world.repo.remove_workspace(&clone, "dev", INTO, AT).unwrap().unwrap();
    let kept = world.repo.kept(INTO, "dev").unwrap().unwrap();
    assert_eq!(kept, Kept { head: Some(head.clone()), files: Some(saved.commit) });
    // Its files may come from a spare, which here is its own.
    let begin = Begin { at: &head, files: kept.files.as_ref() };
    world.repo.clone_with_files(&clone, "dev", begin, "dev-1.1-2").unwrap();
    assert_eq!(git(&clone, &["rev-parse", "HEAD"]), head.to_string());
    assert_eq!(git(&clone, &["status", "--porcelain"]), before);
    for (name, text) in [("a.txt", "changed\n"), ("new/untracked.txt", "u\r\n"), ("committed.txt", "c\n")] {
        assert_eq!(read(&clone, name), text);
    }
    assert!(!clone.join("src/b.txt").exists() && !clone.join(".git/info/attributes").exists());
    let again = world.repo.save(&clone, "dev", INTO, AT).unwrap().unwrap();
    let tree = |commit| world.repo.tree_of(commit).unwrap();
    assert_eq!(tree(&again.commit), tree(kept.files.as_ref().unwrap()));
}

#[test]
fn what_git_would_not_save_is_known_before() {
    let world = World::new();
    let clone = world.clone("dev");
    let unsavable = || world.repo.unsavable(&clone, "dev").unwrap();
    write(&clone, "a.txt", "first\n");
    git(&clone, &["commit", "-qam", "work"]);
    git(&clone, &["tag", "here"]);
    git(&clone, &["branch", "here-too"]);
    assert_eq!(unsavable(), [""; 0], "these name the same commit");
    git(&clone, &["checkout", "-q", "-b", "idea"]);
    git(&clone, &["commit", "-q", "--allow-empty", "-m", "idea"]);
    assert_eq!(unsavable(), [""; 0], "what HEAD is on is saved");
    git(&clone, &["checkout", "-q", "dev"]);
    assert_eq!(unsavable(), ["refs/heads/idea"]);
    git(&clone, &["branch", "-qD", "idea"]);
    write(&clone, "a.txt", "second\n");
    git(&clone, &["stash", "-q"]);
    assert_eq!(unsavable(), ["refs/stash"]);
    git(&clone, &["stash", "drop", "-q"]);
    std::fs::File::create(clone.join("huge.bin")).unwrap().set_len(51 << 20).unwrap();
    assert_eq!(unsavable(), ["huge.bin"]);
    std::fs::remove_dir_all(clone.join(".git")).unwrap();
    assert_eq!(unsavable(), ["huge.bin"]);
    write(&clone, ".git", "gitdir: /elsewhere\n");
    assert!(world.repo.unsavable(&clone, "dev").is_err());
    let link = world.path("link");
    std::os::unix::fs::symlink(&clone, &link).unwrap();
    assert!(
        matches!(world.repo.unsavable(&link, "dev"), Err(FetchError::Gone)),
        "it is not ours to look into"
    );
    let broken = world.clone("broken");
    write(&broken, ".git/HEAD", "nonsense\n");
    assert!(matches!(world.repo.unsavable(&broken, "broken"), Err(FetchError::Broken { .. })));
}
