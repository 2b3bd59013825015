//! A conversation that fills up: it is watched, compacted with the protocol said again, or handed to a successor.

use std::time::Duration;

use serde_json::Value;
use windlass_testkit::provider::{Asked, Provider, Step};

use super::{Lab, TMUX, Wish, lab, ready};
use crate::works::Log;

/// Of the million tokens that the model holds.
const NEARLY_FULL: u64 = 900_000;
const CI: &str = "grep -q 42 answer";

fn hooks(log: &Log) -> Vec<String> {
    let fired = log.seen.iter().filter(|event| event["kind"] == "agent_hook");
    fired.map(|event| word(&event["data"]["hook"]) + "/" + &word(&event["data"]["detail"])).collect()
}

fn word(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// The first round is small and tells how much the model holds; CI sends it back.
fn first_round() -> [Step; 2] {
    [ready("answer", "41"), Step::say("ready")]
}

fn begin(test: &str, wish: &Wish<'_>, steps: Vec<Step>) -> Option<(Lab, Log)> {
    let Lab { mut works, provider } = lab(test, wish)?;
    provider.script("dev", first_round());
    provider.script("dev", steps);
    works.new_issue("The answer", "Write the answer down.");
    works.up();
    let log = works.log();
    Some((Lab { works, provider }, log))
}

#[test]
fn ac_4_1_compaction_is_noticed_and_claude_is_told_the_protocol_again() {
    is_compacted("ac_4_1", "");
}

#[test]
fn ac_4_1_compaction_in_a_terminal_is_the_same() {
    is_compacted("ac_4_1_in_a_terminal", TMUX);
}

fn is_compacted(test: &str, keys: &str) {
    let wish =
        Wish { ci: CI, keys, env: ", CLAUDE_CODE_AUTO_COMPACT_WINDOW = \"100000\"", ..Wish::default() };
    let steps = vec![
        Step::bash("cat README").with_context(97_000),
        Step::say("<summary>The answer must be 42.</summary>"),
        ready("answer", "42"),
        Step::say("mended"),
        Step::say("saved"),
    ];
    let Some((lab, mut log)) = begin(test, &wish, steps) else { return };
    let Lab { mut works, provider } = lab;
    let warning = log.wait_kind("context_warning", 1);
    assert_eq!(warning["data"]["urgency"], "medium");
    log.wait_merged(1);
    let fired = hooks(&log);
    for hook in ["SessionStart/startup", "PreCompact/auto", "SessionStart/compact", "Stop/"] {
        assert!(fired.iter().any(|name| name == hook), "{hook} is not in {fired:?}");
    }
    assert!(fired.iter().any(|name| name.starts_with("UserPromptSubmit/# #1 The answer")), "{fired:?}");
    let asked = provider.asked("dev");
    let after = asked
        .iter()
        .find(|asked| asked.text().contains("The answer must be 42.") && asked.messages().len() < 9);
    let text = after.expect("a request after the compaction").text();
    assert!(text.contains("Signal by writing one line to the file named by $WINDLASS_PHASE_FILE"), "{text}");
    assert_eq!(asked[0].conversation(), asked.last().unwrap().conversation());
    works.down();
}

/// The promise is 90 s from the order to the successor.
const HANDED_OVER_WITHIN: i64 = 90;

#[test]
fn ac_4_2_a_full_context_is_handed_over_in_time() {
    is_handed_over("ac_4_2", "");
}

#[test]
fn ac_4_2_a_full_context_in_a_terminal_is_the_same() {
    is_handed_over("ac_4_2_in_a_terminal", TMUX);
}

fn is_handed_over(test: &str, keys: &str) {
    let Some((lab, mut log)) = handed_over(test, keys) else { return };
    let Lab { mut works, provider } = lab;
    let requested = log.wait_kind("handoff_requested", 1);
    let complete = log.wait_kind("handoff_complete", 1);
    let began = log.wait("the successor", |event| {
        event["kind"] == "session_started" && event["data"]["session"] == "dev-1.1-2"
    });
    assert!(complete["seq"].as_u64() > requested["seq"].as_u64());
    let took = seconds(&requested, &began);
    assert!((0..=HANDED_OVER_WITHIN).contains(&took), "{took} s");
    assert_eq!(log.count("orchestrator_stuck", 1), 0);
    let (last, first) = around_the_handoff(&provider);
    assert!(last.text().contains("Save your work and exit cleanly"), "{}", last.text());
    assert_ne!(last.conversation(), first.conversation());
    assert_eq!(works.agent("dev-1.1-2")["predecessor_id"], "dev-1.1-1");
    works.down();
}

/// The successor knows the phase it was in, the words of its predecessor, and what CI said; and what it does first is the work.
#[test]
fn ac_4_3_the_successor_goes_on_in_the_phase_of_its_predecessor() {
    let Some((Lab { mut works, provider }, _)) = handed_over("ac_4_3", "") else { return };
    let (_, first) = around_the_handoff(&provider);
    let text = first.text();
    for words in [
        "You are a continuation of dev-1.1-1. Resume from: The answer",
        "Phase: investigation.",
        "CI failed on ",
        "Write the answer down.",
    ] {
        assert!(text.contains(words), "`{words}` is not in {text}");
    }
    let asked = provider.asked("dev");
    let last = asked.iter().rfind(|one| one.conversation() == first.conversation()).unwrap();
    let tools = last.tools();
    assert!(tools[0]["input"].to_string().contains("answer"), "{tools:?}");
    works.down();
}

#[test]
fn ac_4_5_what_was_not_committed_before_the_hand_off_is_saved() {
    let Some((Lab { mut works, .. }, mut log)) = handed_over("ac_4_5", "") else { return };
    let saved = log.wait_kind("work_rescued", 1);
    let file = |name: &str| works.git(&["show", &format!("{}:{name}", word(&saved["data"]["commit"]))]);
    assert_eq!(
        (file("loose"), file("answer")),
        ("loose".into(), "41".into()),
        "as it was before the successor"
    );
    works.down();
}

/// A factory in which a session with a full context was replaced and its issue is merged.
fn handed_over(test: &str, keys: &str) -> Option<(Lab, Log)> {
    let wish = Wish { ci: CI, keys, ..Wish::default() };
    let steps = vec![
        Step::bash("cat README").with_context(NEARLY_FULL),
        Step::bash("echo loose > loose").with_context(NEARLY_FULL),
        Step::say("I stop here").with_context(NEARLY_FULL),
        Step::say("saved").with_context(NEARLY_FULL),
        ready("answer", "42"),
        Step::say("mended"),
    ];
    let (lab, mut log) = begin(test, &wish, steps)?;
    log.wait_merged(1);
    Some((lab, log))
}

/// The last request of the predecessor and the first of the successor.
fn around_the_handoff(provider: &Provider) -> (Asked, Asked) {
    let asked = provider.asked("dev");
    // The last word of the last turn may come after the landing, and then nobody asks for it.
    let other = |one: &Asked| one.conversation() != asked[0].conversation();
    let at = asked.iter().position(other).expect("a conversation of the successor");
    (asked[at - 1].clone(), asked[at].clone())
}

/// Between two events.
fn seconds(from: &Value, to: &Value) -> i64 {
    let at = |event: &Value| word(&event["at"]).parse::<jiff::Timestamp>().unwrap().as_second();
    at(to) - at(from)
}

#[test]
fn ac_4_4_who_does_not_hand_over_in_time_is_replaced() {
    let wish = Wish { ci: CI, tables: "[timeouts]\nhandoff = \"1s\"\n", ..Wish::default() };
    let stuck = "echo loose > loose; while :; do python3 -c 'import time; time.sleep(0.1)'; done";
    let steps = vec![
        Step::bash("cat README").with_context(NEARLY_FULL),
        Step::bash(stuck).with_context(NEARLY_FULL),
        ready("answer", "42"),
        Step::say("mended"),
    ];
    let Some((lab, mut log)) = begin("ac_4_4", &wish, steps) else { return };
    let Lab { mut works, provider } = lab;
    let stuck = log.wait_kind("orchestrator_stuck", 1);
    assert_eq!(stuck["data"]["session"], "dev-1.1-1");
    log.wait_merged(1);
    let asked = provider.asked("dev");
    assert!(asked[4].text().contains("You are a continuation of dev-1.1-1."));
    assert!(
        !asked.last().unwrap().text().contains("Save your work and exit"),
        "that was for its predecessor"
    );
    let saved = log.wait_kind("work_rescued", 1);
    assert_eq!(works.git(&["show", &format!("{}:loose", word(&saved["data"]["commit"]))]), "loose");
    works.down();
}

/// A model that takes ever longer to answer may have too much to read: it is watched.
#[test]
fn a_claude_that_answers_ever_slower_is_watched() {
    let test = "a_claude_that_answers_ever_slower_is_watched";
    let wish = Wish { tables: "[liveness]\nslow_factor = 2\n", ..Wish::default() };
    let Some(Lab { mut works, provider }) = lab(test, &wish) else { return };
    let look = || Step::bash("cat README");
    provider.script("dev", (0..6).map(|_| look()));
    provider.script("dev", (0..3).map(|_| look().after(Duration::from_secs(3))));
    provider.script("dev", [ready("answer", "42"), Step::say("ready")]);
    works.new_issue("The answer", "Write the answer down.");
    works.up();
    let mut log = works.log();
    assert_eq!(log.wait_kind("context_warning", 1)["data"]["urgency"], "low");
    log.wait_merged(1);
    assert_eq!(log.count("context_warning", 1), 1, "it is said once");
    works.down();
}
