//! The queue's own builds: kept alive by name, stopped when useless, given up when lost, and counted.

use std::fs::File;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::crew::{APPROVES, READY, config, crew, has_ended};
use crate::works::{Log, Works};

/// A build with the work of both issues waits for a sign; then the queue is at work for the second.
const WAITS: &str = "here=@
if [ -e work-1 ] && [ -e work-2 ]; then
    echo $$ > $here/gate.tmp; mv $here/gate.tmp $here/gate
    until [ -e $here/go ]; do sleep 0.02; done
fi
";

/// The first issue is on main, the second is being tested on top of it.
fn at_the_gate() -> (Works, Log, String) {
    let waits = "until [ $n = 1 ] || [ -e $here/approve-$n ]; do sleep 0.02; done; approve";
    let mut works = crew(&config("sh @ci.sh", ""), waits, &[READY, READY]);
    let here = works.machine.path("").to_string_lossy().into_owned();
    works.script("ci.sh", &WAITS.replace('@', &here));
    works.up();
    let mut log = works.log();
    log.wait_state(2, "AWAITING_CRITIC");
    log.wait_merged(1);
    works.script("approve-2", "");
    works.wait_note("gate");
    let queued = log
        .wait("the gate's build", |event| event["kind"] == "build_queued" && event["data"]["lane"] == "gate");
    let build = queued["data"]["build"].as_str().unwrap().to_owned();
    (works, log, build)
}

fn held(works: &Works) -> String {
    works.git(&["for-each-ref", "--format=%(refname:lstrip=3)", "refs/windlass/run"])
}

/// The name of a candidate goes a moment after its build.
fn wait_let_go(works: &Works) {
    let until = Instant::now() + Duration::from_secs(60);
    while !held(works).is_empty() {
        assert!(Instant::now() < until, "{} is still held", held(works));
        std::thread::park_timeout(Duration::from_millis(20));
    }
}

fn wait_held(works: &Works, build: &str) {
    let until = Instant::now() + Duration::from_secs(60);
    while held(works) != build {
        assert!(Instant::now() < until, "`{}` is held", held(works));
        std::thread::park_timeout(Duration::from_millis(20));
    }
}

#[test]
fn regression_a_build_that_ends_while_nobody_looks_is_not_waited_for() {
    let (mut works, mut log, build) = at_the_gate();
    wait_held(&works, &build);
    works.kill();
    works.script("go", "");
    let gone = works.note("gate");
    let until = Instant::now() + Duration::from_secs(60);
    while !has_ended(gone.trim()) {
        assert!(Instant::now() < until, "the build goes on");
        std::thread::park_timeout(Duration::from_millis(20));
    }
    assert_eq!(held(&works), build, "its end is not known yet");
    works.up();
    log.wait_merged(2);
    wait_let_go(&works);
    assert!(works.is_on_main(1) && works.is_on_main(2));
    works.down();
}

#[test]
fn regression_what_was_queued_and_under_test_survives_a_crash() {
    let (mut works, mut log, build) = at_the_gate();
    let before = works.machine.json(&["queue"]);
    works.kill();
    works.up();
    log.wait("the next start", |event| event["kind"] == "daemon_started" && event["data"]["epoch"] == 2);
    let after = works.machine.json(&["queue"]);
    assert_eq!(before["tests"][0]["issues"], after["tests"][0]["issues"], "{before} {after}");
    assert_eq!((&after["tests"][0]["build"], &after["entries"][0]["issue"]), (&build.into(), &2.into()));
    assert_eq!(after["entries"][0]["since"], before["entries"][0]["since"], "it keeps its place");
    works.script("go", "");
    log.wait_merged(2);
    let gate = |event: &&Value| event["kind"] == "build_queued" && event["data"]["lane"] == "gate";
    assert_eq!(log.seen.iter().filter(gate).count(), 1, "and its test");
    works.down();
}

#[test]
fn a_test_of_changes_that_have_left_is_stopped() {
    let (mut works, mut log, build) = at_the_gate();
    works.must(&["queue", "drop", "2"]);
    let ended = log
        .wait("its end", |event| event["kind"] == "build_ended" && event["data"]["build"] == build.as_str());
    assert_eq!(ended["data"]["outcome"]["outcome"], "cancelled", "{ended}");
    log.wait("the stop", |event| event["kind"] == "effect_done" && event["data"]["effect"] == "stop_build");
    assert!(has_ended(works.note("gate").trim()), "the build outlived its reason");
    wait_let_go(&works);
    let third = works.new_issue("goes on", "");
    works.script(&format!("approve-{third}"), "");
    log.wait_merged(third);
    works.down();
}

/// Somebody else holds the only slot's checkout for a while.
#[test]
fn a_build_that_never_starts_blames_nobody_and_is_tried_again() {
    // The second try has as long as the first, and must start in it on a loaded machine.
    let more = "[timeouts]\nci_start = \"8s\"\n";
    let mut works = crew(&config("true", more), APPROVES, &[READY]);
    let one_slot = std::fs::read_to_string(works.machine.repo().join("windlass.toml")).unwrap();
    works.machine.commit_config(&one_slot.replace("slots = 6", "slots = 1"));
    let slot = works.machine.state().join("slots/ci-1");
    std::fs::create_dir_all(&slot).unwrap();
    let lock = File::create(slot.join("lock")).unwrap();
    lock.lock().unwrap();
    works.up();
    let mut log = works.log();
    let broke = log.wait_kind("build_broke", 1);
    assert_eq!(broke["data"]["why"], "it never started");
    drop(lock);
    log.wait_merged(1);
    assert_eq!((log.count("build_broke", 1), works.show(1)["task"]["ci_fixes"].clone()), (1, 0.into()));
    works.down();
}

/// The shim that should end the build is frozen by it, the first time.
const FREEZES: &str = "here=@
if [ ! -e $here/frozen ]; then echo $PPID > $here/frozen; kill -STOP $PPID; sleep 1000; fi
";

#[test]
fn a_build_whose_keeper_is_lost_is_ended_after_its_limit() {
    let mut works = crew(&config("exec sh @ci.sh", "[timeouts]\nci = \"1s\"\n"), APPROVES, &[READY]);
    let one_slot = std::fs::read_to_string(works.machine.repo().join("windlass.toml")).unwrap();
    works.machine.commit_config(&one_slot.replace("slots = 6", "slots = 1"));
    let here = works.machine.path("").to_string_lossy().into_owned();
    works.script("ci.sh", &FREEZES.replace('@', &here));
    works.up();
    let mut log = works.log();
    let broke = log.wait_kind("build_broke", 1);
    assert_eq!(broke["data"]["why"], "it ran past its deadline");
    log.wait_merged(1);
    assert!(has_ended(works.note("frozen").trim()), "the only slot was free again");
    works.down();
}

/// As many tests as the tree says.
const COUNTED: &str = "n=$(cat count 2> /dev/null || echo 20); seq $n | sed 's/.*/ok & - t&/'; echo 1..$n\n";

#[test]
fn regression_a_pass_over_a_few_of_the_tests_is_none_until_a_person_says_so() {
    let fewer = "echo 5 > count; ready";
    let mut works = crew(&config("sh @ci.sh", ""), APPROVES, &[READY]);
    works.script("ci.sh", COUNTED);
    // The first issue's change has the number 2.
    works.script("3.sh", fewer);
    works.up();
    let mut log = works.log();
    log.wait_merged(1);
    let second = works.new_issue("drops tests", "");
    let paused = log.wait("the pause", |event| event["kind"] == "queue_paused");
    let reason = paused["data"]["reason"].as_str().unwrap();
    assert!(reason.contains("only 5 of 20 tests ran"), "{reason}");
    assert_eq!(paused["data"]["by"], Value::Null, "nobody asked for it");
    assert_eq!(works.show(second)["task"]["state"], "QUEUED");
    works.must(&["queue", "resume"]);
    log.wait_merged(second);
    works.down();
}

#[test]
fn a_main_that_somebody_else_broke_is_found_out_and_nobody_else_is_blamed() {
    let waits = "until [ $n = 1 ] || [ -e $here/approve-$n ]; do sleep 0.02; done; approve";
    let ci = "! test -e poison || { echo 'not ok 1 - pure'; echo 1..1; exit 1; }\n";
    let mut works = crew(&config("sh @ci.sh", ""), waits, &[READY, READY]);
    works.script("ci.sh", ci);
    works.up();
    let mut log = works.log();
    log.wait_state(2, "AWAITING_CRITIC");
    log.wait_merged(1);
    let repo = works.repo().to_string_lossy().into_owned();
    let push = |what: &[&str], message: &str| {
        works.machine.git(&["fetch", "-q", &repo, "main"]);
        works.machine.git(&["reset", "-q", "--hard", "FETCH_HEAD"]);
        works.machine.git(what);
        works.machine.git(&["commit", "-q", "-m", message]);
        works.machine.git(&["push", "-q", &repo, "HEAD:main"]);
    };
    std::fs::write(works.machine.path("poison"), "").unwrap();
    let poison = works.machine.path("poison").to_string_lossy().into_owned();
    works.machine.git(&["config", "core.excludesFile", "/dev/null"]);
    let blob = works.machine.git(&["hash-object", "-w", &poison]);
    push(&["update-index", "--add", "--cacheinfo", &format!("100644,{},poison", blob.trim())], "poison");
    works.script("approve-2", "");
    let tested = log.wait("main's own test", |event| event["kind"] == "outside_main_tested");
    assert_eq!(tested["data"]["result"], "failed", "{tested}");
    let paused = log.wait("the pause", |event| event["kind"] == "queue_paused");
    assert_eq!(paused["data"]["reason"], "main's own tests fail");
    assert_eq!((log.count("ejected", 2), works.show(2)["task"]["state"].clone()), (0, "QUEUED".into()));
    push(&["rm", "-q", "poison"], "cure");
    works.must(&["queue", "resume"]);
    log.wait_merged(2);
    works.down();
}

#[test]
fn regression_exit_127_at_the_gate_lands_nothing_untested() {
    let ci = "if [ -e work-1 ] && [ -e work-2 ]; then ./nowhere; fi\n";
    let mut works = crew(&config("sh @ci.sh", ""), APPROVES, &[READY, READY]);
    works.script("ci.sh", ci);
    works.up();
    let mut log = works.log();
    let paused = log.wait("the pause", |event| event["kind"] == "queue_paused");
    let reason = paused["data"]["reason"].as_str().unwrap();
    assert!(
        reason.starts_with("tests could not run 3 times in a row: the command could not be run"),
        "{reason}"
    );
    let landed = log.seen.iter().filter(|event| event["kind"] == "landed").count();
    assert!(landed <= 1, "only what was tested alone may be on main");
    let files = works.git(&["ls-tree", "--name-only", "main"]);
    assert!(!(files.contains("work-1") && files.contains("work-2")), "{files}");
    assert_eq!(log.count("ejected", 1) + log.count("ejected", 2), 0);
    works.down();
}
