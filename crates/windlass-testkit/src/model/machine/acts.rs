//! What can happen next at a desk.

use windlass_core::id::{ChangeNumber, Sha};
use windlass_core::phase::Phase;
use windlass_core::task::{self, Crash, Effect, Event, Rejection, State, Urgency, wake_at};
use windlass_core::time::Millis;
use windlass_core::verdict::{Category, CriticComment, CriticReport, Decision, Severity};

use super::{Act, Desk, Machine, Order, sha};

impl Machine {
    pub(super) fn carry(desk: &Desk, acts: &mut Vec<Act>) {
        let Some(Order(effect)) = desk.around.orders.first() else { return };
        let session = desk.task.session.clone();
        let said = |event| vec![Act::Carry(Some(event))];
        let ends = match effect {
            Effect::MakeWorkspace { .. } => said(Event::WorkspaceReady { base: sha(0) }),
            Effect::StartSession { session, .. } => said(Event::SessionStarted { session: session.clone() }),
            Effect::FetchWork { .. } => {
                // Another head than the last one; two are enough to tell them apart.
                let nth = if desk.task.pushed == Some(sha(1)) { 2 } else { 1 };
                let (head, tree) = (sha(nth), sha(nth + 100));
                let mut ends = said(Event::WorkFetched { session: session.clone(), head, tree });
                let why = Rejection::NothingCommitted;
                ends.extend(said(Event::WorkRejected { session, why }));
                ends
            }
            Effect::OpenChange { .. } => said(Event::ChangeOpened { number: ChangeNumber(9) }),
            Effect::Say { .. }
            | Effect::WakeSession { .. }
            | Effect::StopSession { .. }
            | Effect::PushBranch { .. }
            | Effect::StartBuild { .. }
            | Effect::StartReview { .. }
            | Effect::Comment { .. }
            | Effect::SetLabels { .. }
            | Effect::SetStatus { .. }
            | Effect::PostReview { .. }
            | Effect::CloseIssue
            | Effect::EndChange { .. }
            | Effect::RemoveWorkspace { .. }
            | Effect::RunBuild { .. }
            | Effect::StopBuild { .. }
            | Effect::HoldCandidate { .. }
            | Effect::Land { .. } => vec![Act::Carry(None)],
        };
        acts.extend(ends);
    }

    pub(super) fn agent(desk: &Desk, may_fail: bool, acts: &mut Vec<Act>) {
        let Some(session) = desk.around.session.clone().filter(|_| desk.around.busy) else { return };
        let phases = [
            Phase::Done,
            Phase::Escalate { reason: "which?".into() },
            Phase::Failed { reason: "refused: too_large".into() },
            Phase::Failed { reason: "no idea".into() },
        ];
        let phases = phases.into_iter().map(|phase| Event::PhaseSeen { session: session.clone(), phase });
        acts.extend(phases.map(Act::Agent));
        acts.push(Act::Agent(Event::TurnEnded { session: session.clone() }));
        if may_fail {
            let crash = Event::AgentCrashed { session: session.clone(), how: Crash::Vanished };
            let until = Millis(1);
            let limit = Event::LimitHit { session: session.clone(), until, what: "window".into() };
            let full = Event::ContextWarning { session: session.clone(), urgency: Urgency::High };
            let failed =
                |trouble| Event::ProviderFailed { session: session.clone(), trouble, what: "no".into() };
            let (down, denied) = (failed(task::Trouble::Passing), failed(task::Trouble::NeedsPerson));
            acts.extend([crash, limit, full, down, denied].map(Act::Agent));
        }
        if matches!(desk.task.state, State::HandingOff { .. }) {
            acts.push(Act::Agent(Event::HandoffComplete { session }));
        }
    }

    pub(super) fn others(desk: &Desk, may_fail: bool, acts: &mut Vec<Act>) {
        let awaited = |tree: &&Sha| matches!(&desk.task.state, State::AwaitingCi { tree: wanted, .. } if wanted == *tree);
        for tree in &desk.around.builds {
            acts.push(Act::Build(Event::BuildPassed { tree: tree.clone() }));
        }
        for tree in desk.around.builds.iter().filter(awaited) {
            let (failing, log) = (vec!["t".to_owned()], "red".to_owned());
            acts.push(Act::Build(Event::BuildFailed { tree: tree.clone(), failing, log }));
            acts.push(Act::Build(Event::BuildBroke { tree: tree.clone(), why: "no disk".into() }));
        }
        if let (State::AwaitingCritic { head, .. }, Some(_)) = (&desk.task.state, &desk.around.review) {
            let decisions = [Decision::Approve, Decision::RequestChanges, Decision::Block];
            let given = decisions.map(|decision| Event::VerdictGiven { report: report(head, decision) });
            acts.extend(given.map(Act::Critic));
            acts.push(Act::Critic(Event::NoVerdict { head: head.clone(), why: "silence".into() }));
            let failed =
                |trouble| Event::CriticFailed { head: head.clone(), trouble, until: None, what: "no".into() };
            let failures = [task::Trouble::Passing, task::Trouble::NeedsPerson].map(failed);
            acts.extend(failures.into_iter().filter(|_| may_fail).map(Act::Critic));
        }
        if let State::Queued { head, .. } = &desk.task.state {
            let (head, files) = (head.clone(), vec!["a".to_owned()]);
            acts.push(Act::Queue(Event::MergeComplete { head: head.clone(), commit: sha(200) }));
            acts.push(Act::Queue(Event::MergeConflict { head: head.clone(), files, commits: Vec::new() }));
            acts.push(Act::Queue(Event::Ejected {
                head: head.clone(),
                failing: Vec::new(),
                log: String::new(),
            }));
            acts.push(Act::Queue(Event::AlreadyOnMain { head }));
        }
    }

    pub(super) fn people(&self, desk: &Desk, acts: &mut Vec<Act>) {
        let by = || "ann".to_owned();
        if matches!(desk.task.state, State::AwaitingHuman { .. })
            && desk.around.had.answers < self.trouble.answers
        {
            acts.push(Act::Person(Event::Answered { by: by(), text: "yes".into() }));
        }
        if desk.around.had.wishes < self.trouble.wishes {
            acts.push(Act::Person(Event::Told { by: by(), text: "hm".into() }));
            acts.push(Act::Person(Event::AbandonAsked { by: by() }));
            acts.push(Act::Person(Event::IssueClosed));
            acts.push(Act::Person(Event::Withdrawn { by: by() }));
            acts.push(Act::Person(Event::RetryAsked { by: by() }));
        }
        if matches!(desk.task.state, State::AwaitingSlot { .. }) {
            acts.push(Act::Daemon(Event::SlotGranted));
        }
        if desk.task.state.wants_critic() {
            acts.push(Act::Daemon(Event::CriticGranted));
        }
        if let Some((_, deadline)) = wake_at(&self.policy, &desk.task) {
            acts.push(Act::Daemon(Event::Due { deadline }));
        }
    }
}

fn report(head: &Sha, verdict: Decision) -> CriticReport {
    let comment = CriticComment {
        severity: Severity::Sev2,
        category: Category::Correctness,
        file: None,
        line: None,
        message: "no".into(),
        finding: None,
    };
    let comments = if verdict == Decision::Approve { Vec::new() } else { vec![comment] };
    CriticReport { head: head.clone(), verdict, summary: String::new(), comments }
}
