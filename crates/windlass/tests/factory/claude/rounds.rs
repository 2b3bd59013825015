//! From issue to main in one conversation: CI's and the critic's words come back to the same session.

use windlass_testkit::provider::Step;

use super::{Lab, Wish, lab, one_conversation, ready};

const CRITIC: &str = "[agent.critic]\nkind = \"claude-code\"\nbinary = \"@claude\"\nenv = CRITIC_ENV\n";

#[test]
fn claude_goes_through_ci_and_critic_in_one_conversation() {
    let wish = Wish { ci: "grep -q 42 answer", critic: CRITIC, ..Wish::default() };
    let Some(Lab { mut works, provider }) = lab("claude_goes_through_ci_and_critic", &wish) else { return };
    provider.script("dev", [Step::bash("cat README"), ready("answer", "41"), Step::say("ready")]);
    provider.script("dev", [ready("answer", "42"), Step::say("mended")]);
    provider.script("dev", [ready("page", "about the answer"), Step::say("documented")]);
    provider.script("critic", [verdict("REQUEST_CHANGES", NO_PAGE), Step::say("done")]);
    provider.script("critic", [verdict("APPROVE", ""), Step::say("done")]);
    assert_eq!(works.new_issue("The answer", "Write the answer down."), 1);
    works.up();
    let mut log = works.log();
    log.wait_merged(1);
    assert_eq!(works.git(&["show", "main:answer", "main:page"]), "42\nabout the answer");
    let asked = provider.asked("dev");
    let name = one_conversation(&asked);
    assert_eq!((asked.len(), provider.left("dev")), (7, 0));
    let last = asked[6].text();
    for words in
        ["Write the answer down.", "CI failed on ", "The critic asks for changes", "There is no page"]
    {
        assert!(last.contains(words), "`{words}` is not in {last}");
    }
    let reviews = provider.asked("critic");
    assert_eq!(reviews.len(), 4);
    assert_ne!(
        reviews[0].conversation(),
        reviews[2].conversation(),
        "each review is a conversation of its own"
    );
    works.down();
    let lab = Lab { works, provider };
    let dev = lab.agent("dev-1.1-1");
    assert_eq!(dev["session_id"], name.as_str());
    assert_eq!(lab.agents().iter().filter(|agent| agent["role"] == "dev").count(), 1);
}

#[test]
fn claude_that_was_let_go_is_resumed() {
    let wish = Wish { ci: "sleep 3; grep -q 42 answer", keys: "keep_warm = \"100ms\"", ..Wish::default() };
    let Some(Lab { mut works, provider }) = lab("claude_that_was_let_go_is_resumed", &wish) else { return };
    provider.script("dev", [ready("answer", "41"), Step::say("ready")]);
    provider.script("dev", [ready("answer", "42"), Step::say("mended")]);
    works.new_issue("The answer", "Write the answer down.");
    works.up();
    let mut log = works.log();
    log.wait_merged(1);
    one_conversation(&provider.asked("dev"));
    let facts =
        std::fs::read_to_string(works.machine.state().join("sessions/dev-1.1-1/turns.jsonl")).unwrap();
    assert_eq!(facts.matches("\"fact\":\"started\"").count(), 2, "{facts}");
    assert_eq!(works.show(1)["task"]["sessions"], 1);
    works.down();
}

const NO_PAGE: &str =
    r#"{"severity":"sev2","category":"docs","file":"answer","line":1,"message":"There is no page"}"#;

fn verdict(word: &str, comment: &str) -> Step {
    Step::bash(&format!(
        "printf '{{\"head\":\"%s\",\"verdict\":\"{word}\",\"comments\":[{}]}}' $(git rev-parse HEAD) > $WINDLASS_VERDICT_FILE",
        comment
    ))
}
