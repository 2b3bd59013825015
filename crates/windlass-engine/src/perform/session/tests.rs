//! Checkouts of reviews over a restart.

use windlass_core::id::{IssueNumber, TaskId};

use super::*;
use crate::perform::place::Place;

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
