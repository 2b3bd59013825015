//! Values for the tests, one plain one of each kind.

use windlass_core::build::{Build, BuildStatus};
use windlass_core::id::{BuildId, EffectKey, IssueNumber, Recipe, SessionId, Sha, TaskId};
use windlass_core::journal::{Entry, Fact, FactoryFact};
use windlass_core::session::{Hook, Identity, IdentityStatus, Role, WorkPhase};
use windlass_core::task::{BuildLane, Effect, State, Tally, Task};
use windlass_core::time::Millis;
use windlass_store::{Mode, Op, SqliteStore, Store, StoreError, UsageRow, Write};

pub fn sha(digit: char) -> Sha {
    Sha::parse(&digit.to_string().repeat(40)).expect("40 hex digits")
}

pub fn task(issue: u64, nth: u32) -> Task {
    let issue = IssueNumber(issue);
    let id = TaskId::nth(issue, nth);
    Task {
        session: SessionId::dev(&id, 1),
        issue,
        title: "Say hello".into(),
        branch: format!("windlass/{id}"),
        state: State::Dispatched,
        since: Millis(100),
        sessions: 1,
        reviews: 0,
        base: None,
        change: None,
        pushed: None,
        retries: 0,
        tally: Tally::default(),
        findings: Vec::new(),
        said: Vec::new(),
        effects: 0,
        counted_at: Millis(100),
        bead_id: None,
        node_id: None,
        id,
    }
}

pub fn in_state(mut task: Task, state: State, since: i64) -> Task {
    task.state = state;
    task.since = Millis(since);
    task
}

pub fn insert(task: &Task) -> Op {
    Op::InsertTask { task: task.clone(), wake_at: None }
}

pub fn save(task: &Task, expected: u64) -> Op {
    Op::SaveTask { task: task.clone(), expected, wake_at: None, at: task.since }
}

pub fn moved(task: &Task, from: &str, to: &str) -> Op {
    let (from, to) = (from.to_owned(), to.to_owned());
    let fact = FactoryFact::TaskMoved { from, to, reason: "test".into(), session: task.session.clone() };
    Op::Log(Entry {
        at: Millis(7),
        task: Some(task.id.clone()),
        issue: Some(task.issue),
        fact: Fact::Factory(fact),
    })
}

/// A line of the log that belongs to no task.
pub fn paused(at: i64) -> Op {
    Op::Log(Entry { at: Millis(at), task: None, issue: None, fact: Fact::Factory(FactoryFact::Paused) })
}

pub fn intend(key: &str, owner: Option<&Task>, effect: Effect) -> Op {
    Op::Intend {
        key: EffectKey::new(key),
        owner: owner.map(|task| task.id.clone()),
        effect,
        not_before: Millis(5),
        at: Millis(4),
    }
}

pub fn identity(task: &Task, nth: u32, status: IdentityStatus) -> Identity {
    Identity {
        role: Role::Dev,
        name: SessionId::dev(&task.id, nth),
        task: task.id.clone(),
        issue: task.issue,
        session_id: None,
        pid: Some(42),
        tmux_session: None,
        node_id: None,
        bead_id: None,
        worktree_path: "w".into(),
        hook_path: "h".into(),
        created_at: Millis(1),
        last_seen: Millis(2),
        status,
        predecessor_id: None,
        strikes: 0,
        head: None,
        phase_mark: None,
        facts_read: 0,
        cost_seen_micro_usd: 0,
        transcript_read: 0,
        hooks_read: 0,
        activity: windlass_core::activity::Activity::default(),
        context: windlass_core::activity::ContextUse::default(),
    }
}

pub fn hook(name: &SessionId) -> Hook {
    Hook {
        identity_name: name.clone(),
        current_bead: None,
        current_node: None,
        work_phase: WorkPhase::Planning,
        work_summary: "half way".into(),
        last_checkpoint_at: Millis(3),
        files_modified: vec!["a.rs".into()],
        tests_status: "green".into(),
        resumption_instructions: "go on".into(),
    }
}

pub fn build(nth: u32, status: BuildStatus) -> Build {
    let recipe = Recipe("r1".into());
    Build {
        id: BuildId::nth(&sha('b'), &recipe, nth),
        commit: sha('a'),
        tree: sha('b'),
        recipe,
        lane: BuildLane::Gate,
        task: TaskId::nth(IssueNumber(1), 1),
        nth,
        status,
        queued_at: Millis(1),
        slot_at: None,
        started_at: None,
        ended_at: None,
    }
}

pub fn usage(issue: u64, at: i64, cost_micro_usd: u64) -> UsageRow {
    let task = TaskId::nth(IssueNumber(issue), 1);
    UsageRow {
        session: SessionId::dev(&task, 1),
        task,
        issue: IssueNumber(issue),
        at: Millis(at),
        input: 1,
        cache_write: 2,
        cache_read: 3,
        output: 4,
        model: "m".into(),
        cost_micro_usd,
    }
}

pub fn commit(store: &dyn Store, ops: Vec<Op>) -> Result<i64, StoreError> {
    store.commit(Write::from(ops)).map(|committed| committed.last_seq)
}

pub fn daemon(state_dir: &std::path::Path) -> Result<SqliteStore, StoreError> {
    SqliteStore::open(state_dir, Mode::Daemon { holder: "test".into(), now: Millis(1) })
}

const STATE: &str = "WINDLASS_TEST_STATE";

/// This program again, to run one of the ignored tests on a state folder in a process of its own.
pub fn test_child(test: &str, state_dir: &std::path::Path) -> std::process::Command {
    let mut child = std::process::Command::new(std::env::current_exe().expect("a test runs from a file"));
    child.args(["--exact", test, "--ignored", "--nocapture"]).env(STATE, state_dir);
    child
}

/// The folder that `test_child` names; `None` when an ignored test was started by hand.
pub fn test_state() -> Option<std::path::PathBuf> {
    std::env::var_os(STATE).map(Into::into)
}
