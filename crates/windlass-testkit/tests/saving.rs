//! The removal of a workspace on real git, with the deliberate bug in it and without: no work may be lost.

use std::path::Path;
use std::process::Command;

use windlass_adapters::git::{BareRepo, Git, RESCUE};
use windlass_core::bugs::{self, Bug};
use windlass_core::time::Millis;

const AT: Millis = Millis(1_700_000_000_000);

/// Files that lay in a workspace and are nowhere after it went: one in a commit, one in none.
fn lost(bug: Option<Bug>) -> Vec<&'static str> {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let (user, clone) = (folder.path().join("user"), folder.path().join("clone"));
    std::fs::create_dir(&user).expect("a folder can be made");
    git(&user, &["init", "-q", "-b", "main"]);
    git(&user, &["commit", "-q", "--allow-empty", "-m", "begin"]);
    let runner = Git::new(std::env::var("PATH").expect("a search path"));
    let repo = BareRepo::create_from(&runner, &folder.path().join("repo.git"), &user, "main").expect("made");
    repo.clone_for_session(&clone, "w/1", &repo.main_tip("main").expect("main"), "dev-1.1-1").expect("made");
    std::fs::write(clone.join("committed"), "work").expect("written");
    git(&clone, &["add", "committed"]);
    git(&clone, &["commit", "-q", "-m", "work"]);
    std::fs::write(clone.join("uncommitted"), "more work").expect("written");
    let saved = format!("{RESCUE}1.1");
    let removed = bugs::with(bug, || repo.remove_workspace(&clone, "w/1", &saved, AT));
    removed.expect("it can be removed");
    assert!(!clone.exists(), "it is gone");
    let is_safe = |name: &str| {
        let mut look = Command::new("git");
        look.args(["cat-file", "-e", &format!("{saved}:{name}")]).current_dir(repo.path());
        look.output().expect("git runs").status.success()
    };
    ["committed", "uncommitted"].into_iter().filter(|name| !is_safe(name)).collect()
}

#[test]
fn no_work_is_lost_with_its_workspace_and_a_removal_that_saves_nothing_is_seen() {
    assert_eq!(lost(None), Vec::<&str>::new());
    assert_eq!(lost(Some(Bug::RemovalWithoutSaving)), ["committed", "uncommitted"]);
}

fn git(folder: &Path, args: &[&str]) {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=u", "-c", "user.email=u@localhost"]).args(args).current_dir(folder);
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    let done = command.output().expect("git runs");
    assert!(done.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&done.stderr));
}
