//! A workspace that was made before a crash, and what is said of it after.

use windlass_core::id::IssueNumber;
use windlass_core::task::{self, Claim};

use super::*;
use crate::perform::place::{AT, Place, commit, git};

fn base_of(report: Report) -> Sha {
    match report.event {
        Some(Event::WorkspaceReady { base }) => base,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_workspace_from_before_a_crash_grows_from_where_it_was_made_though_main_has_moved() {
    let Place { folder, user, world, main } = Place::new();
    let asked = Claim { issue: IssueNumber(7), title: "b".into(), nth: 1, branch_prefix: "w/".into() };
    let task = task::claim(&world.settings.policy, asked, AT).task;
    assert_eq!(base_of(make(&world, &task, &task.branch).unwrap()), main);
    // The daemon was killed before it wrote that down, and somebody else lands first.
    commit(&user, "later");
    git(&user, &["push", "-q", world.repo.path().to_str().unwrap(), "HEAD:refs/heads/main"]);
    assert_ne!(world.repo.main_tip("main").unwrap(), main);
    assert_eq!(base_of(make(&world, &task, &task.branch).unwrap()), main);
    drop(folder);
}
