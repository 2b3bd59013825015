//! Goose, for all agents of the Agent Client Protocol: one process with one session.

use serde_json::json;
use windlass_testkit::provider::Step;
use windlass_testkit::real::GOOSE;

use super::*;

const MAKER: Maker = Maker {
    program: GOOSE,
    table: "kind = \"acp\"\ncommand = [\"@agent\", \"acp\"]\nenv = { ANTHROPIC_API_KEY = \"file:@key\", ANTHROPIC_HOST = \"<url>\", \
            GOOSE_PROVIDER = \"anthropic\", GOOSE_MODEL = \"claude-sonnet-4-5\", GOOSE_MODE = \"approve\", GOOSE_DISABLE_KEYRING = \"1\" }",
    keys: "",
    critic: SCRIPT,
    run,
};

fn run(command: &str) -> Step {
    Step::tool("shell", json!({"command": command}))
}

#[test]
fn goose_takes_an_issue_to_main_in_one_conversation() {
    let ci = "grep -q 42 answer";
    let Some(lab) = merges_in_one_conversation("goose_takes_an_issue_to_main", MAKER, ci) else { return };
    let transcript =
        std::fs::read_to_string(lab.works.session_file("dev-1.1-1", "transcript.jsonl")).unwrap();
    assert!(transcript.contains("\"name\":\"Bash\"") && transcript.contains("contextWindow"), "{transcript}");
}

#[test]
fn goose_that_is_killed_goes_on_in_the_same_conversation() {
    goes_on_when_killed("goose_that_is_killed", MAKER, Victim::Agent);
}

#[test]
fn goose_begins_anew_when_its_conversation_is_lost() {
    begins_anew_when_lost(
        "goose_begins_anew_when_its_conversation_is_lost",
        MAKER,
        "home/.local/share/goose",
    );
}

#[test]
fn goose_that_was_let_go_is_resumed() {
    let maker = Maker { keys: "keep_warm = \"100ms\"", ..MAKER };
    let ci = "sleep 3; grep -q 42 answer";
    let Some(lab) = merges_in_one_conversation("goose_that_was_let_go_is_resumed", maker, ci) else { return };
    let facts = std::fs::read_to_string(lab.works.session_file("dev-1.1-1", "turns.jsonl")).unwrap();
    assert_eq!(facts.matches("\"fact\":\"started\"").count(), 2, "{facts}");
    assert!(facts.contains("\"code\":0"), "it was let go in peace: {facts}");
}

#[test]
fn a_person_is_asked_when_the_provider_refuses_goose() {
    let Some(Lab { mut works, provider }) = lab("a_person_is_asked_for_goose", MAKER, "true") else { return };
    provider.script("dev", [Step::fail(401, "bad key"), MAKER.ready("answer", "42"), Step::say("ready")]);
    works.new_issue("The answer", "Write the answer down.");
    works.up();
    let mut log = works.log();
    log.wait_state(1, "AWAITING_HUMAN");
    works.must(&["tell", "1", "It is mended."]);
    log.wait_merged(1);
    assert_eq!(log.count("agent_crashed", 1), 0);
    works.down();
}
