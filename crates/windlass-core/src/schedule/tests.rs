//! Order, slots, limits and dependencies, one rule a test.

use super::*;
use crate::id::Sha;
use crate::policy::Policy;
use crate::task::{Claim, Critic, Feedback, claim};

fn issue(number: u64, labels: &[&str], body: &str) -> (IssueNumber, Candidate) {
    let candidate = Candidate {
        number: IssueNumber(number),
        open: true,
        labels: labels.iter().map(|label| (*label).to_owned()).collect(),
        created_at: Millis(i64::try_from(number).unwrap()),
        on: deps::parse(body),
    };
    (candidate.number, candidate)
}

fn task(number: u64, state: State) -> Task {
    let asked =
        Claim { issue: IssueNumber(number), title: "t".into(), nth: 1, branch_prefix: "windlass/".into() };
    let mut task = claim(&Policy::default(), asked, Millis(0)).task;
    task.state = state;
    task
}

fn waiting(number: u64, since: i64) -> Task {
    let mut task = task(number, State::AwaitingSlot { feedback: Feedback::LimitOver });
    task.since = Millis(since);
    task
}

fn finished(number: u64) -> Task {
    let sha = || Sha::parse(&"a".repeat(40)).unwrap();
    task(number, State::AwaitingCritic { head: sha(), tree: sha(), critic: Critic::Wanted })
}

fn run(
    policy: &Policy,
    issues: &[(IssueNumber, Candidate)],
    live: &[Task],
    ended: &[u64],
    hold: Option<Hold>,
) -> Decision {
    let issues: BTreeMap<IssueNumber, Candidate> = issues.iter().cloned().collect();
    let live: Vec<&Task> = live.iter().collect();
    let ended: BTreeSet<IssueNumber> = ended.iter().map(|n| IssueNumber(*n)).collect();
    decide(
        policy,
        &Situation { now: Millis(0), issues: &issues, live: &live, ended: &ended, hold, only: None },
    )
}

fn taken(decision: &Decision) -> Vec<u64> {
    decision.take.iter().map(|number| number.0).collect()
}

#[test]
fn orphans_then_priority_then_age() {
    let issues = [
        issue(1, &["backlog"], ""),
        issue(2, &["backlog", "priority"], ""),
        issue(3, &["in-progress"], ""),
        issue(4, &["backlog"], ""),
        issue(5, &[], ""),
    ];
    let decision = run(&Policy::default(), &issues, &[], &[], None);
    assert_eq!(taken(&decision), [3, 2, 1]);
    assert_eq!(decision.skipped[&IssueNumber(4)], Skip::NoSlot { parallel: 3 });
    assert_eq!(decision.skipped[&IssueNumber(5)], Skip::NotInBacklog);
}

#[test]
fn feedback_goes_before_new_work_and_the_oldest_first() {
    let policy = Policy { parallel: 2, ..Policy::default() };
    let live = [waiting(1, 20), waiting(2, 10), waiting(3, 30)];
    let decision = run(&policy, &[issue(9, &["backlog"], "")], &live, &[], None);
    let granted: Vec<&str> = decision.grant.iter().map(TaskId::as_str).collect();
    assert_eq!(granted, ["2.1", "1.1"]);
    assert_eq!(taken(&decision), [0u64; 0]);
}

#[test]
fn paused_tasks_hold_no_slot_but_count_as_open_changes() {
    let paused = || State::AwaitingHuman { question: "?".into(), notified_at: Millis(0) };
    let live: Vec<Task> = (1..=6).map(|n| task(n, paused())).collect();
    let work = [issue(9, &["backlog"], "")];
    let roomy = Policy { max_open_changes: 7, ..Policy::default() };
    assert_eq!(taken(&run(&roomy, &work, &live, &[], None)), [9]);
    let tight = run(&Policy::default(), &work, &live, &[], None);
    assert_eq!(tight.skipped[&IssueNumber(9)], Skip::TooManyOpenChanges { limit: 6 });
}

#[test]
fn an_issue_has_one_task_and_is_not_taken_again_by_itself() {
    let issues = [issue(1, &["backlog"], ""), issue(2, &["backlog"], "")];
    let decision = run(&Policy::default(), &issues, &[task(1, State::Dispatched)], &[2], None);
    assert_eq!(taken(&decision), [0u64; 0]);
    assert_eq!(decision.skipped[&IssueNumber(2)], Skip::Ended);
}

#[test]
fn dependencies_hold_an_issue_until_they_are_closed() {
    let mut issues = [
        issue(1, &["backlog"], "depends on #2"),
        issue(2, &["other"], ""),
        issue(3, &["backlog"], "depends on #99"),
        issue(4, &["backlog"], "depends on #5"),
        issue(5, &["backlog"], "depends on #4"),
    ];
    let decision = run(&Policy::default(), &issues, &[], &[], None);
    let why = |n| decision.skipped[&IssueNumber(n)].clone();
    assert_eq!(why(1), Skip::WaitsFor(vec![IssueNumber(2)]));
    assert_eq!(why(3), Skip::MissingDependency(vec![IssueNumber(99)]));
    assert_eq!(why(4), Skip::Circle(vec![IssueNumber(4), IssueNumber(5)]));
    assert_eq!(why(5), why(4));
    issues[1].1.open = false;
    assert_eq!(taken(&run(&Policy::default(), &issues, &[], &[], None)), [1]);
}

#[test]
fn a_dependency_that_is_open_for_too_long_is_named() {
    let issues: BTreeMap<IssueNumber, Candidate> =
        [issue(1, &["backlog"], "depends on #2"), issue(2, &["other"], "")].into_iter().collect();
    let now = Millis(2) + Span::days(31);
    let situation =
        Situation { now, issues: &issues, live: &[], ended: &BTreeSet::new(), hold: None, only: None };
    let decision = decide(&Policy::default(), &situation);
    let long = Skip::WaitsLong { on: vec![IssueNumber(2)], days: 31 };
    assert_eq!(decision.skipped[&IssueNumber(1)], long);
}

#[test]
fn finished_work_gets_a_critic_without_a_slot() {
    let policy = Policy { parallel: 0, ..Policy::default() };
    let decision = run(&policy, &[], &[finished(3), waiting(2, 0)], &[], None);
    assert_eq!(decision.read.iter().map(TaskId::as_str).collect::<Vec<_>>(), ["3.1"]);
}

#[test]
fn a_hold_starts_and_resumes_nothing() {
    let (issues, live) = ([issue(1, &["backlog"], "")], [waiting(2, 0), finished(3)]);
    let decision = run(&Policy::default(), &issues, &live, &[], Some(Hold::Paused(Pause::default())));
    assert_eq!((decision.grant.len(), decision.take.len(), decision.read.len()), (0, 0, 0));
    assert_eq!(decision.skipped[&IssueNumber(1)], Skip::Held(Hold::Paused(Pause::default())));
}

#[test]
fn who_is_held_up_is_looked_at_again_and_nobody_else() {
    let spent = || Hold::first(&Policy::default(), None, None, 25_000_000);
    assert!(matches!(spent(), Some(Hold::DaySpent { .. })), "{:?}", spent());
    let backlog = [issue(1, &["backlog"], "")];
    let looks =
        |issues: &[_], live: &[Task], hold| run(&Policy::default(), issues, live, &[], hold).look_again;
    assert!(looks(&[], &[waiting(2, 0)], spent()), "a session that waits for a slot, and no issue");
    assert!(looks(&[], &[finished(3)], spent()), "work that waits for a critic");
    assert!(looks(&backlog, &[], spent()));
    assert!(!looks(&[], &[], spent()), "nobody waits");
    assert!(!looks(&backlog, &[waiting(2, 0)], None), "nothing holds them up");
}

#[test]
fn a_person_holds_up_before_the_machine_and_the_machine_before_the_money() {
    let low = || Some(Hold::LowDisk { free_mb: 1, wanted_mb: 2 });
    let first = |pause, room, spent| Hold::first(&Policy::default(), pause, room, spent);
    let pause = Pause { reason: Some("release day".into()) };
    assert_eq!(first(Some(pause.clone()), low(), 25_000_000), Some(Hold::Paused(pause)));
    assert_eq!(first(None, low(), 25_000_000), low());
    assert_eq!(first(None, None, 24_999_999), None);
}

#[test]
fn a_pause_is_read_as_it_was_stored_and_any_text_is_one() {
    let sentence = |pause| Hold::Paused(pause).sentence();
    let pause = Pause { reason: Some("release\nday".into()) };
    assert_eq!(Pause::stored(&pause.text()), pause);
    assert_eq!(sentence(pause), "the factory is paused: release day");
    for text in [Pause::default().text().as_str(), "yes", "", "{}", "{\"by\":\"ann\"}"] {
        assert_eq!(sentence(Pause::stored(text)), "the factory is paused", "{text}");
    }
}

#[test]
fn labels_keep_an_issue_out() {
    let issues = [
        issue(1, &["backlog", "blocked"], ""),
        issue(2, &["backlog", "underspecified"], ""),
        issue(3, &["backlog", "loop:abandon"], ""),
    ];
    let decision = run(&Policy::default(), &issues, &[], &[], None);
    let why: Vec<&Skip> = decision.skipped.values().collect();
    assert_eq!(why, [&Skip::Blocked, &Skip::Underspecified, &Skip::AbandonAsked]);
}

#[test]
fn a_label_takes_an_issue_before_what_it_depends_on() {
    let issues = [
        issue(1, &[], ""),
        issue(2, &["backlog"], "Depends on #1"),
        issue(3, &["backlog", "ignore-deps"], "Depends on #1 and #9"),
        issue(4, &["ignore-deps"], "Depends on #1"),
    ];
    let decision = run(&Policy::default(), &issues, &[], &[], None);
    assert_eq!(decision.take, [IssueNumber(3)]);
    assert_eq!(decision.skipped[&IssueNumber(4)], Skip::NotInBacklog, "it does not mark work by itself");
}

proptest::proptest! {
    /// Whatever waits: never more at work than `parallel`, nothing taken twice, nothing decided twice.
    #[test]
    fn slots_are_never_exceeded(
        parallel in 0u32..5, running in 0usize..5, waiting_n in 0usize..6, new in 0u64..8, open_limit in 0u32..8,
    ) {
        let policy = Policy { parallel, max_open_changes: open_limit, ..Policy::default() };
        let mut live: Vec<Task> = (0..running).map(|n| task(100 + n as u64, State::Dispatched)).collect();
        live.extend((0..waiting_n).map(|n| waiting(200 + n as u64, 0)));
        let issues: Vec<_> = (1..=new).map(|n| issue(n, &["backlog"], "")).collect();
        let decision = run(&policy, &issues, &live, &[], None);
        let started = decision.grant.len() + decision.take.len();
        proptest::prop_assert!(started <= (parallel as usize).saturating_sub(running));
        let once: BTreeSet<_> = decision.take.iter().collect();
        proptest::prop_assert_eq!(once.len(), decision.take.len());
        proptest::prop_assert_eq!(decision.take.len() + decision.skipped.len(), issues.len());
    }
}
