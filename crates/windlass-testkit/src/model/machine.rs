//! The task machine itself, in a small world: its effects are carried out in order, agents, builds, critics, the queue
//! and people answer in every way that they can, and effects may fail for good.
//!
//! Time stands still: every deadline that the task has may come at any moment.

use std::hash::{Hash, Hasher};

use stateright::{Model, Property};
use windlass_core::id::{ChangeNumber, IssueNumber, SessionId, Sha};
use windlass_core::phase::Phase;
use windlass_core::policy::{Caps, Policy};
use windlass_core::task::{
    self, Claim, Crash, Effect, Event, Lane, Rejection, State, Task, Urgency, claim, step, wake_at,
};
use windlass_core::time::Millis;
use windlass_core::verdict::{Category, CriticComment, CriticReport, Decision, Severity};

use super::{Searched, search};

const NOW: Millis = Millis(0);

/// How far the search goes.
#[derive(Debug, Clone)]
pub struct Machine {
    policy: Policy,
    trouble: Trouble,
}

/// How often, in all, something happens that is not the usual course.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
struct Trouble {
    /// Crashes, provider limits, full contexts and effects that fail.
    faults: u8,
    /// Words of people that nobody asked for: telling, abandoning, closing, retrying.
    wishes: u8,
    /// Questions that people answer; later ones wait until their time is over.
    answers: u8,
}

/// The task and the world around it.
#[derive(Debug, Clone)]
pub struct Desk {
    task: Task,
    /// The task as text: what two desks are compared by.
    print: String,
    around: Around,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
struct Around {
    /// Effects that wait, as the outbox has them.
    orders: Vec<Order>,
    /// The dev session whose process exists.
    session: Option<SessionId>,
    /// It was spoken to and has not answered.
    busy: bool,
    review: Option<SessionId>,
    /// Trees that are being tested.
    builds: Vec<Sha>,
    had: Trouble,
}

/// An effect, compared by what it says.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Order(Effect);

impl Hash for Order {
    fn hash<H: Hasher>(&self, state: &mut H) {
        serde_json::to_string(&self.0).expect("plain data").hash(state);
    }
}

impl PartialEq for Desk {
    fn eq(&self, other: &Self) -> bool {
        self.print == other.print && self.around == other.around
    }
}

impl Hash for Desk {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.print.hash(state);
        self.around.hash(state);
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Act {
    /// The next order is carried out, and ends like this.
    Carry(Option<Event>),
    /// The order is given up.
    GiveUp,
    /// The dev session does something.
    Agent(Event),
    Build(Event),
    Critic(Event),
    Queue(Event),
    Person(Event),
    /// The scheduler or the clock.
    Daemon(Event),
}

impl Machine {
    /// Worlds small enough to be searched in seconds. Caps are so low that every way to reach one is seen; where one has
    /// room, the others have none.
    pub fn worlds() -> Vec<Self> {
        let (fault, wish, answer) = (trouble(1, 0, 0), trouble(0, 1, 0), trouble(0, 0, 1));
        let critic = Caps { critic_rounds: 2, ..tight() };
        let ci = Caps { ci_fixes: 1, ci_infra_retries: 1, ..tight() };
        let queue = Caps { conflicts: 1, nudges: 1, ..tight() };
        let all = Caps { critic_rounds: 2, ci_fixes: 1, ci_infra_retries: 1, ..queue.clone() };
        let worlds = [
            (critic.clone(), fault),
            (critic.clone(), wish),
            (critic, answer),
            (ci, fault),
            (queue, fault),
            (all, Trouble::default()),
        ];
        worlds.map(|(caps, trouble)| Self::new(caps, trouble)).into()
    }

    /// Worlds that take minutes.
    pub fn large_worlds() -> Vec<Self> {
        let queue = Caps { conflicts: 1, nudges: 1, ..tight() };
        vec![Self::new(tight(), trouble(1, 1, 1)), Self::new(queue, trouble(0, 1, 1))]
    }

    fn new(caps: Caps, trouble: Trouble) -> Self {
        Self { policy: Policy { caps, ..Policy::default() }, trouble }
    }

    pub fn search(self) -> Searched {
        search(self)
    }

    fn carry(desk: &Desk, acts: &mut Vec<Act>) {
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

    fn agent(desk: &Desk, may_fail: bool, acts: &mut Vec<Act>) {
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

    fn others(desk: &Desk, may_fail: bool, acts: &mut Vec<Act>) {
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

    fn people(&self, desk: &Desk, acts: &mut Vec<Act>) {
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
        if let Some((_, deadline)) = wake_at(&self.policy, &desk.task) {
            acts.push(Act::Daemon(Event::Due { deadline }));
        }
    }

    /// One event, as the heart's record takes it in.
    fn happened(&self, desk: &mut Desk, event: &Event) -> bool {
        let Ok(after) = step(&self.policy, &desk.task, NOW, event) else { return false };
        if after.task.state.is_terminal() && !desk.task.state.is_terminal() {
            desk.around.orders.retain(|order| !order.0.ends_with_task());
        }
        desk.task = after.task;
        // Notes to people move nothing.
        let work = after.effects.into_iter().filter(|effect| effect.lane() == Lane::Work);
        desk.around.orders.extend(work.map(Order));
        true
    }

    /// What carrying out the next order does to the world.
    fn carried(desk: &mut Desk) {
        let Order(effect) = desk.around.orders.remove(0);
        let around = &mut desk.around;
        match effect {
            Effect::StartSession { session, .. } => {
                around.session = Some(session);
                around.busy = true;
            }
            Effect::Say { session, .. } | Effect::WakeSession { session } => {
                around.session = Some(session);
                around.busy = true;
            }
            Effect::StopSession { session } => {
                if around.session.as_ref() == Some(&session) {
                    around.session = None;
                    around.busy = false;
                }
                if around.review.as_ref() == Some(&session) {
                    around.review = None;
                }
            }
            Effect::StartBuild { tree, .. } if around.builds.contains(&tree) => {}
            Effect::StartBuild { tree, .. } => around.builds.push(tree),
            Effect::StartReview { session, .. } => around.review = Some(session),
            Effect::MakeWorkspace { .. }
            | Effect::FetchWork { .. }
            | Effect::PushBranch { .. }
            | Effect::OpenChange { .. }
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
            | Effect::Land { .. } => {}
        }
    }

    /// Something other than a person or a deadline will move the task on.
    fn moves_by_itself(desk: &Desk) -> bool {
        let around = &desk.around;
        let waits = match &desk.task.state {
            State::AwaitingCi { tree, .. } => around.builds.contains(tree),
            State::AwaitingCritic { again_at, .. } => around.review.is_some() || again_at.is_some(),
            State::Running { .. } | State::Revising { .. } | State::HandingOff { .. } => around.busy,
            // The scheduler, the clock, the queue and people have these in their lists.
            State::AwaitingSlot { .. }
            | State::AwaitingHuman { .. }
            | State::Limited { .. }
            | State::Queued { .. }
            | State::Merged { .. }
            | State::Closed { .. }
            | State::Abandoned { .. } => true,
            State::Dispatched => false,
        };
        waits || !around.orders.is_empty()
    }
}

impl Model for Machine {
    type State = Desk;
    type Action = Act;

    fn init_states(&self) -> Vec<Desk> {
        let claim_ = Claim { issue: IssueNumber(1), title: "t".into(), nth: 1, branch_prefix: "w/".into() };
        let task::Step { task, effects } = claim(&self.policy, claim_, NOW);
        let work = effects.into_iter().filter(|effect| effect.lane() == Lane::Work);
        let around = Around { orders: work.map(Order).collect(), ..Around::default() };
        vec![Desk { print: String::new(), task, around }.printed()]
    }

    fn actions(&self, desk: &Desk, acts: &mut Vec<Act>) {
        let may_fail = desk.around.had.faults < self.trouble.faults;
        Self::carry(desk, acts);
        // A stop that is given up leaves a process behind; that is said to a person, and no rule can mend it.
        let next =
            desk.around.orders.first().filter(|Order(effect)| !matches!(effect, Effect::StopSession { .. }));
        if may_fail && next.is_some() {
            acts.push(Act::GiveUp);
        }
        Self::agent(desk, may_fail, acts);
        Self::others(desk, may_fail, acts);
        self.people(desk, acts);
    }

    fn next_state(&self, before: &Desk, act: Act) -> Option<Desk> {
        let mut desk = before.clone();
        match act {
            Act::Carry(event) => {
                Self::carried(&mut desk);
                if let Some(event) = event {
                    self.happened(&mut desk, &event);
                }
            }
            Act::GiveUp => {
                desk.around.had.faults += 1;
                let Order(effect) = desk.around.orders.remove(0);
                let event = Event::EffectFailed { effect: effect.name().into(), why: "refused".into() };
                self.happened(&mut desk, &event);
            }
            Act::Agent(event) => {
                // A warning about the context ends no turn.
                desk.around.busy = matches!(event, Event::ContextWarning { .. });
                if !matches!(
                    event,
                    Event::PhaseSeen { .. } | Event::TurnEnded { .. } | Event::HandoffComplete { .. }
                ) {
                    desk.around.had.faults += 1;
                }
                if matches!(event, Event::AgentCrashed { .. }) {
                    desk.around.session = None;
                }
                self.happened(&mut desk, &event);
            }
            Act::Build(event) => {
                let (Event::BuildPassed { tree }
                | Event::BuildFailed { tree, .. }
                | Event::BuildBroke { tree, .. }) = &event
                else {
                    return None;
                };
                desk.around.builds.retain(|building| building != tree);
                self.happened(&mut desk, &event);
            }
            Act::Critic(event) => {
                desk.around.had.faults += u8::from(matches!(event, Event::CriticFailed { .. }));
                desk.around.review = None;
                self.happened(&mut desk, &event);
            }
            Act::Queue(event) | Act::Daemon(event) => {
                if !self.happened(&mut desk, &event) {
                    return None;
                }
            }
            Act::Person(event) => {
                match event {
                    Event::Answered { .. } => desk.around.had.answers += 1,
                    _ => desk.around.had.wishes += 1,
                }
                if !self.happened(&mut desk, &event) {
                    return None;
                }
            }
        }
        Some(desk.printed())
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("a cap is never passed", |model: &Self, desk: &Desk| {
                let (tally, caps) = (&desk.task.tally, &model.policy.caps);
                tally.critic_rounds <= caps.critic_rounds
                    && tally.ci_fixes <= caps.ci_fixes
                    && tally.nudges <= caps.nudges
                    && tally.restarts.len() <= caps.restarts as usize
                    // One more is asked about, and a person may have said to go on.
                    && tally.conflicts <= caps.conflicts + 1 + u32::from(desk.around.had.answers + desk.around.had.wishes)
            }),
            Property::always("who is at work has somebody who works", |_: &Self, desk: &Desk| {
                Self::moves_by_itself(desk)
            }),
            Property::always("an ended task leaves no process", |_: &Self, desk: &Desk| {
                let ended = desk.task.state.is_terminal() && desk.around.orders.is_empty();
                !ended || (desk.around.session.is_none() && desk.around.review.is_none())
            }),
            Property::always("only the current session runs", |_: &Self, desk: &Desk| {
                let replaced = |session: &SessionId| *session != desk.task.session;
                !desk.around.session.as_ref().is_some_and(replaced) || !desk.around.orders.is_empty()
            }),
            Property::sometimes("merged", |_: &Self, desk: &Desk| {
                matches!(desk.task.state, State::Merged { .. })
            }),
            Property::sometimes("merged after a crash", |_: &Self, desk: &Desk| {
                matches!(desk.task.state, State::Merged { .. }) && desk.task.sessions > 1
            }),
            Property::sometimes("merged after changes were asked for", |_: &Self, desk: &Desk| {
                matches!(desk.task.state, State::Merged { .. }) && desk.task.tally.critic_rounds > 0
            }),
            Property::sometimes("abandoned and tried again", |_: &Self, desk: &Desk| {
                desk.task.retries > 0 && matches!(desk.task.state, State::Merged { .. })
            }),
        ]
    }
}

impl Desk {
    /// Numbers that only grow are left out: they would make every state a new one.
    fn printed(mut self) -> Self {
        self.task.effects = 0;
        self.print = serde_json::to_string(&self.task).expect("plain data");
        self
    }
}

/// Caps without room.
fn tight() -> Caps {
    Caps {
        critic_rounds: 1,
        ci_fixes: 0,
        ci_infra_retries: 0,
        nudges: 0,
        restarts: 1,
        conflicts: 0,
        outages: 1,
        ..Caps::default()
    }
}

fn trouble(faults: u8, wishes: u8, answers: u8) -> Trouble {
    Trouble { faults, wishes, answers }
}

fn sha(nth: u8) -> Sha {
    Sha::parse(&format!("{nth:040x}")).expect("forty digits")
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
