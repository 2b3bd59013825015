//! Between two messages Claude Code does nothing by itself: no turn begins that nobody has asked for.

use serde_json::json;
use windlass_testkit::provider::Step;

use super::{Lab, TMUX, Wish, lab, ready};

#[test]
fn claude_has_no_tool_that_wakes_it() {
    has_no_tool_that_wakes_it("claude_has_no_tool_that_wakes_it", "");
}

#[test]
fn claude_in_a_terminal_has_no_tool_that_wakes_it() {
    has_no_tool_that_wakes_it("claude_in_a_terminal_has_no_tool_that_wakes_it", TMUX);
}

fn has_no_tool_that_wakes_it(test: &str, keys: &str) {
    let Some(Lab { mut works, provider }) = lab(test, &Wish { keys, ..Wish::default() }) else { return };
    let background = json!({"command": "true", "description": "x", "run_in_background": true});
    let monitor = json!({"command": "true", "description": "x", "timeout_ms": 60_000, "persistent": false});
    provider.script(
        "dev",
        [
            Step::tool("Bash", background),
            Step::tool("Monitor", monitor),
            Step::tool("ScheduleWakeup", json!({"delaySeconds": 60, "reason": "x", "prompt": "x"})),
            Step::tool("CronCreate", json!({"cron": "* * * * *", "prompt": "x"})),
            Step::tool("Workflow", json!({"script": "x", "description": "x"})),
            ready("answer", "42"),
            Step::say("ready"),
        ],
    );
    works.new_issue("The answer", "Write the answer down.");
    works.up();
    works.log().wait_merged(1);
    let text = provider.asked("dev")[5].text();
    assert!(text.contains("An unexpected parameter `run_in_background` was provided"), "{text}");
    for tool in ["Monitor", "ScheduleWakeup", "CronCreate", "Workflow"] {
        assert!(text.contains(&format!("No such tool available: {tool}")), "{tool}: {text}");
    }
    works.down();
}
