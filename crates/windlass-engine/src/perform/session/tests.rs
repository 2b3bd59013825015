//! Checkouts of reviews over a restart, and what goes on from session to session.

use windlass_adapters::shim::{End, FACTS, Fact};
use windlass_core::id::{IssueNumber, TaskId};
use windlass_core::message;
use windlass_core::task::{Claim, Crash};

use super::*;
use crate::perform::place::{AT, Place};
use crate::record::Book;

#[test]
fn a_review_keeps_its_checkout_though_the_daemon_died_before_it_wrote_down_that_it_runs() {
    let Place { folder, world, .. } = Place::new();
    let review = |issue| SessionId::review(&TaskId::nth(IssueNumber(issue), 1), 1);
    let (running, other) = (review(7), review(8));
    let checkout = Slot::new(&world.layout.review_slot(1), Vec::new()).unwrap().work();
    let context = context(&world, Role::Review, &running, &checkout, &Conversation::New("c".into())).unwrap();
    client::prepare(&world.layout.session(&running), &world.driver(Role::Review).launch(&context)).unwrap();

    let slots = ReviewSlots::default();
    slots.remember(&world.layout, &running);
    slots.remember(&world.layout, &other);
    assert_eq!(slots.take(&other), 2, "the critic at work must not have its files replaced");
    assert_eq!(slots.take(&running), 1);
    drop(folder);
}

/// It died in the turn in which it heard it, and its successor knew nothing of the conversation.
#[test]
fn regression_what_the_first_of_a_line_was_told_reaches_the_third() {
    let Place { folder, world, .. } = Place::new();
    let task = TaskId::nth(IssueNumber(7), 1);
    let [first, second, third] = [1, 2, 3].map(|nth| SessionId::dev(&task, nth));
    let mut book = Book::new(world.settings.policy.clone(), world.layout.clone());
    book.claim(AT, Claim { issue: IssueNumber(7), title: "t".into(), nth: 1, branch_prefix: "w/".into() });
    book.happened(AT, &task, &Event::SessionStarted { session: first.clone() });
    let how = Crash::Killed { signal: 9 };
    assert!(book.happened(AT, &task, &Event::AgentCrashed { session: first.clone(), how }));
    book.commit(world.store.as_ref(), |error| panic!("{error}")).unwrap();

    for (session, text) in [(&first, message::told("ann", "blue")), (&second, "go on".to_owned())] {
        let folder = world.layout.session(session);
        files::private_dir(&folder).unwrap();
        client::say(&folder, "m", &text).unwrap();
        let facts = [
            Fact::Delivered { message: "m".into(), at: AT },
            Fact::TurnEnded { message: "m".into(), at: AT, end: End::Signal(9) },
        ];
        let facts = facts.map(|fact| serde_json::to_string(&fact).unwrap() + "\n");
        std::fs::write(folder.join(FACTS), facts.concat()).unwrap();
    }
    let start = Start::Recover { predecessor: second };
    let passed_on = passed_on(&world, &start, &conversation::new(&world, &third)).unwrap();
    assert_eq!(passed_on, [Message { id: "m".into(), text: message::told("ann", "blue") }]);
    drop(folder);
}
