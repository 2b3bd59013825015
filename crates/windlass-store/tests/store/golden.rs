//! The words that stand in every stored row. A changed line here means that older databases read differently:
//! keep the old word readable (`#[serde(alias)]`, a migration) before you accept it.

use serde::Serialize;
use serde::de::DeserializeOwned;
use windlass_core::build::{BuildOutcome, BuildStatus, TreeResult};
use windlass_core::command::{Answer, Command, Typist};
use windlass_core::forge::{ReviewDecision, StatusState};
use windlass_core::id::{BuildId, ChangeNumber, EffectKey, IssueNumber, Recipe, SessionId, TaskId};
use windlass_core::journal::{Fact, FactoryFact};
use windlass_core::phase::Phase;
use windlass_core::queue::{Change, History, Link};
use windlass_core::session::{IdentityStatus, Role, WorkPhase};
use windlass_core::task::{
    AbandonReason, BuildLane, ClosedHow, Crash, Critic, Deadline, Effect, Ending, Event, Feedback, Rejection,
    Start, State, Trouble, Urgency,
};
use windlass_core::time::{Millis, Span};
use windlass_core::verdict::{CriticReport, Decision};

use crate::common::{build, hook, identity, sha, task, usage};

/// Walks from the first variant to the last. `next` names every variant, so a new one stops the build there.
fn all<T>(next: fn(Option<&T>) -> Option<T>) -> Vec<T> {
    let mut values: Vec<T> = Vec::new();
    while let Some(value) = next(values.last()) {
        values.push(value);
    }
    values
}

/// One line of JSON each, and each line reads back as what was written.
fn lines<T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(values: &[T]) -> String {
    let mut lines = String::new();
    for value in values {
        let line = serde_json::to_string(value).expect("plain data");
        assert_eq!(&serde_json::from_str::<T>(&line).expect("reads back"), value, "{line}");
        lines.push_str(&line);
        lines.push('\n');
    }
    lines
}

fn session() -> SessionId {
    SessionId::stored("dev-1.1-1")
}

fn text() -> String {
    "text".into()
}

fn texts() -> Vec<String> {
    vec!["one".into(), "two".into()]
}

fn recipe() -> Recipe {
    Recipe("recipe".into())
}

fn build_id() -> BuildId {
    BuildId::stored("b-1")
}

#[test]
fn states() {
    insta::assert_snapshot!(lines(&all(next_state)));
}

fn next_state(last: Option<&State>) -> Option<State> {
    let (head, tree) = (sha('a'), sha('b'));
    let feedback = Feedback::ChangesRequested { round: 2, text: text() };
    Some(match last {
        None => State::Dispatched,
        Some(State::Dispatched) => State::Running { heard: Some(Phase::AwaitingCi) },
        Some(State::Running { .. }) => State::AwaitingCi { head, tree },
        Some(State::AwaitingCi { .. }) => State::AwaitingCritic { head, tree, critic: Critic::Wanted },
        Some(State::AwaitingCritic { critic: Critic::Wanted, .. }) => {
            State::AwaitingCritic { head, tree, critic: Critic::Reading { session: session() } }
        }
        Some(State::AwaitingCritic { critic: Critic::Reading { .. }, .. }) => {
            State::AwaitingCritic { head, tree, critic: Critic::Down { until: Millis(3), what: text() } }
        }
        Some(State::AwaitingCritic { critic: Critic::Down { .. }, .. }) => State::AwaitingSlot { feedback },
        Some(State::AwaitingSlot { .. }) => State::Revising { feedback, heard: None },
        Some(State::Revising { .. }) => State::AwaitingHuman { question: text(), notified_at: Millis(1) },
        Some(State::AwaitingHuman { .. }) => State::Limited { until: Millis(2), what: text() },
        Some(State::Limited { .. }) => State::HandingOff { urgency: Urgency::High, feedback: None },
        Some(State::HandingOff { .. }) => State::Queued { head, tree },
        Some(State::Queued { .. }) => State::Merged { commit: head },
        Some(State::Merged { .. }) => State::Closed { how: ClosedHow::AlreadyOnMain },
        Some(State::Closed { .. }) => State::Abandoned { reason: AbandonReason::Operator { by: text() } },
        Some(State::Abandoned { .. }) => return None,
    })
}

#[test]
fn events_of_tasks() {
    let events = all(next_event);
    insta::assert_snapshot!(lines(&events));
    for event in events {
        let fact = Fact::Task(event);
        let line = serde_json::to_value(&fact).unwrap();
        assert_eq!(line["kind"], fact.kind());
        assert_eq!(serde_json::from_value::<Fact>(line).unwrap(), fact, "read as a fact of the factory");
    }
}

fn next_event(last: Option<&Event>) -> Option<Event> {
    let (session, head, tree) = (session(), sha('a'), sha('b'));
    Some(match last {
        None => Event::WorkspaceReady { base: head },
        Some(Event::WorkspaceReady { .. }) => Event::SessionStarted { session },
        Some(Event::SessionStarted { .. }) => {
            Event::PhaseSeen { session, phase: Phase::Escalate { reason: text() } }
        }
        Some(Event::PhaseSeen { .. }) => Event::PhaseUnknown { session, excerpt: text() },
        Some(Event::PhaseUnknown { .. }) => Event::TurnEnded { session },
        Some(Event::TurnEnded { .. }) => Event::AgentCrashed { session, how: Crash::Killed { signal: 9 } },
        Some(Event::AgentCrashed { .. }) => Event::WorkFetched { session, head, tree },
        Some(Event::WorkFetched { .. }) => {
            Event::WorkRejected { session, why: Rejection::NothingNew { head } }
        }
        Some(Event::WorkRejected { .. }) => Event::LimitHit { session, until: Millis(1), what: text() },
        Some(Event::LimitHit { .. }) => {
            Event::ProviderFailed { session, trouble: Trouble::Passing, what: text() }
        }
        Some(Event::ProviderFailed { .. }) => Event::UsageSeen { session, cost_micro_usd: 7, tokens: 8 },
        Some(Event::UsageSeen { .. }) => Event::ContextWarning { session, urgency: Urgency::Low },
        Some(Event::ContextWarning { .. }) => Event::HandoffComplete { session },
        Some(Event::HandoffComplete { .. }) => Event::ChangeOpened { number: ChangeNumber(4) },
        Some(Event::ChangeOpened { .. }) => Event::BuildPassed { tree },
        Some(Event::BuildPassed { .. }) => Event::BuildFailed { tree, failing: texts(), log: text() },
        Some(Event::BuildFailed { .. }) => Event::BuildBroke { tree, why: text() },
        Some(Event::BuildBroke { .. }) => Event::VerdictGiven { report: report() },
        Some(Event::VerdictGiven { .. }) => Event::NoVerdict { head, why: text() },
        Some(Event::NoVerdict { .. }) => {
            Event::CriticFailed { head, trouble: Trouble::Passing, until: Some(Millis(1)), what: text() }
        }
        Some(Event::CriticFailed { .. }) => Event::MergeConflict { head, files: texts(), commits: texts() },
        Some(Event::MergeConflict { .. }) => Event::Ejected { head, failing: texts(), log: text() },
        Some(Event::Ejected { .. }) => Event::MergeComplete { head, commit: tree },
        Some(Event::MergeComplete { .. }) => Event::AlreadyOnMain { head },
        Some(Event::AlreadyOnMain { .. }) => Event::Withdrawn { by: text() },
        Some(Event::Withdrawn { .. }) => Event::Answered { by: text(), text: text() },
        Some(Event::Answered { .. }) => Event::Told { by: text(), text: text() },
        Some(Event::Told { .. }) => Event::AbandonAsked { by: text() },
        Some(Event::AbandonAsked { .. }) => Event::RetryAsked { by: text() },
        Some(Event::RetryAsked { .. }) => Event::IssueClosed,
        Some(Event::IssueClosed) => Event::SlotGranted,
        Some(Event::SlotGranted) => Event::CriticGranted,
        Some(Event::CriticGranted) => Event::Away { since: Millis(1) },
        Some(Event::Away { .. }) => Event::Due { deadline: Deadline::WallClock },
        Some(Event::Due { .. }) => Event::EffectFailed { effect: text(), why: text() },
        Some(Event::EffectFailed { .. }) => return None,
    })
}

fn report() -> CriticReport {
    CriticReport { head: sha('a'), verdict: Decision::RequestChanges, summary: text(), comments: Vec::new() }
}

#[test]
fn facts_of_the_factory() {
    let facts: Vec<Fact> = all(next_fact).into_iter().map(Fact::Factory).collect();
    insta::assert_snapshot!(lines(&facts));
    for fact in facts {
        assert_eq!(serde_json::to_value(&fact).unwrap()["kind"], fact.kind());
    }
}

fn next_fact(last: Option<&FactoryFact>) -> Option<FactoryFact> {
    use FactoryFact as F;
    let (session, build, recipe) = (session(), build_id(), recipe());
    let (commit, tree, head) = (sha('a'), sha('b'), sha('c'));
    let (key, effect) = (EffectKey::new("1.1/1"), text());
    let outcome = BuildOutcome::Passed { tests: Some(3) };
    Some(match last {
        None => F::DaemonStarted { epoch: 1, pid: 2, version: text() },
        Some(F::DaemonStarted { .. }) => F::DaemonStopped { epoch: 1 },
        Some(F::DaemonStopped { .. }) => F::DatabaseRestored { copy: text(), aside: text() },
        Some(F::DatabaseRestored { .. }) => F::TaskClaimed { title: text(), branch: text(), session },
        Some(F::TaskClaimed { .. }) => {
            F::TaskMoved { from: "A".into(), to: "B".into(), reason: text(), session }
        }
        Some(F::TaskMoved { .. }) => F::AgentRegistered { session, role: Role::Review, predecessor: None },
        Some(F::AgentRegistered { .. }) => F::AgentTerminated { session },
        Some(F::AgentTerminated { .. }) => F::HookUpdated { session, work_phase: WorkPhase::Testing },
        Some(F::HookUpdated { .. }) => F::MergeReady { head },
        Some(F::MergeReady { .. }) => F::HandoffRequested { session },
        Some(F::HandoffRequested { .. }) => F::OrchestratorStuck { session },
        Some(F::OrchestratorStuck { .. }) => F::AgentHook { session, hook: "Stop".into(), detail: text() },
        Some(F::AgentHook { .. }) => F::KeyboardTaken { session, by: "ann".into() },
        Some(F::KeyboardTaken { .. }) => F::KeyboardReturned { session, by: "ann".into() },
        Some(F::KeyboardReturned { .. }) => {
            F::BuildQueued { build, commit, tree, recipe, lane: BuildLane::Branch }
        }
        Some(F::BuildQueued { .. }) => F::BuildStarted { build, slot: 1 },
        Some(F::BuildStarted { .. }) => F::BuildEnded { build, commit, tree, recipe, outcome },
        Some(F::BuildEnded { .. }) => {
            F::Landed { commit, tree, recipe, build, from: sha('d'), head, history: History::Squash }
        }
        Some(F::Landed { .. }) => {
            F::LandedOtherwise { head, wanted: History::Rebase, history: History::Squash }
        }
        Some(F::LandedOtherwise { .. }) => F::MainMovedOutside { from: commit, to: head },
        Some(F::MainMovedOutside { .. }) => F::OutsideMainTested { commit, result: text() },
        Some(F::OutsideMainTested { .. }) => F::QueuePaused { reason: text(), by: Some("ann".into()) },
        Some(F::QueuePaused { .. }) => F::QueueResumed,
        Some(F::QueueResumed) => F::QueueAlarm { waited: Span::hours(2), held: text() },
        Some(F::QueueAlarm { .. }) => F::Decided { decision: text() },
        Some(F::Decided { .. }) => {
            F::CommandTaken { id: 5, command: Command::Pause { reason: None }, answer: text() }
        }
        Some(F::CommandTaken { .. }) => F::Paused,
        Some(F::Paused) => F::Resumed,
        Some(F::Resumed) => F::ConfigTaken { taken: vec![text()], waiting: vec![text()] },
        Some(F::ConfigTaken { .. }) => F::ConfigRefused { why: text() },
        Some(F::ConfigRefused { .. }) => F::EffectDone { key, effect, attempt: 1, adopted: true },
        Some(F::EffectDone { .. }) => F::EffectRetried { key, effect, attempt: 2, error: text() },
        Some(F::EffectRetried { .. }) => F::EffectGivenUp { key, effect, error: text() },
        Some(F::EffectGivenUp { .. }) => F::WorkRescued { reference: text(), commit },
        Some(F::WorkRescued { .. }) => return None,
    })
}

#[test]
fn effects() {
    let effects = all(next_effect);
    insta::assert_snapshot!(lines(&effects));
    for effect in effects {
        assert_eq!(serde_json::to_value(&effect).unwrap()["effect"], effect.name());
    }
}

fn next_effect(last: Option<&Effect>) -> Option<Effect> {
    let (session, head, tree, branch) = (session(), sha('a'), sha('b'), text());
    Some(match last {
        None => Effect::MakeWorkspace { branch },
        Some(Effect::MakeWorkspace { .. }) => Effect::StartSession {
            start: Start::Retry { predecessor: session.clone(), reason: text() },
            session,
        },
        Some(Effect::StartSession { .. }) => Effect::Say { session, text: text() },
        Some(Effect::Say { .. }) => Effect::WakeSession { session },
        Some(Effect::WakeSession { .. }) => Effect::StopSession { session },
        Some(Effect::StopSession { .. }) => Effect::FetchWork { session, branch },
        Some(Effect::FetchWork { .. }) => Effect::PushBranch { branch, head, expected: None },
        Some(Effect::PushBranch { .. }) => Effect::OpenChange { branch, head },
        Some(Effect::OpenChange { .. }) => Effect::StartBuild { head, tree, lane: BuildLane::Gate },
        Some(Effect::StartBuild { .. }) => Effect::StartReview { session, head },
        Some(Effect::StartReview { .. }) => Effect::Comment { text: text() },
        Some(Effect::Comment { .. }) => Effect::SetLabels { add: texts(), remove: Vec::new() },
        Some(Effect::SetLabels { .. }) => {
            Effect::SetStatus { head, state: StatusState::Pending, description: text() }
        }
        Some(Effect::SetStatus { .. }) => {
            Effect::PostReview { head, decision: ReviewDecision::Approved, body: text() }
        }
        Some(Effect::PostReview { .. }) => Effect::CloseIssue,
        Some(Effect::CloseIssue) => {
            Effect::EndChange { ending: Ending::Merged { number: ChangeNumber(4), commit: head } }
        }
        Some(Effect::EndChange { .. }) => Effect::RemoveWorkspace { branch },
        Some(Effect::RemoveWorkspace { .. }) => Effect::RunBuild { build: build_id(), slot: 2 },
        Some(Effect::RunBuild { .. }) => Effect::StopBuild { build: build_id(), slot: 2 },
        Some(Effect::StopBuild { .. }) => Effect::HoldCandidate { build: build_id() },
        Some(Effect::HoldCandidate { .. }) => {
            let change = Change { task: TaskId::stored("1.1"), head };
            let links = vec![Link { change, candidate: sha('c'), tree, history: History::Merge }];
            Effect::Land { links, expected: sha('d'), at: Millis(7) }
        }
        Some(Effect::Land { .. }) => return None,
    })
}

#[test]
fn commands_and_answers() {
    let answers = [Answer::Done { what: text() }, Answer::Refused { why: text() }];
    insta::assert_snapshot!(lines(&all(next_command)) + &lines(&answers));
}

fn next_command(last: Option<&Command>) -> Option<Command> {
    let issue = IssueNumber(1);
    let typist = Typist { pid: 7, start_time: 12_345, boot: "b1".into() };
    Some(match last {
        None => Command::Tell { issue, text: text() },
        Some(Command::Tell { .. }) => Command::Retry { issue },
        Some(Command::Retry { .. }) => Command::Abandon { issue },
        Some(Command::Abandon { .. }) => Command::Pause { reason: None },
        Some(Command::Pause { reason: None }) => Command::Pause { reason: Some(text()) },
        Some(Command::Pause { reason: Some(_) }) => Command::Resume,
        Some(Command::Resume) => Command::QueuePause { reason: text() },
        Some(Command::QueuePause { .. }) => Command::QueueResume,
        Some(Command::QueueResume) => Command::QueueFront { issue },
        Some(Command::QueueFront { .. }) => Command::QueueDrop { issue },
        Some(Command::QueueDrop { .. }) => Command::TakeKeyboard { issue, typist },
        Some(Command::TakeKeyboard { .. }) => Command::ReturnKeyboard { issue, typist },
        Some(Command::ReturnKeyboard { .. }) => return None,
    })
}

#[test]
fn builds_and_verdicts() {
    let results = [TreeResult::Pass, TreeResult::Fail { failing: texts(), log: text() }];
    let whole = build(1, BuildStatus::Waiting);
    insta::assert_snapshot!(lines(&all(next_status)) + &lines(&results) + &lines(&[whole]));
}

fn next_status(last: Option<&BuildStatus>) -> Option<BuildStatus> {
    let ended = |outcome| BuildStatus::Ended { outcome };
    Some(match last {
        None => BuildStatus::Waiting,
        Some(BuildStatus::Waiting) => BuildStatus::Running { slot: 3 },
        Some(BuildStatus::Running { .. }) => ended(BuildOutcome::Passed { tests: None }),
        Some(BuildStatus::Ended { outcome: BuildOutcome::Passed { .. } }) => {
            ended(BuildOutcome::Failed { tests: Some(9), failing: texts(), log: text() })
        }
        Some(BuildStatus::Ended { outcome: BuildOutcome::Failed { .. } }) => {
            ended(BuildOutcome::Broke { why: text() })
        }
        Some(BuildStatus::Ended { outcome: BuildOutcome::Broke { .. } }) => ended(BuildOutcome::Cancelled),
        Some(BuildStatus::Ended { outcome: BuildOutcome::Cancelled }) => return None,
    })
}

#[test]
fn whole_rows() {
    let task = task(1, 1);
    let identity = identity(&task, 1, IdentityStatus::Active);
    let rows =
        lines(&[hook(&identity.name)]) + &lines(&[identity]) + &lines(&[task]) + &lines(&[usage(1, 2, 3)]);
    insta::assert_snapshot!(rows);
}
