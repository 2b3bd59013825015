//! Acceptance of the persistent worker. What needs a real model's figures is in `claude::rounds`.

use crate::crew::{APPROVES, READY, abandoned, config, crew};

const ASKS_ONCE: &str = r#"
say() { verdict "{\"head\":\"$(git rev-parse HEAD)\",\"verdict\":\"$1\",\"comments\":[$2]}"; }
finding='{"severity":"sev2","category":"tests","file":"a","message":"no test"}'
case $nth in 1) say REQUEST_CHANGES "$finding" ;; *) approve ;; esac
"#;

const NEVER_ENOUGH: &str = r#"
say() { verdict "{\"head\":\"$(git rev-parse HEAD)\",\"verdict\":\"$1\",\"comments\":[$2]}"; }
finding='{"severity":"sev1","category":"tests","file":"a","message":"no test"}'
case $n in 2) say BLOCK "$finding" ;; *) say REQUEST_CHANGES "$finding" ;; esac
"#;

#[test]
fn worker_goes_on_in_the_same_session_and_workspace_after_request_changes() {
    // What git does not know would not survive a new clone or a checkout.
    let marks =
        "[ $WINDLASS_TURN = 1 ] && echo mark > .git/mark; cp .git/mark $here/mark-$WINDLASS_TURN; ready";
    let mut works = crew(&config("true", ""), ASKS_ONCE, &[marks]);
    works.up();
    let mut log = works.log();
    log.wait_merged(1);
    assert_eq!((works.note("mark-1"), works.note("mark-2")), ("mark\n".into(), "mark\n".into()));
    assert_eq!(works.show(1)["task"]["sessions"], 1);
    assert!(works.heard(1).contains("The critic asks for changes (round 1)"));
    let moves = log.seen.iter().filter(|event| event["kind"] == "task_moved");
    let sessions: Vec<&str> = moves.filter_map(|event| event["data"]["session"].as_str()).collect();
    assert!(sessions.iter().all(|session| *session == "dev-1.1-1"), "{sessions:?}");
    works.down();
}

#[test]
fn worker_that_waits_for_its_critic_frees_its_slot() {
    let waits = "[ $n = 1 ] && until [ -e $here/go ]; do sleep 0.02; done; approve";
    let config = config("true", "").replace("parallel = 12", "parallel = 1");
    let mut works = crew(&config, waits, &[READY, READY]);
    works.up();
    let mut log = works.log();
    log.wait_state(1, "AWAITING_CRITIC");
    log.wait_merged(2);
    assert_eq!(works.show(1)["task"]["state"], "AWAITING_CRITIC", "the other was faster");
    works.script("go", "");
    log.wait_merged(1);
    works.down();
}

#[test]
fn worker_is_abandoned_after_three_rounds_or_a_block_or_a_label() {
    let stays = "until [ -e $here/never ]; do sleep 0.02; done";
    let mut works = crew(&config("true", ""), NEVER_ENOUGH, &[READY, READY, stays]);
    works.up();
    let mut log = works.log();
    assert_eq!(log.wait_end(1), abandoned("iterations"));
    assert_eq!(works.show(1)["task"]["reviews"], 3);
    assert_eq!(log.wait_end(2), abandoned("blocked_by_critic"));
    log.wait_state(3, "RUNNING");
    works.must(&["label", "3", "+loop:abandon"]);
    assert_eq!(log.wait_end(3), abandoned("operator"));
    log.wait_commented(1);
    assert_eq!(works.labels(1), ["loop:needs-review"]);
    assert_eq!(works.workspaces(), ["1.1", "2.1", "3.1"], "what is abandoned is kept");
    works.down();
}

#[test]
fn worker_carries_its_time_over_all_rounds() {
    let slow = "sleep 1; ready";
    let mut works = crew(&config("true", "[timeouts]\nsession = \"1500ms\""), NEVER_ENOUGH, &[slow]);
    works.up();
    let mut log = works.log();
    assert_eq!(log.wait_end(1), abandoned("wall_clock"), "no round alone takes so long");
    assert_eq!(works.show(1)["task"]["sessions"], 1);
    works.down();
}

#[test]
fn worker_is_found_again_when_the_runner_is_killed() {
    let stays = "echo here > $here/here; until [ -e $here/go ]; do sleep 0.02; done; ready";
    let mut works = crew(&config("true", ""), APPROVES, &[stays]);
    works.up();
    works.wait_note("here");
    works.kill();
    works.up();
    works.script("go", "");
    let mut log = works.log();
    log.wait_merged(1);
    assert_eq!((works.show(1)["task"]["sessions"].clone(), log.count("agent_crashed", 1)), (1.into(), 0));
    works.down();
}
