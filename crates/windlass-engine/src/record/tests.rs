//! Pages: several events of one task before anything is written, and what must not be lost between them.

use windlass_core::id::{ChangeNumber, IssueNumber};
use windlass_core::phase::Phase;
use windlass_core::task::{Claim, Crash};
use windlass_core::time::Span;
use windlass_store::{EventQuery, SqliteStore, Store, UsageRow};

use super::*;

const AT: Millis = Millis(1_000);

struct Desk {
    book: Book,
    store: SqliteStore,
}

impl Desk {
    fn new() -> Self {
        let book = Book::new(Policy::default(), Layout::new("/nowhere"));
        Self { book, store: SqliteStore::open_in_memory().unwrap() }
    }

    fn claim(&mut self) -> TaskId {
        let asked = Claim { issue: IssueNumber(7), title: "t".into(), nth: 1, branch_prefix: "w/".into() };
        self.book.claim(AT, asked);
        TaskId::nth(IssueNumber(7), 1)
    }

    fn write(&mut self) -> Vec<String> {
        let written = self.book.commit(&self.store, |error| panic!("{error}")).unwrap();
        written.orders.iter().map(|order| order.effect.name().to_owned()).collect()
    }

    fn pending(&self) -> Vec<String> {
        self.store.pending_effects().unwrap().iter().map(|effect| effect.effect.name().to_owned()).collect()
    }
}

fn abandon() -> Event {
    Event::AbandonAsked { by: "ann".into() }
}

#[test]
fn a_task_that_ends_voids_the_work_ordered_on_the_same_page() {
    let mut desk = Desk::new();
    let task = desk.claim();
    assert!(desk.book.happened(AT, &task, &abandon()));
    let orders = desk.write();
    assert_eq!(orders, ["set_labels", "stop_session", "set_labels", "comment"]);
    assert_eq!(desk.pending(), orders);
}

#[test]
fn a_late_answer_reaches_a_task_that_ended_on_the_same_page() {
    let mut desk = Desk::new();
    let task = desk.claim();
    desk.write();
    desk.book.happened(AT, &task, &abandon());
    assert!(desk.book.recall(&task), "the store still says that it lives");
    assert!(desk.book.happened(AT, &task, &Event::ChangeOpened { number: ChangeNumber(8) }));
    desk.write();
    let stored = desk.store.task(&task).unwrap().unwrap();
    assert_eq!((stored.value.state.name(), stored.value.change), ("ABANDONED", Some(ChangeNumber(8))));
    assert!(desk.book.tasks.is_empty());
}

#[test]
fn a_late_answer_does_not_void_the_cleaning_up() {
    let mut desk = Desk::new();
    let task = desk.claim();
    desk.write();
    desk.book.happened(AT, &task, &abandon());
    desk.write();
    let before = desk.pending();
    assert!(before.contains(&"stop_session".to_owned()), "{before:?}");
    let found = desk.store.task(&task).unwrap().unwrap();
    desk.book.remember(found.value, found.version);
    desk.book.happened(AT, &task, &Event::ChangeOpened { number: ChangeNumber(8) });
    desk.write();
    assert_eq!(desk.pending(), before);
}

#[test]
fn work_that_ends_while_its_end_is_being_written_is_void() {
    let mut desk = Desk::new();
    let task = desk.claim();
    desk.write();
    assert!(!desk.book.cancels(&task));
    desk.book.happened(AT, &task, &abandon());
    assert!(desk.book.cancels(&task));
    assert!(desk.book.orders(|effect| matches!(effect, Effect::StopSession { .. })));
    desk.write();
    assert!(!desk.book.cancels(&task) && !desk.book.orders(|_| true));
}

#[test]
fn a_stale_event_leaves_no_ended_task_in_memory() {
    let mut desk = Desk::new();
    let task = desk.claim();
    desk.book.happened(AT, &task, &abandon());
    desk.write();
    let found = desk.store.task(&task).unwrap().unwrap();
    desk.book.remember(found.value, found.version);
    assert!(!desk.book.happened(AT, &task, &Event::SlotGranted));
    assert!(desk.book.tasks.is_empty());
    assert!(desk.book.is_blank());
}

#[test]
fn event_state_and_orders_are_one_write() {
    let mut desk = Desk::new();
    let task = desk.claim();
    let session = desk.book.tasks[&task].session.clone();
    desk.book.happened(AT, &task, &Event::SessionStarted { session: session.clone() });
    desk.book.happened(AT, &task, &Event::PhaseSeen { session: session.clone(), phase: Phase::AwaitingCi });
    desk.write();
    let kinds: Vec<&str> = desk
        .store
        .events(&EventQuery::default())
        .unwrap()
        .iter()
        .map(|event| event.entry.fact.kind())
        .collect();
    assert_eq!(
        kinds,
        [
            "task_claimed",
            "hook_updated",
            "agent_registered",
            "session_started",
            "task_moved",
            "hook_updated",
            "phase_seen"
        ]
    );
    assert_eq!(desk.store.task(&task).unwrap().unwrap().version, 3);
    assert!(
        desk.store.identity(&session).unwrap().is_some(),
        "an identity is written before its process starts"
    );
    assert_eq!(desk.pending().last().unwrap(), "fetch_work");
}

#[test]
fn a_replaced_session_is_stopped_though_the_task_ends_first() {
    let mut desk = Desk::new();
    let task = desk.claim();
    let session = desk.book.tasks[&task].session.clone();
    let crashed = Event::AgentCrashed { session: session.clone(), how: task::Crash::Silent };
    desk.book.happened(AT, &task, &Event::SessionStarted { session });
    desk.book.happened(AT, &task, &crashed);
    desk.write();
    assert!(desk.pending().contains(&"start_session".to_owned()));
    desk.book.happened(AT, &task, &abandon());
    desk.write();
    let stops = desk.pending().iter().filter(|name| *name == "stop_session").count();
    assert_eq!(stops, 2, "the silent session and its successor: {:?}", desk.pending());
    assert!(!desk.pending().contains(&"start_session".to_owned()));
}

#[test]
fn what_all_have_spent_is_what_the_store_knows_also_after_it_was_asked() {
    let mut desk = Desk::new();
    let task = desk.claim();
    let spends = |at: Millis, cost_micro_usd: u64| {
        Op::AddUsage(UsageRow {
            session: SessionId::dev(&task, 1),
            task: task.clone(),
            issue: IssueNumber(7),
            at,
            input: 0,
            cache_write: 0,
            cache_read: 0,
            output: 0,
            model: String::new(),
            cost_micro_usd,
        })
    };
    let mut spent = Vec::new();
    for (at, cost) in [(AT, 20), (AT + Span::secs(1), 3)] {
        desk.book.put(spends(at, cost));
        // What is only on the page is not spent yet, and asking for it must not hide it later.
        spent.push(desk.book.spent(&desk.store, Millis(0)).unwrap());
        desk.write();
        spent.push(desk.book.spent(&desk.store, Millis(0)).unwrap());
    }
    spent.push(desk.book.spent(&desk.store, AT + Span::secs(1)).unwrap());
    assert_eq!(spent, [0, 20, 20, 23, 3]);
}

/// Its task goes on with it, so it has to be listened to.
#[test]
fn regression_an_agent_that_dies_when_it_has_said_all_is_still_looked_at() {
    let mut desk = Desk::new();
    let task = desk.claim();
    let session = SessionId::dev(&task, 1);
    desk.book.happened(AT, &task, &Event::SessionStarted { session: session.clone() });
    let phase = Phase::AwaitingCi;
    assert!(desk.book.happened(AT, &task, &Event::PhaseSeen { session: session.clone(), phase }));
    let how = Crash::Exited { code: 1 };
    assert!(desk.book.happened(AT, &task, &Event::AgentCrashed { session: session.clone(), how }));
    desk.write();
    assert_eq!(desk.book.tasks[&task].session, session);
    assert!(desk.book.identities.contains_key(&session));
}
