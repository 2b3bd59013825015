//! What would bring an issue on, from where it stands.

use windlass_core::forge::Issue;
use windlass_core::id::IssueNumber;
use windlass_core::schedule::{Hold, Skip};
use windlass_core::task::{State, Task};

use crate::config::Labels;
use crate::daemon::Daemon;
use crate::view::QueueEntry;

/// What is known about an issue and the factory.
#[derive(Debug)]
pub struct Situation<'a> {
    pub issue: &'a Issue,
    pub task: Option<&'a Task>,
    pub waits_for: &'a [IssueNumber],
    /// Why the scheduler would not take it at this moment.
    pub skip: Option<&'a Skip>,
    pub daemon: Daemon,
    /// Why nothing may be started at all.
    pub hold: Option<Hold>,
    pub labels: &'a Labels,
    /// How it stands in the merge queue.
    pub queue: Option<&'a QueueEntry>,
}

/// The most pressing first.
pub fn next(situation: &Situation<'_>) -> Vec<String> {
    let mut next = Vec::new();
    // Who is done needs nobody.
    let open = situation.issue.open;
    if situation.daemon == Daemon::Down && open {
        next.push("the factory is down: windlass up".into());
    }
    if let Some(hold) = situation.hold.as_ref().filter(|_| open) {
        next.push(format!("{}: {}", hold.sentence(), remedy(hold)));
    }
    match (situation.task, situation.queue) {
        (_, Some(entry)) => next.extend(super::queued::next(entry)),
        // No slot and no patience helps while everybody is held up.
        (Some(task), None) if situation.hold.is_some() && wants_to_start(&task.state) => {}
        (Some(task), None) => next.extend(of_task(task, situation.issue.open)),
        (None, None) => next.extend(of_issue(situation)),
    }
    next
}

/// What runs goes on under every hold; this does not run.
fn wants_to_start(state: &State) -> bool {
    matches!(state, State::AwaitingSlot { .. }) || state.wants_critic()
}

fn remedy(hold: &Hold) -> &'static str {
    match hold {
        Hold::Paused(_) => "windlass resume",
        Hold::LowMemory { .. } | Hold::LowDisk { .. } => "free some, or lower it in [guards]",
        Hold::LowInodes { .. } => "remove files on the disk that holds the state folder",
        Hold::DaySpent { .. } => "or raise `per_day_usd` in [budget]",
    }
}

/// What can be done about an issue from where its task stands; only abandoned work is ever taken up again.
pub fn of_task(task: &Task, open: bool) -> Vec<String> {
    let n = task.issue.0;
    let way = match &task.state {
        State::Dispatched | State::Running { .. } | State::Revising { .. } | State::HandingOff { .. } => {
            format!("wait, or watch it: windlass logs -f {n}")
        }
        State::AwaitingCi { .. } => format!("wait for CI, or watch it: windlass logs -f --ci {n}"),
        State::AwaitingCritic { .. } => {
            format!("wait for the critic, or watch it: windlass logs -f --critic {n}")
        }
        State::AwaitingSlot { .. } => "wait for a free slot; more of them: `parallel` in [dispatch]".into(),
        State::AwaitingHuman { .. } => format!("answer it: windlass tell {n} \"…\""),
        State::Limited { .. } => "wait for the provider".into(),
        State::Queued { .. } => "wait for its turn: windlass queue".into(),
        State::Merged { .. } => return done("it is on main", n, open),
        State::Closed { .. } => return done("it is done", n, open),
        State::Abandoned { .. } => {
            let again = format!("try again: windlass retry {n}");
            let close = open.then(|| format!("or let it be: windlass close {n}"));
            return [again].into_iter().chain(close).collect();
        }
    };
    vec![way]
}

fn done(how: &str, n: u64, open: bool) -> Vec<String> {
    let mut next = vec![format!("nothing, {how}")];
    if open {
        next.push(format!("say that no more is wanted: windlass close {n}"));
        next.push("what is missing is another issue: windlass new \"…\"".into());
    }
    next
}

fn of_issue(situation: &Situation<'_>) -> Vec<String> {
    let (issue, labels) = (situation.issue, situation.labels);
    let n = issue.number.0;
    if !issue.open {
        return vec!["nothing, it is closed".into()];
    }
    let mut next = Vec::new();
    for hindrance in [&labels.blocked, &labels.underspecified, &labels.abandon] {
        if issue.has_label(hindrance) {
            next.push(format!("windlass label {n} -{hindrance}"));
        }
    }
    if ![&labels.backlog, &labels.priority, &labels.in_progress].iter().any(|label| issue.has_label(label)) {
        next.push(format!("mark it as work: windlass label {n} +{}", labels.backlog));
    }
    next.extend(
        situation
            .waits_for
            .iter()
            .map(|other| format!("{other} must be closed first: windlass why {}", other.0)),
    );
    if !situation.waits_for.is_empty() {
        next.push(format!("or do not wait: windlass run {n} --ignore-deps"));
    }
    if next.is_empty() && situation.hold.is_none() {
        next.push(match situation.skip {
            Some(Skip::TooManyOpenChanges { .. }) => {
                "wait until an open change has landed; more of them: `max_open_changes` in [dispatch]".into()
            }
            Some(Skip::NoSlot { .. }) => "wait: it is taken when a slot is free".into(),
            Some(
                skip @ (Skip::NotInBacklog
                | Skip::Blocked
                | Skip::Underspecified
                | Skip::AbandonAsked
                | Skip::Ended
                | Skip::WaitsFor(_)
                | Skip::WaitsLong { .. }
                | Skip::MissingDependency(_)
                | Skip::Circle(_)
                | Skip::TooManyDependencies(_)
                | Skip::Held(_)),
            ) => format!("change this first: {}", skip.sentence()),
            None => "wait: it is taken next".into(),
        });
    }
    next
}
