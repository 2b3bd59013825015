//! Opencode, another agent of the Agent Client Protocol: it asks for titles beside the conversation, and names sessions its own way.

use serde_json::json;
use windlass_testkit::provider::Step;
use windlass_testkit::real::OPENCODE;

use super::*;

const MAKER: Maker = Maker {
    program: OPENCODE,
    table: "kind = \"acp\"\ncommand = [\"@agent\", \"acp\"]\n\
            env = { ANTHROPIC_API_KEY = \"file:@key\", OPENCODE_DISABLE_MODELS_FETCH = \"1\", OPENCODE_CONFIG_CONTENT = '{\
            \"model\": \"anthropic/claude-sonnet-4-5\", \"autoupdate\": false, \"share\": \"disabled\", \
            \"provider\": {\"anthropic\": {\"options\": {\"baseURL\": \"<url>/v1\"}}}}' }",
    keys: "",
    critic: SCRIPT,
    run,
};

fn run(command: &str) -> Step {
    Step::tool("bash", json!({"command": command, "description": "a step of the script"}))
}

#[test]
fn opencode_takes_an_issue_to_main_in_one_conversation() {
    merges_in_one_conversation("opencode_takes_an_issue_to_main", MAKER, "grep -q 42 answer");
}

#[test]
fn opencode_begins_anew_when_its_conversation_is_lost() {
    let test = "opencode_begins_anew_when_its_conversation_is_lost";
    begins_anew_when_lost(test, MAKER, "home/.local/share/opencode");
}
