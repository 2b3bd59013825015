//! Agents that do what they must not: each ends in a state that has a name, and nobody else is held up.

use crate::crew::{APPROVES, READY, abandoned, config, crew};

#[test]
fn claims_without_work_are_checked() {
    let claims_done = "signal done";
    // Stays a while after its signal, until it has been answered.
    let slow = "signal done; until grep -q 'Not merged yet' \"$WINDLASS_SESSION_DIR/inbox.jsonl\" || \
                [ $WINDLASS_TURN -gt 1 ]; do sleep 0.02; done; [ $WINDLASS_TURN = 1 ] || ready";
    let on_main = "if [ $WINDLASS_TURN = 1 ]; then git checkout -q -b main; ready; else \
                   git checkout -q windlass/$n && git merge -q main && signal awaiting_ci; fi";
    let pushes = "work; git push origin HEAD:main 2> $here/push; echo $? > $here/pushed; signal awaiting_ci";
    let orphan = "if [ $WINDLASS_TURN = 1 ]; then git checkout -q --orphan o && work && git branch -M o windlass/$n; \
                  signal awaiting_ci; else git reset -q --hard origin/main; ready; fi";
    let mut works = crew(&config("true", ""), APPROVES, &[claims_done, slow, on_main, pushes, orphan]);
    works.up();
    let mut log = works.log();
    assert_eq!(log.wait_end(1), abandoned("agent_failed"));
    assert_eq!(works.heard(1).matches("Not merged yet: nothing is committed on `windlass/1`").count(), 2);
    for issue in 2..=5 {
        log.wait_merged(issue);
        assert!(works.is_on_main(issue));
    }
    assert!(!works.heard(2).contains("You stopped without a signal"), "{}", works.heard(2));
    assert!(works.heard(3).contains("your commits are on `main`, not on `windlass/3`"), "{}", works.heard(3));
    assert_eq!(works.note("pushed"), "1\n");
    assert!(works.note("push").contains("Do not push"), "{}", works.note("push"));
    assert!(works.heard(5).contains("no longer descends from main"), "{}", works.heard(5));
    assert_eq!(works.git(&["rev-list", "--max-parents=0", "main"]).lines().count(), 1);
    assert!(!log.seen.iter().any(|event| event["kind"] == "main_moved_outside"));
    log.wait_commented(1);
    assert_eq!(works.labels(1), ["blocked"]);
    assert_eq!(works.workspaces(), ["1.1"]);
    works.down();
}

#[test]
fn a_lost_workspace_ends_one_task_and_a_retry_makes_a_new_one() {
    let first = |act: &str| format!("case $session in *-1) {act} ;; *) ready ;; esac");
    let removes = first("rm -rf \"$PWD\"; signal awaiting_ci");
    let empties = first("rm -rf ./* ./.git; signal awaiting_ci");
    let silent = first("rm -rf \"$PWD\"");
    let mut works = crew(&config("true", ""), APPROVES, &[&removes, &empties, &silent, READY]);
    works.up();
    let mut log = works.log();
    for issue in [1, 2] {
        assert_eq!(log.wait_end(issue), abandoned("crash_recovery_failed"));
    }
    // Who says nothing is missed when it is spoken to; its successor gets a new workspace by itself.
    log.wait_merged(3);
    assert_eq!(log.count("retry_asked", 3), 0);
    log.wait_merged(4);
    for issue in ["1", "2"] {
        works.must(&["retry", issue]);
    }
    for issue in [1, 2] {
        log.wait_merged(issue);
        assert!(works.is_on_main(issue));
    }
    works.down();
}

#[test]
fn silence_and_crashes_are_answered_so_often_and_no_more() {
    let mut works = crew(&config("true", ""), APPROVES, &["exit 0", "exit 1", "kill -9 $$", READY]);
    works.up();
    let mut log = works.log();
    assert_eq!(log.wait_end(1), abandoned("idle_prompt"));
    assert_eq!(works.heard(1).matches("You stopped without a signal").count(), 2);
    for issue in [2, 3] {
        assert_eq!(log.wait_end(issue), abandoned("crash_recovery_failed"));
        log.wait_commented(issue);
        let shown = works.show(issue);
        assert_eq!((&shown["task"]["restarts"], &shown["task"]["sessions"]), (&2.into(), &3.into()));
        assert_eq!(works.labels(issue), ["blocked"]);
        assert_eq!(works.comments(issue, "**Stopped.**").len(), 1);
    }
    log.wait_merged(4);
    works.down();
}

#[test]
fn a_program_that_does_not_exist_is_tried_three_times() {
    let config = config("true", "").replace("[\"sh\", \"@dev.sh\"]", "[\"@nowhere\"]");
    let mut works = crew(&config, APPROVES, &[READY]);
    works.up();
    let mut log = works.log();
    assert_eq!(log.wait_end(1), abandoned("crash_recovery_failed"));
    log.wait_commented(1);
    assert!(works.comments(1, "**Stopped.**")[0].contains("exit code 127"));
    assert_eq!(works.show(1)["task"]["sessions"], 3);
    works.down();
}

#[test]
fn an_agent_that_never_ends_is_ended() {
    let stubborn = "trap '' TERM HUP INT; echo $$ > $here/pid-$n; while :; do sleep 1000; done";
    let limits = "[timeouts]\nsession = \"4s\"\n";
    let mut works = crew(&config("true", limits), APPROVES, &[stubborn, stubborn, READY]);
    works.up();
    let mut log = works.log();
    log.wait_state(2, "RUNNING");
    works.must(&["abandon", "2"]);
    assert_eq!(log.wait_end(2), abandoned("operator"));
    assert_eq!(log.wait_end(1), abandoned("wall_clock"));
    for issue in ["1", "2"] {
        log.wait_terminated(&format!("dev-{issue}.1-1"));
        assert!(works.is_gone(&format!("pid-{issue}")));
    }
    log.wait_merged(3);
    assert_eq!(works.workspaces(), ["1.1", "2.1"]);
    works.down();
}

#[test]
fn a_grandchild_that_hides_dies_with_its_session() {
    let hides = "setsid nohup env -i PATH=\"$PATH\" sh -c \"trap '' TERM HUP; echo \\$\\$ > $here/hidden; \
                 sleep 1000 & wait\" > /dev/null 2>&1 &
                 until [ -s $here/hidden ]; do sleep 0.02; done; ready";
    let mut works = crew(&config("true", ""), APPROVES, &[hides]);
    works.up();
    let mut log = works.log();
    log.wait_merged(1);
    assert!(works.is_gone("hidden"));
    works.down();
}
