//! From issue to main in one conversation: CI's and the critic's words come back to the same session.

use windlass_store::{Mode, SqliteStore, Store, UsageQuery};
use windlass_testkit::provider::Step;

use super::{Lab, TMUX, Wish, lab, one_conversation, ready};
use crate::secrets::{KEY, is_written_nowhere};
use crate::works::Works;

pub const CRITIC: &str = "[agent.critic]\nkind = \"claude-code\"\nbinary = \"@claude\"\nenv = CRITIC_ENV\n";

#[test]
fn claude_goes_through_ci_and_critic_in_one_conversation() {
    goes_through("claude_goes_through_ci_and_critic", "");
}

#[test]
fn claude_in_a_terminal_goes_through_ci_and_critic_in_one_conversation() {
    goes_through("claude_in_a_terminal_goes_through_ci_and_critic", TMUX);
}

fn goes_through(test: &str, keys: &str) {
    let critic = format!("{CRITIC}{keys}\n");
    let wish = Wish { ci: "grep -q 42 answer", keys, critic: &critic, ..Wish::default() };
    let Some(Lab { mut works, provider }) = lab(test, &wish) else { return };
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
    is_written_nowhere(&works, KEY);
    works.down();
    assert_eq!(works.agent("dev-1.1-1")["session_id"], name.as_str());
    assert!(works.agent("dev-1.1-2").is_null(), "there was no second session");
    rounds_get_cheaper(&works);
}

/// Acceptance of the persistent worker: by the program's own figures, every later round costs at least 30 % less.
fn rounds_get_cheaper(works: &Works) {
    let store = SqliteStore::open(&works.machine.state(), Mode::ReadOnly).unwrap();
    let usage = store.usage(&UsageQuery::default()).unwrap();
    let rounds: Vec<_> = usage.iter().filter(|row| row.session.as_str() == "dev-1.1-1").collect();
    assert_eq!(rounds.len(), 3);
    for round in &rounds[1..] {
        assert!(round.cost_micro_usd * 10 <= rounds[0].cost_micro_usd * 7, "{rounds:#?}");
        assert!(round.cache_read > 10 * (round.input + round.cache_write), "{round:?}");
    }
    assert!(
        rounds.iter().all(|round| round.model.starts_with("claude-") && round.cost_micro_usd > 0),
        "{rounds:?}"
    );
}

#[test]
fn claude_that_was_let_go_is_resumed() {
    is_let_go("claude_that_was_let_go_is_resumed", "");
}

#[test]
fn claude_in_a_terminal_that_was_closed_is_resumed() {
    is_let_go("claude_in_a_terminal_that_was_closed_is_resumed", TMUX);
}

fn is_let_go(test: &str, keys: &str) {
    let keys = format!("keep_warm = \"100ms\"\n{keys}");
    let wish = Wish { ci: "sleep 3; grep -q 42 answer", keys: &keys, ..Wish::default() };
    let Some(Lab { mut works, provider }) = lab(test, &wish) else { return };
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

pub fn verdict(word: &str, comment: &str) -> Step {
    Step::bash(&format!(
        "printf '{{\"head\":\"%s\",\"verdict\":\"{word}\",\"comments\":[{}]}}' $(git rev-parse HEAD) > $WINDLASS_VERDICT_FILE",
        comment
    ))
}

#[test]
fn claude_learns_in_the_middle_of_its_turn_that_somebody_speaks_to_it() {
    let Some(Lab { mut works, provider }) = lab("claude_learns_that_somebody_speaks", &Wish::default())
    else {
        return;
    };
    let wait = "touch $WINDLASS_SESSION_DIR/busy; until grep -q ISO $WINDLASS_SESSION_DIR/inbox.jsonl; do python3 -c 'import time; time.sleep(0.02)'; done";
    provider
        .script("dev", [Step::bash(wait), Step::say("I listen"), ready("answer", "42"), Step::say("ready")]);
    works.new_issue("The answer", "Write the answer down.");
    works.up();
    works.wait_path(&works.session_file("dev-1.1-1", "busy"));
    works.must(&["tell", "1", "Use ISO dates."]);
    let mut log = works.log();
    log.wait_merged(1);
    let asked = provider.asked("dev");
    let text = |nth: usize| asked[nth].text();
    assert!(text(1).contains("A message from Windlass waits for the end of this turn"), "{}", text(1));
    assert!(
        !text(1).contains("Use ISO dates.") && text(2).contains("Use ISO dates."),
        "it is said once, in a turn of its own"
    );
    one_conversation(&asked);
    works.down();
}
