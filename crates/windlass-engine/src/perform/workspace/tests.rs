//! A workspace that was made before a crash, and what is said of it after.

use windlass_core::id::IssueNumber;
use windlass_core::task::{self, Claim, Feedback, State};

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

/// CI or the critic could not work and a person has mended that: nothing speaks against the head. One that was turned down
/// must become another.
#[test]
fn a_head_that_nobody_turned_down_may_be_signalled_again() {
    let Place { folder, world, .. } = Place::new();
    let asked = Claim { issue: IssueNumber(7), title: "b".into(), nth: 1, branch_prefix: "w/".into() };
    let mut task = task::claim(&world.settings.policy, asked, AT).task;
    task.base = Some(base_of(make(&world, &task, &task.branch).unwrap()));
    commit(&world.layout.workspace(&task.id), "work");
    let fetched = |task: &Task| fetch(&world, task, &task.session, &task.branch).unwrap().event.unwrap();
    let Event::WorkFetched { head, .. } = fetched(&task) else { panic!("it is work") };
    task.pushed = Some(head);
    let mended = Feedback::Answer { by: "ann".into(), text: "the key is mended".into() };
    task.state = State::Revising { feedback: mended, heard: None };
    assert!(matches!(fetched(&task), Event::WorkFetched { .. }));
    let failed = Feedback::CiFailed { head: "abc".into(), failing: Vec::new(), log: String::new() };
    task.state = State::Revising { feedback: failed, heard: None };
    let again = fetched(&task);
    assert!(matches!(&again, Event::WorkRejected { why: Rejection::NothingNew { .. }, .. }), "{again:?}");
    drop(folder);
}
