//! The task machine itself, in a small world: its effects are carried out in order, agents, builds, critics, the queue
//! and people answer in every way that they can, and effects may fail for good.
//!
//! Time stands still: every deadline that the task has may come at any moment.

mod acts;

use std::hash::{Hash, Hasher};

use stateright::{Model, Property};
use windlass_core::id::{IssueNumber, SessionId, Sha};
use windlass_core::policy::{Caps, Policy};
use windlass_core::task::{self, Claim, Critic, Effect, Event, Lane, State, Task, claim, step};
use windlass_core::time::Millis;

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
            State::AwaitingCritic { critic: Critic::Reading { .. }, .. } => around.review.is_some(),
            State::Running { .. } | State::Revising { .. } | State::HandingOff { .. } => around.busy,
            // The scheduler, the clock, the queue and people have these in their lists.
            State::AwaitingCritic { critic: Critic::Wanted | Critic::Down { .. }, .. }
            | State::AwaitingSlot { .. }
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
        let next = desk.around.orders.first().filter(|Order(effect)| !effect.is_never_given_up());
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
