//! Stories: events in, states and orders out.

use super::*;
use crate::id::Sha;
use crate::policy::Policy;
use crate::verdict::{Category, CriticComment, CriticReport, Decision, Severity};

/// Tells a task's story: each word is an event, each word of the answer a state, or `!` for a stale event.
fn story(words: &str) -> String {
    let policy = Policy::default();
    let mut teller = Teller::new(&policy);
    let told: Vec<String> = words.split_whitespace().map(|word| teller.tell(&policy, word)).collect();
    told.join(" ")
}

fn sha(n: u64) -> Sha {
    Sha::parse(&format!("{n:040x}")).unwrap()
}

struct Teller {
    task: Task,
    at: Millis,
    heads: u64,
    orders: Vec<Effect>,
}

impl Teller {
    fn new(policy: &Policy) -> Self {
        let asked = Claim {
            issue: crate::id::IssueNumber(7),
            title: "Sort the list".into(),
            nth: 1,
            branch_prefix: "windlass/".into(),
        };
        let step = claim(policy, asked, Millis(0));
        Self { task: step.task, at: Millis(0), heads: 0, orders: step.effects }
    }

    fn tell(&mut self, policy: &Policy, word: &str) -> String {
        self.at = self.at + Span::secs(60);
        let event = self.event(word);
        match step(policy, &self.task, self.at, &event) {
            Ok(step) => {
                self.task = step.task;
                self.orders = step.effects;
                self.grant_critic(policy);
                short(&self.task.state)
            }
            Err(Stale) => "!".into(),
        }
    }

    /// In these stories nothing holds anybody up.
    fn grant_critic(&mut self, policy: &Policy) {
        if self.task.state.wants_critic() {
            let step = step(policy, &self.task, self.at, &Event::CriticGranted).expect("it is wanted");
            self.task = step.task;
            self.orders.extend(step.effects);
        }
    }

    fn event(&mut self, word: &str) -> Event {
        let session = self.task.session.clone();
        let (head, tree) = (sha(self.heads), sha(1_000 + self.heads));
        match word {
            "start" => Event::SessionStarted { session },
            "signal" => Event::PhaseSeen { session, phase: Phase::AwaitingCi },
            "done" => Event::PhaseSeen { session, phase: Phase::Done },
            "ask" => Event::PhaseSeen { session, phase: Phase::Escalate { reason: "which?".into() } },
            "fail" => Event::PhaseSeen { session, phase: Phase::Failed { reason: "no way".into() } },
            "refuse" => {
                let phase = Phase::Failed { reason: "refused: too_large".into() };
                Event::PhaseSeen { session, phase }
            }
            "work" => {
                self.heads += 1;
                Event::WorkFetched { session, head: sha(self.heads), tree: sha(1_000 + self.heads) }
            }
            "nothing" => Event::WorkRejected { session, why: Rejection::NothingCommitted },
            "gone" => Event::WorkRejected { session, why: Rejection::WorkspaceGone },
            "garbage" => Event::PhaseUnknown { session, excerpt: "PHASE:dome".into() },
            "stop" => Event::TurnEnded { session },
            "crash" => Event::AgentCrashed { session, how: Crash::Killed { signal: 9 } },
            "limit" => {
                Event::LimitHit { session, until: self.at + Span::hours(1), what: "rate limit".into() }
            }
            "down" => Event::ProviderFailed { session, trouble: Trouble::Passing, what: "529".into() },
            "denied" => Event::ProviderFailed { session, trouble: Trouble::NeedsPerson, what: "401".into() },
            "forgotten" => Event::AgentCrashed { session, how: Crash::ConversationLost },
            "too-long" => Event::AgentCrashed { session, how: Crash::ContextFull },
            "full" => Event::ContextWarning { session, urgency: Urgency::High },
            "handed" => Event::HandoffComplete { session },
            "cost" => Event::UsageSeen { session, cost_micro_usd: 2_000_000, tokens: 0 },
            "tokens" => Event::UsageSeen { session, cost_micro_usd: 0, tokens: 25_000_000 },
            "green" => Event::BuildPassed { tree },
            "red" => Event::BuildFailed { tree, failing: vec!["t1".into()], log: "boom".into() },
            "broke" => Event::BuildBroke { tree, why: "no disk".into() },
            "approve" => Event::VerdictGiven { report: report(head, Decision::Approve) },
            "changes" => Event::VerdictGiven { report: report(head, Decision::RequestChanges) },
            "block" => Event::VerdictGiven { report: report(head, Decision::Block) },
            "old-approve" => Event::VerdictGiven { report: report(sha(900), Decision::Approve) },
            "mute" => Event::NoVerdict { head, why: "not JSON".into() },
            "conflict" => Event::MergeConflict { head, files: vec!["a".into()], commits: vec![] },
            "eject" => Event::Ejected { head, failing: vec![], log: String::new() },
            "land" => Event::MergeComplete { head, commit: sha(5_000) },
            "slot" => Event::SlotGranted,
            "night" => {
                let since = self.at;
                self.at = since + Span::hours(20);
                Event::Away { since }
            }
            "answer" => Event::Answered { by: "ann".into(), text: "blue".into() },
            "tell" => Event::Told { by: "ann".into(), text: "hurry".into() },
            "abandon" => Event::AbandonAsked { by: "ann".into() },
            "retry" => Event::RetryAsked { by: "ann".into() },
            "closed" => Event::IssueClosed,
            "late" => {
                let (at, _) = wake_at(&Policy::default(), &self.task).expect("a deadline");
                self.at = at;
                due(&Policy::default(), &self.task, at).expect("it has come")
            }
            "broken-effect" => Event::EffectFailed { effect: "push_branch".into(), why: "denied".into() },
            other => panic!("no such word: {other}"),
        }
    }
}

fn report(head: Sha, verdict: Decision) -> CriticReport {
    let comment = CriticComment {
        severity: Severity::Sev2,
        category: Category::Tests,
        file: Some("a.sh".into()),
        line: Some(3),
        message: "no test".into(),
        finding: None,
    };
    let comments = if verdict == Decision::Approve { vec![] } else { vec![comment] };
    CriticReport { head, verdict, summary: String::new(), comments }
}

fn short(state: &State) -> String {
    match state {
        State::Abandoned { reason } => format!("ABANDONED({})", reason.word()),
        State::Revising { feedback, .. } => format!("REVISING({})", feedback.word()),
        State::Dispatched
        | State::Running { .. }
        | State::AwaitingCi { .. }
        | State::AwaitingCritic { .. }
        | State::AwaitingSlot { .. }
        | State::AwaitingHuman { .. }
        | State::Limited { .. }
        | State::HandingOff { .. }
        | State::Queued { .. }
        | State::Merged { .. }
        | State::Closed { .. } => state.name().to_owned(),
    }
}

#[test]
fn the_straight_way_to_main() {
    insta::assert_snapshot!(story("start signal work stop green approve land"),
        @"RUNNING RUNNING AWAITING_CI ! AWAITING_CRITIC QUEUED MERGED");
}

#[test]
fn a_fast_agent_may_signal_before_its_start_is_known() {
    insta::assert_snapshot!(story("signal start work"), @"RUNNING RUNNING AWAITING_CI");
}

#[test]
fn red_goes_back_to_the_same_session_until_the_cap() {
    insta::assert_snapshot!(story("start signal work red slot signal work green approve land"),
        @"RUNNING RUNNING AWAITING_CI AWAITING_SLOT REVISING(ci_failed) REVISING(ci_failed) AWAITING_CI AWAITING_CRITIC QUEUED MERGED");
    insta::assert_snapshot!(
        story("start signal work red slot signal work red slot signal work red slot signal work red"),
        @"RUNNING RUNNING AWAITING_CI AWAITING_SLOT REVISING(ci_failed) REVISING(ci_failed) AWAITING_CI AWAITING_SLOT REVISING(ci_failed) REVISING(ci_failed) AWAITING_CI AWAITING_SLOT REVISING(ci_failed) REVISING(ci_failed) AWAITING_CI ABANDONED(ci_exhausted)");
}

#[test]
fn the_critic_is_heard_three_times_and_block_is_final() {
    insta::assert_snapshot!(
        story("start signal work green changes slot signal work green changes slot signal work green changes"),
        @"RUNNING RUNNING AWAITING_CI AWAITING_CRITIC AWAITING_SLOT REVISING(changes_requested) REVISING(changes_requested) AWAITING_CI AWAITING_CRITIC AWAITING_SLOT REVISING(changes_requested) REVISING(changes_requested) AWAITING_CI AWAITING_CRITIC ABANDONED(iterations)");
    insta::assert_snapshot!(story("start signal work green block"),
        @"RUNNING RUNNING AWAITING_CI AWAITING_CRITIC ABANDONED(blocked_by_critic)");
}

#[test]
fn no_verdict_and_an_old_verdict_are_never_an_approval() {
    insta::assert_snapshot!(story("start signal work green old-approve mute mute approve"),
        @"RUNNING RUNNING AWAITING_CI AWAITING_CRITIC ! AWAITING_CRITIC AWAITING_HUMAN !");
}

#[test]
fn a_broken_build_is_tried_once_more_then_a_person_is_asked() {
    insta::assert_snapshot!(story("start signal work broke broke answer slot"),
        @"RUNNING RUNNING AWAITING_CI AWAITING_CI AWAITING_HUMAN AWAITING_SLOT REVISING(answer)");
}

#[test]
fn a_question_waits_for_its_answer_and_not_for_ever() {
    insta::assert_snapshot!(story("start ask stop tell slot signal work"),
        @"RUNNING AWAITING_HUMAN ! AWAITING_SLOT REVISING(answer) REVISING(answer) AWAITING_CI");
    insta::assert_snapshot!(story("start ask late late late late"),
        @"RUNNING AWAITING_HUMAN AWAITING_HUMAN AWAITING_HUMAN AWAITING_HUMAN ABANDONED(no_human_answer)");
}

#[test]
fn silence_is_nudged_twice() {
    insta::assert_snapshot!(story("start stop stop stop"), @"RUNNING RUNNING RUNNING ABANDONED(idle_prompt)");
    insta::assert_snapshot!(story("start done nothing done nothing done nothing"),
        @"RUNNING RUNNING RUNNING RUNNING RUNNING RUNNING ABANDONED(agent_failed)");
    insta::assert_snapshot!(story("start garbage garbage garbage"),
        @"RUNNING RUNNING RUNNING ABANDONED(agent_failed)");
    insta::assert_snapshot!(story("start signal gone"), @"RUNNING RUNNING ABANDONED(crash_recovery_failed)");
}

#[test]
fn a_crash_brings_a_successor_but_not_for_ever() {
    insta::assert_snapshot!(story("start crash start crash start crash"),
        @"RUNNING RUNNING RUNNING RUNNING RUNNING ABANDONED(crash_recovery_failed)");
    let policy = Policy::default();
    let mut teller = Teller::new(&policy);
    teller.tell(&policy, "start");
    let first = teller.task.session.clone();
    teller.tell(&policy, "crash");
    assert_ne!(teller.task.session, first);
    let Some(Effect::StartSession { start: Start::Recover { predecessor }, .. }) = teller.orders.last()
    else {
        panic!("{:?}", teller.orders)
    };
    assert_eq!(*predecessor, first);
}

#[test]
fn late_words_of_an_earlier_session_change_nothing() {
    let policy = Policy::default();
    let mut teller = Teller::new(&policy);
    teller.tell(&policy, "start");
    let old = Event::TurnEnded { session: teller.task.session.clone() };
    teller.tell(&policy, "crash");
    assert_eq!(step(&policy, &teller.task, teller.at, &old), Err(Stale));
}

#[test]
fn the_queue_sends_conflicts_and_red_candidates_back() {
    insta::assert_snapshot!(story("start signal work green approve conflict slot signal work green approve eject slot"),
        @"RUNNING RUNNING AWAITING_CI AWAITING_CRITIC QUEUED AWAITING_SLOT REVISING(conflict) REVISING(conflict) AWAITING_CI AWAITING_CRITIC QUEUED AWAITING_SLOT REVISING(gate_failed)");
}

#[test]
fn a_refusal_and_a_failure_end_with_their_reason_and_can_be_retried() {
    insta::assert_snapshot!(story("start refuse retry slot start fail"),
        @"RUNNING ABANDONED(refused/too_large) AWAITING_SLOT DISPATCHED RUNNING ABANDONED(agent_failed)");
    insta::assert_snapshot!(story("start refuse retry abandon retry slot"),
        @"RUNNING ABANDONED(refused/too_large) AWAITING_SLOT ABANDONED(operator) AWAITING_SLOT DISPATCHED");
}

/// The session of the try before has ended; the one to come does not exist yet.
#[test]
fn what_is_said_before_another_try_begins_is_said_to_its_session() {
    let policy = Policy::default();
    let mut teller = Teller::new(&policy);
    for word in ["start", "refuse", "retry", "tell", "slot"] {
        teller.tell(&policy, word);
    }
    let said: Vec<&SessionId> = teller
        .orders
        .iter()
        .filter_map(|order| if let Effect::Say { session, .. } = order { Some(session) } else { None })
        .collect();
    assert_eq!(said, [&teller.task.session]);
    assert_eq!(teller.task.session, SessionId::dev(&teller.task.id, 2));
}

#[test]
fn a_merge_that_git_proves_wins_over_every_other_story() {
    insta::assert_snapshot!(story("start signal work green approve abandon land land"),
        @"RUNNING RUNNING AWAITING_CI AWAITING_CRITIC QUEUED ABANDONED(operator) MERGED !");
}

#[test]
fn a_provider_that_fails_is_waited_for_and_one_that_refuses_is_shown_to_a_person() {
    insta::assert_snapshot!(story("start down late slot stop signal work"), @"RUNNING LIMITED AWAITING_SLOT REVISING(limit_over) REVISING(limit_over) REVISING(limit_over) AWAITING_CI");
    insta::assert_snapshot!(story("start denied tell slot"), @"RUNNING AWAITING_HUMAN AWAITING_SLOT REVISING(answer)");
    let again = "down late slot ".repeat(12);
    assert_eq!(story(&format!("start {again}down")).rsplit(' ').next(), Some("AWAITING_HUMAN"));
    let mended = "down late slot stop ".repeat(2);
    assert!(!story(&format!("start {mended}")).contains("AWAITING_HUMAN"));
    // What was signalled before the provider failed counts.
    insta::assert_snapshot!(story("start signal down denied work"), @"RUNNING RUNNING RUNNING RUNNING AWAITING_CI");
}

#[test]
fn a_night_in_which_nobody_was_there_counts_for_no_deadline() {
    let policy = Policy::default();
    for words in
        ["start", "start signal work red slot", "start full", "start signal work", "start signal work green"]
    {
        let mut teller = Teller::new(&policy);
        words.split(' ').for_each(|word| drop(teller.tell(&policy, word)));
        let left = |teller: &Teller| wake_at(&policy, &teller.task).expect("a deadline").0.since(teller.at);
        let before = left(&teller);
        teller.tell(&policy, "night");
        assert_eq!(left(&teller), Span(before.0 - 60_000), "{words}: all but the minute before it");
    }
    // Those who wait for people or a provider wait for them at night, too.
    insta::assert_snapshot!(story("start ask night"), @"RUNNING AWAITING_HUMAN !");
}

#[test]
fn a_word_for_a_session_without_a_slot_is_kept_until_it_has_one() {
    let policy = Policy::default();
    for words in ["start signal work red tell", "start limit tell late", "start crash crash crash retry tell"]
    {
        let mut teller = Teller::new(&policy);
        words.split(' ').for_each(|word| drop(teller.tell(&policy, word)));
        let said = |teller: &Teller| {
            let hurry = |order: &&Effect| matches!(order, Effect::Say { text, .. } if text.contains("hurry"));
            teller.orders.iter().filter(hurry).count()
        };
        assert_eq!(said(&teller), 0, "{words}");
        teller.tell(&policy, "slot");
        assert_eq!((said(&teller), teller.task.said.len()), (1, 0), "{words}");
    }
}

#[test]
fn lost_and_full_conversations_have_successors() {
    insta::assert_snapshot!(story("start forgotten start forgotten start forgotten"), @"RUNNING RUNNING RUNNING RUNNING RUNNING ABANDONED(crash_recovery_failed)");
    // Neither a crash before it nor one that is long over counts against it.
    insta::assert_snapshot!(story("start crash forgotten start stop forgotten start forgotten"), @"RUNNING RUNNING RUNNING RUNNING RUNNING RUNNING RUNNING RUNNING");
    insta::assert_snapshot!(story("start too-long start too-long start too-long"), @"RUNNING RUNNING RUNNING RUNNING RUNNING ABANDONED(crash_recovery_failed)");
    let policy = Policy::default();
    let mut teller = Teller::new(&policy);
    for word in ["start", "too-long"] {
        teller.tell(&policy, word);
    }
    let continues =
        |order: &Effect| matches!(order, Effect::StartSession { start: Start::Continue { .. }, .. });
    assert!(teller.orders.iter().any(continues), "{:?}", teller.orders);
}

#[test]
fn a_hand_off_keeps_the_feedback_and_spares_who_is_ready() {
    insta::assert_snapshot!(story("start signal work red slot full handed"), @"RUNNING RUNNING AWAITING_CI AWAITING_SLOT REVISING(ci_failed) HANDING_OFF REVISING(ci_failed)");
    insta::assert_snapshot!(story("start signal full work"), @"RUNNING RUNNING ! AWAITING_CI");
}

#[test]
fn limits_hand_offs_budgets_and_closed_issues() {
    insta::assert_snapshot!(story("start limit late slot"), @"RUNNING LIMITED AWAITING_SLOT REVISING(limit_over)");
    insta::assert_snapshot!(story("start full handed start signal"), @"RUNNING HANDING_OFF RUNNING RUNNING RUNNING");
    insta::assert_snapshot!(story("start full late start"), @"RUNNING HANDING_OFF RUNNING RUNNING");
    insta::assert_snapshot!(story("start cost cost cost"), @"RUNNING RUNNING RUNNING ABANDONED(budget)");
    insta::assert_snapshot!(story("start tokens tokens"), @"RUNNING RUNNING ABANDONED(budget)");
    insta::assert_snapshot!(story("start late"), @"RUNNING ABANDONED(wall_clock)");
    insta::assert_snapshot!(story("start closed"), @"RUNNING CLOSED");
    insta::assert_snapshot!(story("broken-effect retry slot"), @"ABANDONED(agent_failed) AWAITING_SLOT DISPATCHED");
}

/// Found by the simulator: what was spent while CI ran did not count when the session was to go on.
#[test]
fn regression_who_spent_the_money_while_it_waited_gets_no_other_turn() {
    insta::assert_snapshot!(
        story("start signal work cost cost cost red slot"),
        @"RUNNING RUNNING AWAITING_CI AWAITING_CI AWAITING_CI AWAITING_CI AWAITING_SLOT ABANDONED(budget)"
    );
}

#[test]
fn active_time_is_carried_over_and_waiting_is_free() {
    let policy = Policy::default();
    let mut teller = Teller::new(&policy);
    for word in "start signal work red".split_whitespace() {
        teller.tell(&policy, word);
    }
    assert_eq!(teller.task.tally.active, Span::mins(3), "CI time is free");
    for word in "slot signal".split_whitespace() {
        teller.tell(&policy, word);
    }
    assert_eq!(teller.task.tally.active, Span::mins(4), "waiting for a slot is free");
}

#[test]
fn a_task_that_ends_well_leaves_nothing_and_one_that_does_not_keeps_its_workspace() {
    let policy = Policy::default();
    let mut teller = Teller::new(&policy);
    for word in "start signal work green approve land".split_whitespace() {
        teller.tell(&policy, word);
    }
    let names: Vec<&str> = teller.orders.iter().map(Effect::name).collect();
    assert_eq!(names, ["stop_session", "remove_workspace", "set_labels", "comment", "close_issue"]);
    let mut teller = Teller::new(&policy);
    teller.tell(&policy, "fail");
    let names: Vec<&str> = teller.orders.iter().map(Effect::name).collect();
    assert_eq!(names, ["stop_session", "set_labels", "comment"]);
}
