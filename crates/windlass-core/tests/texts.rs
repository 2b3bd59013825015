//! Every text that agents and people read, in snapshots: a changed word shows in review.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

use std::fmt::Write as _;

use windlass_core::brief::{self, Memory, ReviewMaterial, WorkSoFar};
use windlass_core::forge::Issue;
use windlass_core::id::{IssueNumber, SessionId, Sha};
use windlass_core::message;
use windlass_core::policy::Policy;
use windlass_core::session::{Hook, WorkPhase};
use windlass_core::task::{
    AbandonReason, Claim, Crash, Feedback, Refusal, Rejection, Start, State, Task, claim,
};
use windlass_core::time::{Millis, Span};
use windlass_core::verdict::{self, CriticReport};

fn sha(digit: char) -> Sha {
    Sha::parse(&digit.to_string().repeat(40)).unwrap()
}

fn task() -> Task {
    let asked = Claim {
        issue: IssueNumber(12),
        title: "Sort the list".into(),
        nth: 1,
        branch_prefix: "windlass/".into(),
    };
    let mut task = claim(&Policy::default(), asked, Millis(0)).task;
    task.tally.active = Span::mins(66);
    task.pushed = Some(sha('a'));
    task
}

fn issue(body: &str) -> Issue {
    Issue {
        number: IssueNumber(12),
        title: "Sort\u{1b}[31m the list".into(),
        body: body.into(),
        open: true,
        labels: vec!["backlog".into()],
        author: "ann".into(),
        created_at: Millis(0),
        updated_at: Millis(0),
        closed_at: None,
    }
}

fn report() -> CriticReport {
    let text = format!(
        r#"{{"head":"{}","verdict":"REQUEST_CHANGES","summary":"Nearly.","comments":[
            {{"severity":"sev2","category":"tests","file":"list.sh","line":3,"message":"no test for an empty list"}},
            {{"severity":"sev3","category":"docs","message":"say it in the manual"}}]}}"#,
        sha('a')
    );
    verdict::read(&text, &sha('a')).unwrap()
}

fn chapter(book: &mut String, title: &str, text: &str) {
    write!(book, "=== {title}\n{text}\n\n").unwrap();
}

#[test]
fn what_agents_are_told() {
    let mut task = task();
    task.findings = verdict::ledger_after(&[], &report());
    let mut book = String::new();
    let feedback = [
        Feedback::CiFailed {
            head: "aaaaaaaaaa".into(),
            failing: vec!["t_sort".into()],
            log: "not ok 1\u{7}\n".into(),
        },
        Feedback::ChangesRequested { round: 1, text: message::findings(&task, &report()) },
        Feedback::Conflict { files: vec!["list.sh".into()], commits: vec!["bbbbbbbbbb Shout".into()] },
        Feedback::GateFailed { failing: vec![], log: "boom".into() },
        Feedback::Answer { by: "ann".into(), text: "ISO".into() },
        Feedback::Told { by: "ann".into(), text: "hurry".into() },
        Feedback::LimitOver,
    ];
    for feedback in &feedback {
        chapter(&mut book, feedback.word(), &message::feedback(&task, feedback));
    }
    let rejections = [
        Rejection::NothingCommitted,
        Rejection::NothingNew { head: sha('a') },
        Rejection::OtherBranch { branch: "main".into() },
        Rejection::HistoryRewritten,
        Rejection::WorkspaceGone,
        Rejection::Unreadable { detail: "bad object".into() },
    ];
    for why in &rejections {
        chapter(&mut book, "rejected", &message::work_rejected(&task, why));
    }
    chapter(&mut book, "nudge", &message::nudge(&task));
    chapter(&mut book, "unknown phase", &message::phase_unknown("PHASE:dome"));
    chapter(&mut book, "checkpoint", &message::checkpoint_now());
    chapter(&mut book, "hand-off", &message::hand_off());
    insta::assert_snapshot!(book);
}

#[test]
fn what_people_read() {
    let mut task = task();
    let mut book = String::new();
    let reasons = [
        AbandonReason::Iterations,
        AbandonReason::Budget,
        AbandonReason::WallClock,
        AbandonReason::BlockedByCritic,
        AbandonReason::Operator { by: "ann".into() },
        AbandonReason::NoHumanAnswer,
        AbandonReason::CrashRecoveryFailed { detail: message::crash(&Crash::Killed { signal: 9 }) },
        AbandonReason::CiExhausted,
        AbandonReason::Refused { refusal: Refusal::TooLarge },
        AbandonReason::IdlePrompt,
        AbandonReason::AgentFailed { reason: "no disk".into() },
    ];
    for reason in &reasons {
        chapter(&mut book, &reason.word(), &reason.sentence());
    }
    chapter(&mut book, "abandoned comment", &message::abandoned(&task, &AbandonReason::Iterations));
    chapter(&mut book, "question", &message::question(&task, "Which colour?"));
    chapter(&mut book, "escalation without a reason", &message::escalation(""));
    chapter(&mut book, "change", &message::change_body(&task));
    chapter(&mut book, "merge commit", &message::merge_commit(&task, &sha('a')));
    chapter(&mut book, "merged", &message::merged(&task, &sha('c')));
    chapter(&mut book, "already on main", &message::already_on_main(&task, &sha('a')));
    chapter(&mut book, "closed", &message::closed_by_person(&task));
    task.findings = verdict::ledger_after(&[], &report());
    chapter(&mut book, "review", &message::review(&task, &report()));
    chapter(&mut book, "CI broke", &message::ci_broke(&sha('a'), "no test was run"));
    chapter(&mut book, "CI timeout", &message::ci_timeout(&sha('a')));
    chapter(&mut book, "critic timeout", &message::critic_timeout(&sha('a')));
    chapter(&mut book, "no verdict", &message::no_verdict(&sha('a'), "there is no verdict"));
    chapter(&mut book, "conflicts again", &message::conflicts_again(&["list.sh".into()]));
    chapter(&mut book, "effect failed", &message::effect_failed("push_branch", "denied"));
    insta::assert_snapshot!(book);
}

#[test]
fn briefs() {
    let mut task = task();
    let mut book = String::new();
    let issue = issue("`sort` prints marked tasks first.\u{200b}\n\n## Acceptance\n- a test\n");
    let predecessor = SessionId::dev(&task.id, 1);
    let hook = Hook {
        identity_name: predecessor.clone(),
        current_bead: None,
        current_node: None,
        work_phase: WorkPhase::Implementation,
        work_summary: "the sort command".into(),
        last_checkpoint_at: Millis(0),
        files_modified: vec![],
        tests_status: "unknown".into(),
        resumption_instructions: String::new(),
    };
    let so_far = WorkSoFar { hook: Some(hook), diff: "+sort".into(), memory: Memory::New };
    chapter(&mut book, "fresh", &brief::dev(&task, &issue, &Start::Fresh, &WorkSoFar::default()));
    let start = Start::Continue { predecessor: predecessor.clone() };
    chapter(&mut book, "continuation", &brief::dev(&task, &issue, &start, &so_far));
    let start = Start::Retry { predecessor: predecessor.clone(), reason: "The agent gave up.".into() };
    chapter(&mut book, "retry", &brief::dev(&task, &issue, &start, &so_far));
    let feedback = Feedback::Answer { by: "ann".into(), text: "ISO".into() };
    task.state = State::Revising { feedback, heard: None };
    let start = Start::Recover { predecessor };
    chapter(&mut book, "recovery", &brief::dev(&task, &issue, &start, &so_far));
    let resumed = WorkSoFar { memory: Memory::Resumed, ..so_far };
    chapter(&mut book, "recovery of a conversation", &brief::dev(&task, &issue, &start, &resumed));
    task.findings = verdict::ledger_after(&[], &report());
    let material = ReviewMaterial {
        head: sha('a'),
        base: sha('b'),
        diff: "+sort".into(),
        since_last: Some("+test".into()),
    };
    chapter(&mut book, "review", &brief::review(&task, &issue, &material));
    insta::assert_snapshot!(book);
}

/// The seeds' words stand in the brief of a successor.
#[test]
fn a_successor_is_told_where_to_resume() {
    let task = task();
    let start = Start::Recover { predecessor: SessionId::dev(&task.id, 1) };
    let text = brief::dev(&task, &issue(""), &start, &WorkSoFar::default());
    assert!(text.contains("Resume from phase: unknown, last working on: dispatched"), "{text}");
}

#[test]
fn a_huge_issue_is_cut_with_a_marker() {
    let text = brief::dev(&task(), &issue(&"x".repeat(1 << 20)), &Start::Fresh, &WorkSoFar::default());
    assert!(text.len() < brief::MAX_ISSUE_BYTES + 4_000);
    assert!(text.contains("more bytes not shown]"));
}
