//! One task in each state and one event of each kind, for tables and tests that must miss none.

use windlass_core::id::{ChangeNumber, IssueNumber, SessionId, Sha, TaskId};
use windlass_core::phase::Phase;
use windlass_core::policy::Policy;
use windlass_core::task::{
    AbandonReason, Claim, ClosedHow, Crash, Critic, Deadline, Event, Feedback, Rejection, State, Task,
    Trouble, Urgency, claim,
};
use windlass_core::time::Millis;
use windlass_core::verdict::{Category, CriticComment, CriticReport, Decision, Severity};

pub fn sha(n: u64) -> Sha {
    Sha::parse(&format!("{n:040x}")).expect("forty hex digits")
}

pub const HEAD: u64 = 1;
pub const TREE: u64 = 2;

/// A task in each state. The match in `place` breaks when a state is added here and not there.
pub fn tasks() -> Vec<Task> {
    let feedback = || Feedback::CiFailed { head: "1".into(), failing: vec!["t".into()], log: "boom".into() };
    let (head, tree) = (|| sha(HEAD), || sha(TREE));
    let id = TaskId::nth(IssueNumber(7), 1);
    let states = vec![
        State::Dispatched,
        State::Running { heard: None },
        State::Running { heard: Some(Phase::AwaitingCi) },
        State::AwaitingCi { head: head(), tree: tree() },
        State::AwaitingCritic { head: head(), tree: tree(), critic: Critic::Wanted },
        State::AwaitingCritic {
            head: head(),
            tree: tree(),
            critic: Critic::Reading { session: SessionId::review(&id, 1) },
        },
        State::AwaitingCritic {
            head: head(),
            tree: tree(),
            critic: Critic::Down { until: Millis(0), what: "overloaded".into() },
        },
        State::AwaitingSlot { feedback: feedback() },
        State::AwaitingSlot { feedback: Feedback::Retry { reason: "no".into() } },
        State::Revising { feedback: feedback(), heard: None },
        State::AwaitingHuman { question: "which?".into(), notified_at: Millis(0) },
        State::Limited { until: Millis(0), what: "rate limit".into() },
        State::HandingOff { urgency: Urgency::High, feedback: None },
        State::Queued { head: head(), tree: tree() },
        State::Merged { commit: sha(9) },
        State::Closed { how: ClosedHow::IssueClosed },
        State::Abandoned { reason: AbandonReason::Iterations },
    ];
    states.into_iter().map(task).collect()
}

fn task(state: State) -> Task {
    let asked = Claim {
        issue: IssueNumber(7),
        title: "Sort the list".into(),
        nth: 1,
        branch_prefix: "windlass/".into(),
    };
    let mut task = claim(&Policy::default(), asked, Millis(0)).task;
    task.state = state;
    task
}

/// One event of each kind, about the head, tree and session of `tasks`.
pub fn events() -> Vec<Event> {
    let id = TaskId::nth(IssueNumber(7), 1);
    let session = || SessionId::dev(&id, 1);
    let (head, tree) = (|| sha(HEAD), || sha(TREE));
    vec![
        Event::WorkspaceReady { base: sha(3) },
        Event::SessionStarted { session: session() },
        Event::PhaseSeen { session: session(), phase: Phase::AwaitingCi },
        Event::PhaseSeen { session: session(), phase: Phase::AwaitingReview },
        Event::PhaseSeen { session: session(), phase: Phase::Escalate { reason: "which?".into() } },
        Event::PhaseSeen { session: session(), phase: Phase::Done },
        Event::PhaseSeen { session: session(), phase: Phase::Failed { reason: "no way".into() } },
        Event::PhaseUnknown { session: session(), excerpt: "PHASE:dome".into() },
        Event::TurnEnded { session: session() },
        Event::AgentCrashed { session: session(), how: Crash::Vanished },
        Event::WorkFetched { session: session(), head: sha(4), tree: sha(5) },
        Event::WorkRejected { session: session(), why: Rejection::NothingCommitted },
        Event::LimitHit { session: session(), until: Millis(9), what: "rate limit".into() },
        Event::ProviderFailed { session: session(), trouble: Trouble::Passing, what: "overloaded".into() },
        Event::ProviderFailed { session: session(), trouble: Trouble::NeedsPerson, what: "no key".into() },
        Event::UsageSeen { session: session(), cost_micro_usd: 1, tokens: 1 },
        Event::ContextWarning { session: session(), urgency: Urgency::High },
        Event::HandoffComplete { session: session() },
        Event::ChangeOpened { number: ChangeNumber(8) },
        Event::BuildPassed { tree: tree() },
        Event::BuildFailed { tree: tree(), failing: vec!["t".into()], log: "boom".into() },
        Event::BuildBroke { tree: tree(), why: "no disk".into() },
        Event::VerdictGiven { report: report(Decision::Approve) },
        Event::VerdictGiven { report: report(Decision::RequestChanges) },
        Event::VerdictGiven { report: report(Decision::Block) },
        Event::NoVerdict { head: head(), why: "not JSON".into() },
        Event::CriticFailed {
            head: head(),
            trouble: Trouble::Passing,
            until: None,
            what: "overloaded".into(),
        },
        Event::CriticFailed {
            head: head(),
            trouble: Trouble::NeedsPerson,
            until: None,
            what: "no credit".into(),
        },
        Event::MergeConflict { head: head(), files: vec!["a".into()], commits: vec![] },
        Event::Ejected { head: head(), failing: vec![], log: String::new() },
        Event::MergeComplete { head: head(), commit: sha(6) },
        Event::AlreadyOnMain { head: head() },
        Event::Withdrawn { by: "ann".into() },
        Event::Answered { by: "ann".into(), text: "blue".into() },
        Event::Told { by: "ann".into(), text: "hurry".into() },
        Event::AbandonAsked { by: "ann".into() },
        Event::RetryAsked { by: "ann".into() },
        Event::IssueClosed,
        Event::SlotGranted,
        Event::CriticGranted,
        Event::Away { since: Millis(0) },
        Event::Due { deadline: Deadline::WallClock },
        Event::Due { deadline: Deadline::Ci },
        Event::Due { deadline: Deadline::Critic },
        Event::Due { deadline: Deadline::Renotify },
        Event::Due { deadline: Deadline::Answer },
        Event::Due { deadline: Deadline::Limit },
        Event::Due { deadline: Deadline::Handoff },
        Event::EffectFailed { effect: "push_branch".into(), why: "denied".into() },
    ]
}

fn report(verdict: Decision) -> CriticReport {
    let comment = CriticComment {
        severity: Severity::Sev2,
        category: Category::Tests,
        file: Some("a.sh".into()),
        line: Some(3),
        message: "no test".into(),
        finding: None,
    };
    let comments = if verdict == Decision::Approve { vec![] } else { vec![comment] };
    CriticReport { head: sha(HEAD), verdict, summary: String::new(), comments }
}

/// How an event is named in a table: its kind and what decides within the kind.
pub fn event_name(event: &Event) -> String {
    let detail = match event {
        Event::PhaseSeen { phase, .. } => match phase {
            Phase::AwaitingCi => "awaiting_ci",
            Phase::AwaitingReview => "awaiting_review",
            Phase::Escalate { .. } => "escalate",
            Phase::Done => "done",
            Phase::Failed { .. } => "failed",
        },
        Event::ProviderFailed { trouble, .. } => match trouble {
            Trouble::Passing => "passing",
            Trouble::NeedsPerson => "needs_person",
        },
        Event::VerdictGiven { report } => match report.verdict {
            Decision::Approve => "approve",
            Decision::RequestChanges => "request_changes",
            Decision::Block => "block",
        },
        Event::Due { deadline } => match deadline {
            Deadline::WallClock => "wall_clock",
            Deadline::Ci => "ci",
            Deadline::Critic => "critic",
            Deadline::Renotify => "renotify",
            Deadline::Answer => "answer",
            Deadline::Limit => "limit",
            Deadline::Handoff => "handoff",
        },
        _ => return event.name().to_owned(),
    };
    format!("{}({detail})", event.name())
}

pub fn state_name(state: &State) -> String {
    match state {
        State::Running { heard: Some(_) } => "RUNNING (signalled)".to_owned(),
        State::AwaitingSlot { feedback: Feedback::Retry { .. } } => "AWAITING_SLOT (retry)".to_owned(),
        State::AwaitingCritic { critic: Critic::Wanted, .. } => "AWAITING_CRITIC (wanted)".to_owned(),
        State::AwaitingCritic { critic: Critic::Down { .. }, .. } => "AWAITING_CRITIC (down)".to_owned(),
        _ => state.name().to_owned(),
    }
}

/// How many kinds of events there are; a new kind stops the build here.
pub fn kind_number(event: &Event) -> usize {
    match event {
        Event::WorkspaceReady { .. } => 0,
        Event::SessionStarted { .. } => 1,
        Event::PhaseSeen { .. } => 2,
        Event::PhaseUnknown { .. } => 3,
        Event::TurnEnded { .. } => 4,
        Event::AgentCrashed { .. } => 5,
        Event::WorkFetched { .. } => 6,
        Event::WorkRejected { .. } => 7,
        Event::LimitHit { .. } => 8,
        Event::UsageSeen { .. } => 9,
        Event::ContextWarning { .. } => 10,
        Event::HandoffComplete { .. } => 11,
        Event::ChangeOpened { .. } => 12,
        Event::BuildPassed { .. } => 13,
        Event::BuildFailed { .. } => 14,
        Event::BuildBroke { .. } => 15,
        Event::VerdictGiven { .. } => 16,
        Event::NoVerdict { .. } => 17,
        Event::MergeConflict { .. } => 18,
        Event::Ejected { .. } => 19,
        Event::MergeComplete { .. } => 20,
        Event::AlreadyOnMain { .. } => 21,
        Event::Answered { .. } => 22,
        Event::Told { .. } => 23,
        Event::AbandonAsked { .. } => 24,
        Event::RetryAsked { .. } => 25,
        Event::IssueClosed => 26,
        Event::SlotGranted => 27,
        Event::Due { .. } => 28,
        Event::EffectFailed { .. } => 29,
        Event::Withdrawn { .. } => 30,
        Event::ProviderFailed { .. } => 31,
        Event::CriticFailed { .. } => 32,
        Event::CriticGranted => 33,
        Event::Away { .. } => 34,
    }
}

pub const EVENT_KINDS: usize = 35;
pub const STATE_KINDS: usize = 13;
