//! Agents that give up or ask, and people who answer, stop, close and try again.

use windlass_adapters::process::{ProcessId, boot_id};
use windlass_core::command::{Command, Typist};
use windlass_core::id::IssueNumber;
use windlass_store::{Mode, SqliteStore, Store};

use crate::crew::{APPROVES, READY, abandoned, config, crew};

#[test]
fn an_agent_that_gives_up_says_why_and_can_be_tried_again() {
    let gives_up = "case $session in *-1) work; signal failed 'Reason: no disk' ;; *) ready ;; esac";
    let refuses = |word: &str| format!("signal failed 'Reason: refused: {word}'");
    let refusals = ["too_large", "unmet_dependency", "already_done"].map(refuses);
    let passes = "signal failed 'transient: the provider is down'";
    let scripts = [gives_up, READY, &refusals[0], &refusals[1], &refusals[2], passes];
    let mut works = crew(&config("true", ""), APPROVES, &scripts);
    works.up();
    let mut log = works.log();
    assert_eq!(log.wait_end(1), abandoned("agent_failed"));
    for (issue, word) in [(3, "too_large"), (4, "unmet_dependency"), (5, "already_done")] {
        assert_eq!(log.wait_end(issue), abandoned(&format!("refused/{word}")));
        log.wait_commented(issue);
        assert_eq!(works.labels(issue), ["underspecified"]);
    }
    assert_eq!(log.wait_end(6), abandoned("agent_failed"));
    log.wait_commented(6);
    assert_eq!(works.labels(6), ["backlog", "blocked"]);
    log.wait_commented(1);
    assert_eq!(works.labels(1), ["blocked"]);
    let said = works.comments(1, "**Stopped.**");
    assert_eq!(said.len(), 1);
    assert!(said[0].starts_with("**Stopped.** The agent gave up: no disk\n\n| what | value |\n|---|---|\n"));
    for row in ["| reason | agent_failed |", "| state | RUNNING |", "| session | dev-1.1-1 |"] {
        assert!(said[0].contains(row), "{}", said[0]);
    }
    assert!(works.workspaces().contains(&"1.1".to_owned()));
    // Main has moved meanwhile; the work of the first try still grows from where it began.
    log.wait_merged(2);
    works.must(&["retry", "1"]);
    log.wait_merged(1);
    assert!(works.is_on_main(1) && works.is_on_main(2));
    assert_eq!(log.count("work_rejected", 1), 0, "{}", works.heard(1));
    assert!(works.heard(1).contains("An earlier try was stopped: The agent gave up: no disk"));
    let again = works.machine.run(&["retry", "1"]);
    assert_ne!(again.code, 0, "{again:?}");
    works.down();
}

#[test]
fn a_pause_keeps_its_reason_over_a_kill_until_somebody_resumes() {
    let mut works = crew(&config("true", ""), APPROVES, &[READY]);
    // It is down: the first that it hears is that nothing is to be started.
    assert_eq!(works.machine.run(&["pause", "--reason", "release day"]).code, 5);
    works.up();
    let mut log = works.log();
    log.wait("the pause", |event| event["kind"] == "paused");
    works.kill();
    works.up();
    log.wait("the second start", |event| event["data"]["epoch"] == 2);
    assert_eq!(works.machine.json(&["status"])["paused_reason"], "release day");
    assert_eq!(works.machine.json(&["why", "1"])["held"], "the factory is paused: release day");
    works.order(&["pause"]);
    assert_eq!(works.machine.json(&["why", "1"])["held"], "the factory is paused", "the newest wish counts");
    works.must(&["resume"]);
    log.wait_merged(1);
    assert_eq!(works.machine.json(&["status"])["paused"], false);
    works.down();
}

#[test]
fn a_question_waits_for_its_answer_but_not_for_ever() {
    let asks = "if [ $WINDLASS_TURN = 1 ]; then signal escalate 'which colour?'; else \
                echo \"$message\" > $here/answer; ready; fi";
    // After 0, 4 and 8 seconds; the third time may come three seconds late.
    let limits = "[timeouts]\nescalate = \"11s\"\nrenotify = \"4s\"\n";
    let mut works = crew(&config("true", limits), APPROVES, &[asks, asks]);
    works.up();
    let mut log = works.log();
    log.wait_state(1, "AWAITING_HUMAN");
    works.must(&["tell", "1", "blue"]);
    log.wait_merged(1);
    assert!(works.note("answer").contains("blue"), "{}", works.note("answer"));
    assert_eq!(works.show(1)["task"]["sessions"], 1, "the same session goes on");
    assert_eq!(log.wait_end(2), abandoned("no_human_answer"));
    log.wait_commented(2);
    assert_eq!(works.labels(2), ["blocked"]);
    let asked = works.comments(2, "**Needs you.** which colour?");
    assert_eq!(asked.len(), 3, "asked, and asked again every four seconds: {asked:?}");
    works.down();
}

#[test]
fn a_person_can_stop_a_task_wherever_it_stands() {
    let works_on = "echo $$ > $here/pid-$n; exec sleep 1000";
    let asks = "work; signal escalate 'what now?'";
    let leaves = "work; echo more > uncommitted; exec sleep 1000";
    let mut works = crew(&config("true", ""), APPROVES, &[works_on, asks, works_on, leaves, READY]);
    works.up();
    let mut log = works.log();
    for (issue, state) in [(1, "RUNNING"), (2, "AWAITING_HUMAN")] {
        log.wait_state(issue, state);
        works.must(&["abandon", &issue.to_string()]);
    }
    log.wait_state(3, "RUNNING");
    works.wait_note("pid-3");
    works.must(&["label", "3", "+loop:abandon"]);
    for issue in [1, 2, 3] {
        assert_eq!(log.wait_end(issue), abandoned("operator"));
        log.wait_terminated(&format!("dev-{issue}.1-1"));
        log.wait_commented(issue);
        assert_eq!(works.labels(issue), ["loop:abandon"]);
    }
    assert!(works.is_gone("pid-3"));
    let clone = works.machine.state().join("workspaces/4.1");
    works.wait_path(&clone.join("uncommitted"));
    works.must(&["close", "4"]);
    assert_eq!(log.wait_end(4), ("CLOSED".to_owned(), "issue_closed".to_owned()));
    let saved = log.wait_kind("work_rescued", 4);
    assert_eq!(saved["data"]["reference"], "refs/windlass/rescue/4.1");
    assert_eq!(works.git(&["show", "refs/windlass/rescue/4.1:uncommitted"]), "more");
    assert!(works.git(&["show", "refs/windlass/rescue/4.1:work-4"]).starts_with("dev-4.1-1"));
    log.wait_merged(5);
    assert_eq!(works.workspaces(), ["1.1", "2.1", "3.1"]);
    works.down();
}

/// All that a try has left is cleared away with its workspace, and is there again when somebody wants another try.
#[test]
fn an_abandoned_workspace_is_cleared_away_and_a_retry_gets_it_back() {
    let gives_up = "case $session in *-1) work; echo loose > loose; signal failed 'Reason: no disk' ;; \
                    *) { git log --format=%s -1; git status --porcelain; cat loose; } > $here/found; ready ;; esac";
    let hides = "work; echo hidden >> README; git stash -q; signal failed 'Reason: no disk'";
    let mut works = crew(&config("true", ""), APPROVES, &[gives_up, hides, READY]);
    works.up();
    let mut log = works.log();
    for issue in [1, 2] {
        assert_eq!(log.wait_end(issue), abandoned("agent_failed"));
        log.wait_terminated(&format!("dev-{issue}.1-1"));
    }
    log.wait_merged(3);
    let gc = |args: &[&str]| works.machine.json(&[&["gc"], args].concat());
    let names = |view: &serde_json::Value, list: &str| {
        let items = view[list].as_array().unwrap().iter().filter(|item| item["kind"] == "workspace");
        items.map(|item| item["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names(&gc(&[]), "items"), [""; 0], "it is young");
    let dry = gc(&["--dry-run", "--keep", "1ms"]);
    assert_eq!((names(&dry, "items"), names(&dry, "kept")), (vec!["1.1".into()], vec!["2.1".into()]));
    assert_eq!(works.workspaces(), ["1.1", "2.1"], "nothing was removed yet");
    // What was asked for by name is older than what is saved now.
    let done = gc(&["--keep", "1ms", "--rescued"]);
    assert_eq!((names(&done, "items"), names(&done, "kept")), (vec!["1.1".into()], vec!["2.1".into()]));
    assert!(done["kept"][0]["why"].as_str().unwrap().contains("refs/stash"), "{done}");
    assert_eq!(works.workspaces(), ["2.1"]);
    assert_eq!(works.git(&["show", "refs/windlass/rescue/1.1:loose"]), "loose");
    works.must(&["retry", "1"]);
    log.wait_merged(1);
    assert_eq!(works.note("found"), "work on 1\n?? loose\nloose\n");
    assert!(works.is_on_main(1));
    assert_eq!(log.count("work_rejected", 1), 0, "{}", works.heard(1));
    // One clone is as many as may be wanted.
    let spares = gc(&["--set", "dispatch.parallel=1", "--dry-run"]);
    let spares = spares["items"].as_array().unwrap().iter().filter(|item| item["kind"] == "spare").count();
    assert_eq!(spares, std::fs::read_dir(works.repo().join("spares")).unwrap().count() - 1);
    gc(&["--set", "dispatch.parallel=1"]);
    assert_eq!(std::fs::read_dir(works.repo().join("spares")).unwrap().count(), 1);
    works.down();
}

#[test]
fn a_retry_that_comes_before_gc_is_seen_by_it() {
    let tries = "case $session in *-1) work; signal failed 'Reason: no disk' ;; \
                 *) : > $here/again; until [ -e $here/go ]; do sleep 0.02; done; ready ;; esac";
    let mut works = crew(&config("true", ""), APPROVES, &[tries]);
    works.up();
    let mut log = works.log();
    assert_eq!(log.wait_end(1), abandoned("agent_failed"));
    log.wait_terminated("dev-1.1-1");
    // As if somebody made a workspace just now.
    let hold = std::fs::File::open(works.repo().join("workspaces.hold")).unwrap();
    hold.lock_shared().unwrap();
    let mut gc = works.machine.command(&["gc", "--keep", "1ms", "--json"]);
    let gc = gc.stdout(std::process::Stdio::piped()).spawn().unwrap();
    let pid = gc.id().to_string();
    works.wait_until("gc at the lock", || {
        let locks = std::fs::read_to_string("/proc/locks").unwrap();
        locks.lines().any(|line| line.contains("->") && line.split_whitespace().any(|word| word == pid))
    });
    works.must(&["retry", "1"]);
    works.wait_note("again");
    drop(hold);
    let done = gc.wait_with_output().unwrap();
    let view: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    let gone = view["items"].as_array().unwrap().iter().any(|item| item["kind"] == "workspace");
    assert!(!gone && works.workspaces() == ["1.1"], "{view}");
    works.script("go", "");
    log.wait_merged(1);
    works.down();
}

/// No heartbeat comes while this runs: only the end of the process itself can tell.
#[test]
fn the_keyboard_of_a_person_who_is_killed_is_free_at_once() {
    let waits = "until [ -e $here/go ]; do sleep 0.02; done; ready";
    let mut works = crew(&config("true", "[liveness]\nheartbeat = \"1h\"\n"), APPROVES, &[waits]);
    works.up();
    let mut log = works.log();
    log.wait_state(1, "RUNNING");
    let mut person = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
    let ProcessId { pid, start_time } = ProcessId::of(person.id().cast_signed()).unwrap();
    let typist = Typist { pid, start_time, boot: boot_id().unwrap() };
    let takes = Command::TakeKeyboard { issue: IssueNumber(1), typist };
    let store = SqliteStore::open(&works.machine.state(), Mode::Client).unwrap();
    store.post_command(&takes, "ann", windlass_engine::now()).unwrap();
    std::fs::write(works.machine.state().join("inbox/wake"), "").unwrap();
    log.wait_kind("keyboard_taken", 1);
    person.kill().unwrap();
    assert_eq!(log.wait_kind("keyboard_returned", 1)["data"]["by"], "ann");
    person.wait().unwrap();
    works.script("go", "");
    log.wait_merged(1);
    works.down();
}
