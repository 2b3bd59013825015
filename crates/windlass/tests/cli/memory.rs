//! What the commands say about tasks, sessions, builds and events, from a database that the tests fill as a daemon would.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::common::Machine;
use serde_json::{Value, json};
use windlass_core::build::{Build, BuildOutcome, BuildStatus};
use windlass_core::command::Answer;
use windlass_core::id::{BuildId, IssueNumber, Recipe, SessionId, Sha, TaskId};
use windlass_core::journal::{Entry, Fact, FactoryFact};
use windlass_core::policy::Policy;
use windlass_core::session::{Identity, IdentityStatus, Role};
use windlass_core::task::{self, AbandonReason, BuildLane, Claim, State, Task};
use windlass_core::time::Millis;
use windlass_store::{Mode, Op, SqliteStore, Store, Write as Page};

pub fn now() -> Millis {
    windlass_engine::now()
}

pub fn sha(digit: char) -> Sha {
    Sha::parse(&digit.to_string().repeat(40)).unwrap()
}

pub fn daemon(machine: &Machine) -> SqliteStore {
    holding(machine, "daemon")
}

/// The state folder in our hands, and what for.
fn holding(machine: &Machine, holder: &str) -> SqliteStore {
    SqliteStore::open(&machine.state(), Mode::Daemon { holder: holder.into(), now: now() }).unwrap()
}

pub fn task(issue: u64, state: State) -> Task {
    let claim = Claim {
        issue: IssueNumber(issue),
        title: format!("task {issue}"),
        nth: 1,
        branch_prefix: "windlass/".into(),
    };
    let mut task = task::claim(&Policy::default(), claim, now()).task;
    task.state = state;
    task
}

pub fn identity(task: &Task) -> Identity {
    Identity {
        role: Role::Dev,
        name: task.session.clone(),
        task: task.id.clone(),
        issue: task.issue,
        session_id: None,
        pid: Some(4242),
        tmux_session: None,
        node_id: None,
        bead_id: None,
        worktree_path: String::new(),
        hook_path: String::new(),
        created_at: now(),
        last_seen: now(),
        status: IdentityStatus::Active,
        predecessor_id: None,
        strikes: 1,
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

pub fn save(store: &SqliteStore, ops: Vec<Op>) {
    store.commit(Page::from(ops)).unwrap();
}

fn moved(task: &Task, from: &str, to: &str) -> Op {
    let fact = FactoryFact::TaskMoved {
        from: from.into(),
        to: to.into(),
        reason: "slot_granted".into(),
        session: task.session.clone(),
    };
    let entry =
        Entry { at: now(), task: Some(task.id.clone()), issue: Some(task.issue), fact: Fact::Factory(fact) };
    Op::Log(entry)
}

fn build(task: &Task) -> Build {
    let outcome = BuildOutcome::Failed { tests: Some(3), failing: vec!["test_x".into()], log: "no".into() };
    Build {
        id: BuildId::stored("b-1"),
        commit: sha('a'),
        tree: sha('b'),
        recipe: Recipe("r".into()),
        lane: BuildLane::Branch,
        task: task.id.clone(),
        nth: 1,
        status: BuildStatus::Ended { outcome },
        queued_at: now(),
        slot_at: Some(now()),
        started_at: Some(now()),
        ended_at: Some(now()),
    }
}

/// Five tasks, one of each sort that `status` tells apart, and all that hangs on them.
pub fn filled(machine: &Machine) -> SqliteStore {
    for n in 1..=6 {
        assert_eq!(machine.run(&["new", &format!("task {n}")]).code, 0);
    }
    let store = daemon(machine);
    let asks = State::AwaitingHuman { question: "red or blue?".into(), notified_at: now() };
    let running = task(1, State::Running { heard: None });
    let tasks = [
        running.clone(),
        task(2, asks),
        task(3, State::AwaitingCi { head: sha('a'), tree: sha('b') }),
        task(4, State::Queued { head: sha('c'), tree: sha('d') }),
        task(5, State::Merged { commit: sha('e') }),
    ];
    let mut ops: Vec<Op> =
        tasks.iter().map(|task| Op::InsertTask { task: task.clone(), wake_at: None }).collect();
    let started = FactoryFact::DaemonStarted { epoch: 1, pid: std::process::id(), version: "0".into() };
    ops.push(Op::Log(Entry { at: now(), task: None, issue: None, fact: Fact::Factory(started) }));
    ops.push(moved(&running, "DISPATCHED", "RUNNING"));
    ops.push(Op::SaveIdentity(identity(&running)));
    ops.push(Op::SaveBuild(build(&tasks[2])));
    ops.push(Op::Decide { issue: IssueNumber(6), text: "all 3 slots are in use".into(), at: now() });
    save(&store, ops);
    store
}

#[test]
fn status_tells_the_sorts_apart() {
    let machine = Machine::with_project();
    let store = filled(&machine);
    let view = machine.json(&["status"]);
    let issues = |list: &Value| -> Vec<u64> {
        list.as_array().unwrap().iter().map(|line| line["issue"].as_u64().unwrap()).collect()
    };
    assert_eq!(issues(&view["needs_you"]), [2]);
    assert_eq!((issues(&view["working"]["tasks"]), &view["working"]["slots"]), (vec![1], &json!(3)));
    assert_eq!((issues(&view["waiting"]), issues(&view["queue"])), (vec![3], vec![4]));
    assert_eq!((&view["today"]["merged"], &view["today"]["abandoned"]), (&json!(1), &json!(0)));
    assert_eq!(
        (&view["daemon"]["state"], &view["daemon"]["pid"]),
        (&json!("up"), &json!(std::process::id()))
    );
    assert_eq!(view["needs_you"][0]["says"], "asks: red or blue?");
    assert_eq!(view["waiting"][0]["deadline"]["what"], "CI is late and you are asked");
    let words = machine.run(&["status"]).out;
    assert!(words.find("NEEDS YOU 1").unwrap() < words.find("WORKING 1 of 3 slots").unwrap(), "{words}");
    assert!(words.contains("windlass tell 2"), "{words}");
    drop(store);
    let view = machine.json(&["status"]);
    assert_eq!((&view["daemon"]["state"], &view["daemon"]["pid"]), (&json!("down"), &json!(null)));
    assert!(view["daemon"]["last_event_at"].is_string());
}

#[test]
fn status_counts_the_issues_that_nobody_has_taken_yet() {
    let machine = Machine::with_project();
    let store = filled(&machine);
    for args in [
        &["new", "later", "--body", "Depends on #1"][..],
        &["new", "idea", "--no-backlog"],
        &["new", "unclear"],
        &["label", "9", "+blocked"],
        &["new", "also ready"],
    ] {
        assert_eq!(machine.run(args).code, 0, "{args:?}");
    }
    let free = ["--set", "guards.min_free_memory_mb=0", "--set", "guards.min_free_disk_mb=0"];
    let view = machine.json(&[&["status"], &free[..]].concat());
    let wanted = json!({"ready": 2, "starting": [6, 10], "wait_for_others": 1, "held_back": 1});
    assert_eq!(view["backlog"], wanted);
    let words = machine.run(&[&["status"], &free[..]].concat()).out;
    let line = "READY 2 · #6 starting · 1 waits for other issues · 1 held back -> windlass plan\n";
    assert!(words.contains(line), "{words}");
    let full = machine.json(&[&["status", "--set", "dispatch.parallel=1"], &free[..]].concat());
    assert_eq!((&full["backlog"]["ready"], &full["backlog"]["starting"]), (&json!(2), &json!([])));
    drop(store);
}

#[test]
fn a_light_follows_the_lock_and_not_the_record() {
    let machine = Machine::with_project();
    let store = filled(&machine);
    let light = || machine.json(&["agents"])["agents"][0].clone();
    let before = light();
    assert_eq!((&before["light"], &before["lock_held"]), (&json!("dead"), &json!(false)), "{before}");
    let folder = machine.state().join("sessions/dev-1.1-1");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("transcript.jsonl"), "{\"type\":\"text\",\"text\":\"hello\"}\n").unwrap();
    let lock = std::fs::File::create(folder.join("lock")).unwrap();
    lock.lock().unwrap();
    let after = light();
    assert_eq!((&after["light"], &after["lock_held"]), (&json!("alive"), &json!(true)), "{after}");
    assert!(after["last_output_at"].is_string() && after["pid"] == 4242 && after["strikes"] == 1, "{after}");
    drop(store);
}

#[test]
fn why_has_the_decision_the_moves_and_the_way_on() {
    let machine = Machine::with_project();
    let store = filled(&machine);
    let view = machine.json(&["why", "6"]);
    assert_eq!(view["decision"], "all 3 slots are in use");
    let free = ["why", "6", "--set", "guards.min_free_memory_mb=0", "--set", "guards.min_free_disk_mb=0"];
    let of = |more: &[&str]| machine.json(&[&free, more].concat());
    assert_eq!((&of(&[])["held"], &of(&[])["next"]), (&json!(null), &json!(["wait: it is taken next"])));
    let full = of(&["--set", "dispatch.parallel=1"]);
    assert_eq!(full["held"], "all 1 slots are in use");
    assert_eq!(full["next"], json!(["wait: it is taken when a slot is free"]));
    let open = of(&["--set", "dispatch.max_open_changes=1"]);
    assert!(open["next"][0].as_str().unwrap().contains("max_open_changes"), "{open}");
    let low = machine.json(&["why", "6", "--set", "guards.min_free_memory_mb=999999999"]);
    assert!(low["held"].as_str().unwrap().contains("999999999 MB are wanted"), "{low}");
    assert!(!low["next"].to_string().contains("wait"), "no patience frees memory: {low}");
    let view = machine.json(&["why", "1"]);
    assert_eq!((&view["moves"][0]["to"], &view["task"]["state"]), (&json!("RUNNING"), &json!("RUNNING")));
    assert!(machine.run(&["why", "2"]).out.contains("windlass tell 2"));
    assert_eq!(machine.run(&["new", "later", "--body", "Depends on #1, #5 and #99"]).code, 0);
    assert_eq!(machine.json(&["why", "7"])["waits_for"], json!([1, 5, 99]), "merged is not closed");
    drop(store);
    assert!(machine.run(&["why", "1"]).out.contains("windlass up"));
}

/// What is named as the way out must be one: a merged task is never taken up again.
#[test]
fn nobody_is_sent_to_retry_what_has_come_to_a_good_end() {
    let machine = Machine::with_project();
    let store = filled(&machine);
    let given_up = task(6, State::Abandoned { reason: AbandonReason::NoHumanAnswer });
    save(&store, vec![Op::InsertTask { task: given_up, wake_at: None }]);
    drop(store);
    let why = machine.run(&["why", "5"]).out;
    assert!(!why.contains("windlass retry") && why.contains("windlass close 5"), "{why}");
    let plan = machine.run(&["plan"]).out;
    assert!(!plan.contains("`windlass retry` starts it again"), "{plan}");
    let run = machine.fails(&["run", "5"], "ended", 7);
    assert!(!run.err.contains("windlass retry") && run.err.contains("windlass new"), "{}", run.err);
    assert!(machine.fails(&["run", "6"], "ended", 7).err.contains("windlass retry 6"));
    // The factory is down: what it can never do is refused at once, and nothing is left for it.
    let merged = machine.fails(&["retry", "5"], "refused", 7);
    assert!(merged.err.contains("only an abandoned task can be retried, it is MERGED"), "{}", merged.err);
    machine.fails(&["retry", "1"], "refused", 7);
    assert_eq!(machine.json(&["status"])["commands_waiting"], 0);
    assert_eq!(machine.run(&["abandon", "1"]).code, 5);
    assert_eq!(machine.run(&["retry", "1"]).code, 5, "what was left before may make it possible");
    assert_eq!(machine.run(&["retry", "6"]).code, 5);
}

#[test]
fn builds_and_transcripts_are_shown() {
    let machine = Machine::with_project();
    let store = filled(&machine);
    let view = machine.json(&["show", "3"]);
    assert_eq!(
        (&view["builds"][0]["status"], &view["builds"][0]["failing"]),
        (&json!("failed"), &json!(["test_x"]))
    );
    assert_eq!(view["task"]["state"], "AWAITING_CI");
    let silent = machine.run(&["logs", "1"]);
    assert_eq!((silent.code, silent.out.as_str()), (0, ""), "{silent:?}");
    assert_eq!(silent.err, "dev-1.1-1 has said nothing yet\n");
    write(&machine.state().join("builds/b-1/log"), "compiling\n\u{1b}[31mred\n");
    assert_eq!(machine.run(&["logs", "--ci", "3"]).out, "compiling\n[31mred\n");
    assert!(machine.run(&["logs", "--ci", "--raw", "3"]).out.contains('\u{1b}'));
    machine.fails(&["logs", "--critic", "3"], "not-found", 3);
    let session =
        machine.state().join("sessions").join(SessionId::dev(&TaskId::nth(IssueNumber(1), 1), 1).as_str());
    write(
        &session.join("transcript.jsonl"),
        "{\"type\":\"text\",\"text\":\"one\"}\n{\"type\":\"text\",\"text\":\"two\"}\n",
    );
    assert_eq!(machine.run(&["logs", "1"]).out, "say    one\nsay    two\n");
    assert_eq!(machine.run(&["logs", "--tail", "1", "1"]).out, "say    two\n");
    let line: Value =
        serde_json::from_str(machine.run(&["logs", "--json", "--tail", "1", "1"]).out.trim()).unwrap();
    assert_eq!(
        line,
        json!({"schema": "windlass.log/1", "source": "dev-1.1-1", "seq": 58, "kind": "say", "text": "two"})
    );
    // However many others have built since.
    let others = (2..400).map(|nth| Build {
        id: BuildId::stored(format!("b-{nth}")),
        ..build(&task(4, State::Running { heard: None }))
    });
    save(&store, others.map(Op::SaveBuild).collect());
    assert_eq!(machine.json(&["show", "3"])["builds"], view["builds"]);
    drop(store);
}

pub fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

#[test]
fn events_are_lines_that_can_be_resumed() {
    let machine = Machine::with_project();
    let store = filled(&machine);
    let lines = |args: &[&str]| -> Vec<Value> {
        let ran = machine.run(&[&["events", "--json"], args].concat());
        ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let all = lines(&[]);
    assert_eq!(all.len(), 2);
    assert_eq!((&all[0]["schema"], &all[0]["kind"]), (&json!("windlass.event/1"), &json!("daemon_started")));
    assert_eq!(
        (&all[1]["issue"], &all[1]["task"], &all[1]["data"]["to"]),
        (&json!(1), &json!("1.1"), &json!("RUNNING"))
    );
    assert!(all[1]["data"].get("kind").is_none());
    let first = all[0]["seq"].as_i64().unwrap().to_string();
    assert_eq!(lines(&["--since", &first]), all[1..]);
    assert_eq!(lines(&["--limit", "1"]), all[1..], "without a start, the newest");
    assert_eq!(lines(&["--since", "0", "--limit", "1"]), all[..1], "with a start, the next");
    assert_eq!(lines(&["--issue", "1"]), all[1..]);
    assert_eq!(lines(&["--kind", "daemon_started"]), all[..1]);
    assert_eq!(lines(&["--kind", "no_such_kind"]), Vec::<Value>::new());
    drop(store);
}

#[test]
fn following_events_shows_what_comes_and_ends_with_its_reader() {
    use std::io::{BufRead, BufReader};
    let machine = Machine::with_project();
    let store = filled(&machine);
    let mut command = machine.command(&["events", "-f", "--json", "--kind", "paused"]);
    let mut child = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut reader = BufReader::new(child.stdout.take().unwrap());
    let paused = || {
        vec![Op::Log(Entry { at: now(), task: None, issue: None, fact: Fact::Factory(FactoryFact::Paused) })]
    };
    save(&store, paused());
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&line).unwrap()["kind"], "paused");
    drop(reader);
    let until = Instant::now() + Duration::from_secs(20);
    while child.try_wait().unwrap().is_none() {
        assert!(Instant::now() < until, "it does not notice that nobody reads");
        save(&store, paused());
        std::thread::yield_now();
    }
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_running_daemon_is_asked_and_answers() {
    let machine = Machine::with_project();
    let store = filled(&machine);
    let refused = || Answer::Refused { why: "no".into() };
    for (args, answer, code, said) in [
        (&["tell", "1", "hi"][..], Answer::Done { what: "told".into() }, 0, "told"),
        (&["abandon", "1"], refused(), 7, "error[refused]"),
        (&["abandon", "6"], refused(), 3, "error[no-task]"),
        (&["resume"], Answer::Done { what: "goes on".into() }, 0, "goes on"),
    ] {
        let child = machine
            .command(args)
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn();
        let child = child.unwrap();
        let until = Instant::now() + Duration::from_secs(20);
        let posted = loop {
            if let Some(posted) = store.waiting_commands().unwrap().pop() {
                break posted;
            }
            assert!(Instant::now() < until, "{args:?} was never posted");
            std::thread::yield_now();
        };
        save(&store, vec![Op::AnswerCommand { id: posted.id, answer, at: now() }]);
        let ran = crate::common::Ran::from(child.wait_with_output().unwrap());
        assert_eq!(ran.code, code, "{args:?}: {ran:?}");
        assert!(format!("{}{}", ran.out, ran.err).contains(said), "{args:?}: {ran:?}");
        assert_eq!(posted.by, "operator");
    }
}

#[test]
fn a_factory_that_is_up_is_not_started_twice() {
    let machine = Machine::with_project();
    let store = daemon(&machine);
    // As a `down` leaves it that could not wait for the end.
    let mark = machine.state().join("stopped-by");
    std::fs::write(&mark, "somebody\n").unwrap();
    let view = machine.json(&["up"]);
    assert!(!mark.exists(), "nothing may keep down what is up");
    assert_eq!((&view["already"], &view["pid"]), (&json!(true), &json!(std::process::id())));
    let ran = machine.fails(&["up", "--foreground"], "already-running", 1);
    assert!(ran.err.contains(&std::process::id().to_string()), "{}", ran.err);
    drop(store);
}

/// Who has the state folder need not be a daemon: then the factory is not up, and is not said to be.
#[test]
fn who_has_the_factory_for_something_else_is_named() {
    let machine = Machine::with_project();
    machine.run(&["new", "one"]);
    let store = holding(&machine, "run #7");
    for args in [&["up"][..], &["up", "--foreground"], &["tick"], &["run", "1", "--watch"]] {
        let ran = machine.fails(args, "busy", 8);
        assert!(ran.err.contains("`windlass run #7`") && ran.err.contains("#7 alone"), "{args:?}: {ran:?}");
    }
    let left = machine.run(&["run", "1"]);
    assert!(left.code == 5 && left.err.contains("only #7 is worked on now"), "{left:?}");
    drop(store);
    // What ends by itself is waited for.
    let store = holding(&machine, "tick");
    let ran = machine.fails(&["up", "--timeout", "1s"], "busy", 8);
    assert!(ran.err.contains("`windlass tick`"), "{ran:?}");
    assert_eq!(machine.run(&["tick"]).out, "another round is being done\n");
    let waits = machine.command(&["up", "--dry-run"]).stdout(std::process::Stdio::piped()).spawn().unwrap();
    drop(store);
    let ran = crate::common::Ran::from(waits.wait_with_output().unwrap());
    assert!(ran.code == 0 && ran.out.contains("start the factory"), "{ran:?}");
}
