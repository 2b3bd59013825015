//! Errors of the provider: each is waited for, or shown to a person, and none is blamed on the agent.

use windlass_testkit::provider::{Failure, Step};

use super::rounds::{CRITIC, verdict};
use super::{Lab, TMUX, Wish, lab, one_conversation, ready};
use crate::works::Log;

/// CI passes when the worker has said its last word: who lands before that is not asked for it any more.
const GATE: &str = "until [ -e @said ]; do sleep 0.02; done";

/// The worker meets these failures, one after the other, and then does its work.
fn meet(test: &str, env: &str, failures: Vec<Step>) -> Option<(Lab, Log)> {
    meet_as(test, &Wish { env, ..Wish::default() }, failures)
}

fn meet_as(test: &str, wish: &Wish<'_>, failures: Vec<Step>) -> Option<(Lab, Log)> {
    let Lab { mut works, provider } = lab(test, &Wish { ci: GATE, ..*wish })?;
    provider.script("dev", failures);
    provider.script("dev", [ready("answer", "42"), Step::say("ready")]);
    works.new_issue("The answer", "Write the answer down.");
    works.up();
    let log = works.log();
    Some((Lab { works, provider }, log))
}

fn merges_in_one_conversation(lab: Lab, mut log: Log, asked: usize) {
    let Lab { mut works, provider } = lab;
    provider.wait_asked("dev", asked);
    works.script("said", "");
    log.wait_merged(1);
    let all = provider.asked("dev");
    assert_eq!(all.len(), asked);
    let named: Vec<String> = all.iter().map(windlass_testkit::provider::Asked::conversation).collect();
    assert!(named.iter().all(|name| *name == named[0]), "{named:?}");
    one_conversation(&all[asked - 2..]);
    assert_eq!((log.count("agent_crashed", 1), &works.show(1)["task"]["sessions"]), (0, &1.into()));
    works.down();
}

#[test]
fn claude_waits_while_the_provider_is_down() {
    let env = ", API_TIMEOUT_MS = \"1000\"";
    let failures = vec![Step::fail(529, "overloaded"), Step::Drop, Step::Hang];
    let Some((lab, mut log)) = meet("claude_waits_while_the_provider_is_down", env, failures) else { return };
    let limited = log.wait_kind("provider_failed", 1);
    assert_eq!(limited["data"]["trouble"], "passing");
    merges_in_one_conversation(lab, log, 5);
}

/// In so many seconds, in seconds since 1970.
fn seconds_from_now(seconds: u64) -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    now.as_secs() + seconds
}

#[test]
fn claude_waits_until_the_window_of_its_subscription_is_over() {
    let test = "claude_waits_until_the_window_of_its_subscription_is_over";
    let Some((lab, log)) = spends_its_window(test, "", 8) else { return };
    merges_in_one_conversation(lab, log, 3);
}

/// Here it goes on by itself when the window begins anew, so that the rest is not by our script.
#[test]
fn claude_in_a_terminal_says_when_the_window_of_its_subscription_is_over() {
    let test = "claude_in_a_terminal_says_when_the_window_of_its_subscription_is_over";
    let Some((mut lab, _)) = spends_its_window(test, TMUX, 600) else { return };
    lab.works.down();
}

fn spends_its_window(test: &str, keys: &str, seconds: u64) -> Option<(Lab, Log)> {
    let soon = seconds_from_now(seconds);
    let header = |name: &str, value: &str| (format!("anthropic-ratelimit-unified-{name}"), value.to_owned());
    let spent = Step::Fail(Failure {
        status: 429,
        kind: "rate_limit_error",
        message: "This request would exceed your account's rate limit.".into(),
        headers: vec![
            header("status", "rejected"),
            header("reset", &soon.to_string()),
            header("representative-claim", "five_hour"),
            header("5h-utilization", "1.0"),
            header("5h-reset", &soon.to_string()),
        ],
    });
    let wish = Wish { key: "CLAUDE_CODE_OAUTH_TOKEN", keys, ..Wish::default() };
    let (lab, mut log) = meet_as(test, &wish, vec![spent])?;
    assert_eq!(log.wait_kind("limit_hit", 1)["data"]["until"], soon * 1000);
    Some((lab, log))
}

#[test]
fn claude_waits_until_its_limit_is_over() {
    is_limited("claude_waits_until_its_limit_is_over", "");
}

#[test]
fn claude_in_a_terminal_waits_until_its_limit_is_over() {
    is_limited("claude_in_a_terminal_waits_until_its_limit_is_over", TMUX);
}

fn is_limited(test: &str, keys: &str) {
    let soon = seconds_from_now(8);
    let failures =
        vec![Step::fail(429, &format!("usage limit reached|{soon}")), Step::fail(429, "slow down")];
    let wish = Wish { keys, ..Wish::default() };
    let Some((lab, mut log)) = meet_as(test, &wish, failures) else { return };
    let hit = log.wait_kind("limit_hit", 1);
    assert_eq!(hit["data"]["until"], soon * 1000);
    assert_eq!(log.wait_state(1, "LIMITED")["data"]["reason"], "limit_hit");
    merges_in_one_conversation(lab, log, 4);
}

/// A critic is no worse off than a worker: what its provider does is no verdict, and nobody is asked about it.
#[test]
fn a_critic_waits_while_its_provider_is_down() {
    let test = "a_critic_waits_while_its_provider_is_down";
    let wish = Wish { critic: CRITIC, ..Wish::default() };
    let Some(Lab { mut works, provider }) = lab(test, &wish) else { return };
    provider.script("dev", [ready("answer", "42"), Step::say("ready")]);
    provider.script("critic", [529, 429, 500].map(|code| Step::fail(code, "not now")));
    provider.script("critic", [verdict("APPROVE", ""), Step::say("done")]);
    works.new_issue("The answer", "Write the answer down.");
    works.up();
    let mut log = works.log();
    let failed = log.wait_kind("critic_failed", 1);
    assert_eq!(failed["data"]["trouble"], "passing", "{failed}");
    log.wait_merged(1);
    assert_eq!((log.count("critic_failed", 1), log.count("no_verdict", 1)), (3, 0));
    assert_eq!(provider.asked("critic").len(), 5);
    assert_eq!(works.comments(1, "**Needs you.**").len(), 0);
    works.down();
}

#[test]
fn a_person_is_asked_when_the_provider_refuses_claude() {
    let refused = [
        Step::fail(401, "invalid key"),
        Step::fail(403, "not allowed"),
        Step::fail(400, "Your credit balance is too low to access the API"),
    ];
    let Some((lab, mut log)) =
        meet("a_person_is_asked_when_the_provider_refuses_claude", "", refused.to_vec())
    else {
        return;
    };
    for nth in 1..=3 {
        log.wait(&format!("question {nth}"), |event| {
            event["kind"] == "task_moved"
                && event["data"]["to"] == "AWAITING_HUMAN"
                && event["seq"].as_u64() > lab.told()
        });
        lab.tell("It is mended.");
    }
    assert_eq!(lab.works.comments(1, "**Needs you.** The provider does not work for us").len(), 3);
    merges_in_one_conversation(lab, log, 5);
}

#[test]
fn claude_has_a_successor_when_its_conversation_is_too_long() {
    let failures = vec![Step::bash("echo half > half && git add half && git commit -q -m half"), too_long()];
    let Some((lab, mut log)) = meet(
        "claude_has_a_successor_when_its_conversation_is_too_long",
        ", DISABLE_COMPACT = \"1\"",
        failures,
    ) else {
        return;
    };
    let Lab { mut works, provider } = lab;
    works.script("said", "");
    log.wait_merged(1);
    let asked = provider.asked("dev");
    assert_ne!(asked[0].conversation(), asked.last().unwrap().conversation());
    assert!(asked.last().unwrap().text().contains("You are a continuation of dev-1.1-1."));
    works.down();
}

fn too_long() -> Step {
    Step::fail(400, "prompt is too long: 2000000 tokens > 1000000 maximum")
}

impl Lab {
    /// The number of the last answer of a person.
    fn told(&self) -> Option<u64> {
        let events = self.works.events();
        events.iter().rev().find(|event| event["kind"] == "told").and_then(|event| event["seq"].as_u64())
    }

    fn tell(&self, text: &str) {
        let before = self.told();
        self.works.must(&["tell", "1", text]);
        let mut log = self.works.log();
        log.wait("the answer", |event| event["kind"] == "told" && event["seq"].as_u64() > before);
    }
}
