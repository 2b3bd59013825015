//! Candidates that must never land, on a real repository: what a wrong merge would do to others' work.

use tempfile::TempDir;
use windlass_core::build::TreeVerdict;
use windlass_core::id::SessionId;
use windlass_core::phase::Phase;
use windlass_core::policy::Policy;
use windlass_core::task::{Claim, Event};
use windlass_store::{Op, Write};

use super::*;
use crate::perform::place::{AT, Place, commit, git};
use crate::record::Book;

struct Desk {
    folder: TempDir,
    world: World,
}

impl Desk {
    /// Main holds `a`, made by somebody else; the change began before that and adds `b`.
    fn new() -> (Self, Sha, Change) {
        let Place { folder, user, world, main } = Place::new();
        let begin = git(&user, &["rev-parse", "HEAD~1"]);
        git(&user, &["switch", "-q", "-c", "change", &begin]);
        commit(&user, "b");
        git(&user, &["push", "-q", world.repo.path().to_str().unwrap(), "HEAD:refs/heads/change"]);
        let head = Sha::parse(&git(&user, &["rev-parse", "HEAD"])).unwrap();
        let desk = Self { folder, world };
        let change = desk.approve(head);
        (desk, main, change)
    }

    /// The head goes the usual way until the critic has approved it.
    fn approve(&self, head: Sha) -> Change {
        let mut book = Book::new(Policy::default(), self.world.layout.clone());
        let asked = Claim { issue: IssueNumber(7), title: "b".into(), nth: 1, branch_prefix: "w/".into() };
        book.claim(AT, asked);
        let task = TaskId::nth(IssueNumber(7), 1);
        let (session, tree) = (SessionId::dev(&task, 1), head.clone());
        let report = serde_json::json!({"head": head, "verdict": "APPROVE", "summary": "", "comments": []});
        for event in [
            Event::PhaseSeen { session: session.clone(), phase: Phase::AwaitingCi },
            Event::WorkFetched { session, head: head.clone(), tree: tree.clone() },
            Event::BuildPassed { tree },
            Event::CriticGranted,
            Event::VerdictGiven { report: serde_json::from_value(report).unwrap() },
        ] {
            assert!(book.happened(AT, &task, &event), "{event:?}");
        }
        book.commit(self.world.store.as_ref(), |error| panic!("{error}")).unwrap();
        Change { task, head }
    }

    fn write(&self, op: Op) {
        self.world.store.commit(Write::from(vec![op])).unwrap();
    }

    /// A candidate whose tests are green, whatever is in it.
    fn green(&self, change: &Change, tree: &Sha, parents: &[&Sha], history: History) -> Link {
        let candidate = self.world.repo.commit_tree(tree, parents, "candidate", AT).unwrap();
        let verdict = TreeVerdict {
            tree: tree.clone(),
            recipe: self.world.settings.recipe(),
            build: BuildId::stored("b-1"),
            at: AT,
            result: TreeResult::Pass,
        };
        self.write(Op::SaveVerdict(verdict));
        Link { change: change.clone(), candidate, tree: tree.clone(), history }
    }

    fn land(&self, main: &Sha, link: Link) -> Landing {
        attempt(&self.world, &Plan { links: std::slice::from_ref(&link), expected: main, at: AT }, &link)
            .unwrap()
    }

    fn main(&self) -> Sha {
        assert!(self.folder.path().exists());
        self.world.repo.main_tip("main").unwrap()
    }
}

fn why(landing: Landing) -> String {
    match landing {
        Landing::Refused { why, .. } => why,
        other => panic!("{other:?}"),
    }
}

#[test]
fn regression_a_merge_with_a_wrong_base_that_reverts_others_is_caught_by_its_paths() {
    let (desk, main, change) = Desk::new();
    let reverts = desk.world.repo.tree_of(&change.head).unwrap();
    let link = desk.green(&change, &reverts, &[&main, &change.head], History::Merge);
    assert_eq!(why(desk.land(&main, link)), "the candidate touches `a`, which no change in it does");
    assert_eq!(desk.main(), main);
}

#[test]
fn regression_a_squash_with_a_wrong_base_that_reverts_others_never_lands() {
    let (desk, main, change) = Desk::new();
    let reverts = desk.world.repo.tree_of(&change.head).unwrap();
    for history in [History::Squash, History::Rebase] {
        let link = desk.green(&change, &reverts, &[&main], history);
        assert_eq!(
            why(desk.land(&main, link)),
            "the candidate is not the approved head on the expected main"
        );
    }
    assert_eq!(desk.main(), main);
    let Merged::Clean { tree } = desk.world.repo.merge_tree(&main, &change.head).unwrap() else {
        panic!("it merges")
    };
    let link = desk.green(&change, &tree, &[&main], History::Squash);
    let commit = link.candidate.clone();
    assert!(matches!(desk.land(&main, link.clone()), Landing::Landed { .. }));
    assert_eq!(desk.main(), commit);
    assert!(desk.world.repo.contains(&commit, &change.head).unwrap(), "its mark moved with main");
    assert!(matches!(desk.land(&main, link), Landing::Landed { .. }), "again, as after a crash");
}

#[test]
fn nothing_lands_while_the_queue_is_paused_but_what_has_landed_is_known() {
    let (desk, main, change) = Desk::new();
    let Merged::Clean { tree } = desk.world.repo.merge_tree(&main, &change.head).unwrap() else {
        panic!("it merges")
    };
    let link = desk.green(&change, &tree, &[&main, &change.head], History::Merge);
    let pause = |value: Option<String>| desk.write(Op::SetControl { key: PAUSED_KEY.into(), value });
    pause(Some("release day".into()));
    assert!(matches!(desk.land(&main, link.clone()), Landing::Stale));
    assert_eq!(desk.main(), main);
    pause(None);
    assert!(matches!(desk.land(&main, link.clone()), Landing::Landed { .. }));
    pause(Some("release day".into()));
    assert!(matches!(desk.land(&main, link), Landing::Landed { .. }));
}
