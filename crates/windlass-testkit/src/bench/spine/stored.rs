//! `windlass status` on a state that has seen ten thousand tasks.

use std::path::Path;
use std::time::Instant;

use windlass_core::id::{BuildId, IssueNumber, Recipe, SessionId, TaskId};
use windlass_core::journal::{Entry, Fact, FactoryFact};
use windlass_core::policy::Policy;
use windlass_core::session::{Identity, IdentityStatus, Role};
use windlass_core::task::{Claim, Event, State, Task, claim};
use windlass_core::time::{Millis, Span};
use windlass_store::{Mode, Op as Row, SqliteStore, Store, UsageRow, Write};

use crate::bench::agents;
use crate::bench::error::BenchError;
use crate::bench::factory::{Factory, Setup, now_ms};
use crate::bench::place::{Place, run};
use crate::bench::sheet::{Op, Sheet};
use crate::bench::stats::{count, median, millis};
use windlass_testkit::samples::{self, sha};

pub const TASKS: usize = 10_000;
/// Still under way; all others have ended.
const LIVE: usize = 300;
const EVENTS_OF_A_TASK: usize = 12;
const CALLS: usize = 20;
/// A hundred tasks a day.
const BETWEEN_TASKS: Span = Span(864_000);
const TASKS_IN_A_WRITE: usize = 250;

pub fn measure(place: &Place) -> Result<Sheet, BenchError> {
    let setup = Setup { files: 20, parallel: 8, ci_slots: 1, dev: agents::dev(), critic: agents::critic() };
    let factory = Factory::new(place, &setup)?;
    let events = fill(&factory.state(), Size::with_events(EVENTS_OF_A_TASK))?;
    let status_ms = timed(&factory, &["status", "--json"])?;
    let floor_ms = timed(&factory, &["--version"])?;
    let what = "`windlass status --json` as a new process, median of 20";
    let mut sheet = Sheet::new("spine");
    sheet.figure_with_goal("status_10k_ms", status_ms, Op::AtMost, 50.0, what);
    sheet.figure("status_exec_floor_ms", floor_ms, "`windlass --version`, the same way");
    sheet.figure("status_tasks", count(TASKS), "tasks stored, 300 of them live");
    sheet.figure("status_events", count(events), "events stored");
    Ok(sheet)
}

/// How long a call takes as a new process, in milliseconds.
pub fn timed(factory: &Factory<'_>, args: &[&str]) -> Result<f64, BenchError> {
    let mut samples = Vec::new();
    for _ in 0..=CALLS {
        let start = Instant::now();
        run(factory.windlass().args(args))?;
        samples.push(millis(start.elapsed()));
    }
    // The first call also reads the program from the disk.
    Ok(median(&samples[1..]))
}

/// How much a store is to hold.
#[derive(Debug, Clone, Copy)]
pub struct Size {
    pub tasks: usize,
    /// The newest, which are still under way.
    pub live: usize,
    pub events_of_a_task: usize,
}

impl Size {
    pub fn with_events(events_of_a_task: usize) -> Self {
        Self { tasks: TASKS, live: LIVE, events_of_a_task }
    }
}

/// Tasks of the last hundred days, oldest first, the newest still under way. Says how many events there are.
pub fn fill(state: &Path, size: Size) -> Result<usize, BenchError> {
    let Size { tasks, live, events_of_a_task } = size;
    let now = now();
    let store = SqliteStore::open(state, Mode::Daemon { holder: "bench".into(), now })?;
    let states: Vec<State> = samples::tasks().into_iter().map(|task| task.state).collect();
    let (ended, under_way): (Vec<State>, Vec<State>) = states.into_iter().partition(State::is_terminal);
    let mut rows = Vec::new();
    for nth in 0..tasks {
        let states = if nth < tasks - live { &ended } else { &under_way };
        let age = i64::try_from(tasks - nth).unwrap_or(0) * BETWEEN_TASKS.0;
        let task = task(nth, states[nth % states.len()].clone(), Millis(now.0 - age));
        rows.extend(rows_of(&task, events_of_a_task));
        if nth % TASKS_IN_A_WRITE == TASKS_IN_A_WRITE - 1 {
            store.commit(Write::from(std::mem::take(&mut rows)))?;
        }
    }
    store.commit(Write::from(rows))?;
    Ok(usize::try_from(store.last_seq()?).unwrap_or(0))
}

fn task(nth: usize, state: State, at: Millis) -> Task {
    let issue = IssueNumber(nth as u64 + 1);
    let title = format!("Say in the log which of the {nth} requests was refused, and why");
    let asked = Claim { issue, title, nth: 1, branch_prefix: "windlass/".into() };
    let mut task = claim(&Policy::default(), asked, at).task;
    // A question asked now is not due; what a sample says of its time is long ago.
    task.state = match state {
        State::AwaitingHuman { question, .. } => State::AwaitingHuman { question, notified_at: at },
        State::Limited { what, .. } => State::Limited { until: at + Span::hours(1), what },
        state => state,
    };
    task.base = Some(sha(3));
    task.pushed = Some(sha(nth as u64));
    task.effects = 17;
    task
}

fn rows_of(task: &Task, events: usize) -> Vec<Row> {
    let mut rows = vec![Row::InsertTask { task: task.clone(), wake_at: None }];
    for (role, name) in
        [(Role::Dev, SessionId::dev(&task.id, 1)), (Role::Review, SessionId::review(&task.id, 1))]
    {
        rows.push(Row::SaveIdentity(identity(task, role, name.clone())));
        rows.push(Row::AddUsage(usage(task, name)));
    }
    let story = (0..events).map(|nth| Row::Log(line(task, nth)));
    rows.extend(story);
    rows
}

/// In turn the kinds of events that a task's story is made of.
fn line(task: &Task, nth: usize) -> Entry {
    let session = task.session.clone();
    let fact = match nth % 4 {
        0 => Fact::Factory(FactoryFact::TaskMoved {
            from: "RUNNING".into(),
            to: task.state.name().into(),
            reason: "work_fetched".into(),
            session,
        }),
        1 => Fact::Task(Event::WorkFetched { session, head: sha(7), tree: sha(8) }),
        2 => Fact::Factory(FactoryFact::BuildStarted {
            build: BuildId::nth(&sha(8), &Recipe("recipe-1".into()), 1),
            slot: 1,
        }),
        _ => Fact::Task(Event::TurnEnded { session }),
    };
    Entry { at: task.since, task: Some(task.id.clone()), issue: Some(task.issue), fact }
}

fn usage(task: &Task, session: SessionId) -> UsageRow {
    UsageRow {
        session,
        task: task.id.clone(),
        issue: task.issue,
        at: task.since,
        input: 12_000,
        cache_write: 3_000,
        cache_read: 90_000,
        output: 4_000,
        model: "model-1".into(),
        cost_micro_usd: 130_000,
    }
}

fn identity(task: &Task, role: Role, name: SessionId) -> Identity {
    let ended = task.state.is_terminal() || role == Role::Review;
    let workspace = |task: &TaskId| format!("/var/lib/windlass/project/workspaces/{task}");
    Identity {
        role,
        task: task.id.clone(),
        issue: task.issue,
        session_id: Some("0b5c1f1e-7d43-4f3e-9a52-5a1f2a4c9d10".into()),
        pid: Some(4_242),
        tmux_session: None,
        node_id: None,
        bead_id: None,
        worktree_path: workspace(&task.id),
        hook_path: format!("/var/lib/windlass/project/sessions/{name}/hook.json"),
        name,
        created_at: task.since,
        last_seen: task.since,
        status: if ended { IdentityStatus::Terminated } else { IdentityStatus::Active },
        predecessor_id: None,
        strikes: 0,
        head: None,
        phase_mark: None,
        facts_read: 4,
        cost_seen_micro_usd: 0,
        transcript_read: 0,
        hooks_read: 0,
        activity: windlass_core::activity::Activity::default(),
        context: windlass_core::activity::ContextUse::default(),
    }
}

#[expect(clippy::cast_possible_truncation, reason = "milliseconds since 1970")]
fn now() -> Millis {
    Millis(now_ms() as i64)
}
