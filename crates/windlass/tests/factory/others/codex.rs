//! Codex: a process for each turn, one thread for all of them.

use serde_json::json;
use windlass_store::{Mode, SqliteStore, Store, UsageQuery};
use windlass_testkit::provider::{Failure, Step};
use windlass_testkit::real::CODEX;

use super::*;

const CI: &str = "grep -q 42 answer";
const TABLE: &str = "kind = \"codex\"\nbinary = \"@agent\"\nmodel = \"m-1\"\nbase_url = \"<url>/v1\"\nenv = { CODEX_API_KEY = \"file:@key\" }";
const MAKER: Maker = Maker { program: CODEX, table: TABLE, keys: "", critic: SCRIPT, run };

fn run(command: &str) -> Step {
    Step::tool("exec_command", json!({"cmd": command, "yield_time_ms": 30_000}))
}

#[test]
fn codex_takes_an_issue_to_main_in_one_conversation() {
    let Some(lab) = merges_in_one_conversation("codex_takes_an_issue_to_main", MAKER, CI) else { return };
    let store = SqliteStore::open(&lab.works.machine.state(), Mode::ReadOnly).unwrap();
    let turns = store.usage(&UsageQuery::default()).unwrap();
    let turns: Vec<_> = turns.iter().filter(|row| row.session.as_str() == "dev-1.1-1").collect();
    assert_eq!(turns.len(), 2);
    for turn in &turns {
        assert_eq!(turn.output, 80, "each of two answers has 40: {turns:#?}");
        assert_eq!(turn.model, "m-1");
    }
    assert!(turns[1].cache_read > turns[1].input, "the second round is in the cache: {turns:#?}");
}

#[test]
fn codex_that_is_killed_goes_on_in_the_same_conversation() {
    goes_on_when_killed("codex_that_is_killed", MAKER, Victim::Agent);
}

#[test]
fn codex_goes_on_in_the_same_conversation_when_its_bridge_is_killed() {
    goes_on_when_killed("codex_goes_on_when_its_bridge_is_killed", MAKER, Victim::Bridge);
}

#[test]
fn codex_begins_anew_when_its_conversation_is_lost() {
    begins_anew_when_lost("codex_begins_anew_when_its_conversation_is_lost", MAKER, "home/.codex/sessions");
}

#[test]
fn codex_waits_until_its_limit_is_over() {
    let Some(Lab { mut works, provider }) = lab("codex_waits_until_its_limit_is_over", MAKER, "true") else {
        return;
    };
    // Other limits it waits out by itself for a while.
    let spent = Failure {
        status: 429,
        kind: "usage_limit_reached",
        message: "The usage limit has been reached".into(),
        headers: Vec::new(),
    };
    provider.script("dev", [Step::Fail(spent), MAKER.ready("answer", "42"), Step::say("ready")]);
    works.new_issue("The answer", "Write the answer down.");
    works.up();
    let mut log = works.log();
    let failed = log.wait_kind("provider_failed", 1);
    assert_eq!(failed["data"]["trouble"], "passing", "no time is named: {failed}");
    log.wait_merged(1);
    one_conversation(&provider.asked("dev"));
    assert_eq!((log.count("agent_crashed", 1), &works.show(1)["task"]["sessions"]), (0, &1.into()));
    works.down();
}

#[test]
fn codex_reviews_what_codex_has_done() {
    let maker = Maker { critic: TABLE, ..MAKER };
    let Some(Lab { mut works, provider }) = lab("codex_reviews_what_codex_has_done", maker, "true") else {
        return;
    };
    provider.script("dev", [MAKER.ready("answer", "42"), Step::say("ready")]);
    let approve =
        "printf '{\"head\":\"%s\",\"verdict\":\"APPROVE\"}' $(git rev-parse HEAD) > $WINDLASS_VERDICT_FILE";
    provider.script("critic", [run(approve), Step::say("approved")]);
    works.new_issue("The answer", "Write the answer down.");
    works.up();
    let mut log = works.log();
    log.wait_merged(1);
    assert!(provider.asked("critic")[0].text().contains("Write the answer down."));
    works.down();
}
