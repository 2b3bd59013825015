//! Acceptance of the identity registry and of the hook files, by the numbers of the list they come from.

use serde_json::Value;

use crate::crew::{APPROVES, READY, config, crew};
use crate::recovery::kill;
use crate::works::Works;

/// The first session shows that it is there and stays; whoever comes next finishes.
const STAYS: &str = "case $session in
    *-1) echo $$ > $here/agent-$n.tmp; mv $here/agent-$n.tmp $here/agent-$n
         until [ -e $here/go-$n ]; do sleep 0.02; done; ready ;;
    *) ready ;;
esac";
const FIRST: &str = "dev-1.1-1";

fn one_that_stays(tables: &str) -> Works {
    let mut works = crew(&config("true", tables), APPROVES, &[STAYS]);
    works.up();
    works.wait_note("agent-1");
    works
}

fn last_seen(works: &Works) -> String {
    works.agent(FIRST)["last_seen_at"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn ac_1_1_every_session_has_an_identity_when_it_starts() {
    let looks =
        "windlass -C $here/repo agents --json > $here/seen-$n.tmp; mv $here/seen-$n.tmp $here/seen-$n; ready";
    let mut works = crew(&config("true", ""), APPROVES, &[looks]);
    let program = env!("CARGO_BIN_EXE_windlass");
    let state = works.machine.path("state");
    works
        .script("1.sh", &looks.replace("windlass", &format!("XDG_STATE_HOME={} {program}", state.display())));
    works.up();
    let mut log = works.log();
    log.wait_merged(1);
    // The agent itself finds its own entry: it was there before the agent was.
    let seen: Value = serde_json::from_str(&works.note("seen-1")).unwrap();
    assert_eq!((&seen["agents"][0]["name"], &seen["agents"][0]["status"]), (&FIRST.into(), &"active".into()));
    assert_eq!(works.record(FIRST, "identity.json")["name"], FIRST);
    assert_eq!(works.record("review-1.1-1", "identity.json")["role"], "review");
    works.down();
}

#[test]
fn ac_1_2_a_living_session_is_seen_at_every_heartbeat() {
    let mut works = one_that_stays("[liveness]\nheartbeat = \"200ms\"");
    for _ in 0..3 {
        let before = last_seen(&works);
        works.wait_until("another sign of life", || last_seen(&works) > before);
    }
    works.script("go-1", "");
    works.log().wait_merged(1);
    works.down();
}

#[test]
fn ac_1_3_a_silent_session_is_suspect_at_the_next_heartbeat() {
    let quiet = "case $session in *-1) echo $$ > $here/agent-$n; exec sleep 1000 ;; *) ready ;; esac";
    // It is suspect for five seconds: whoever asks must have the time to.
    let tables = "[liveness]\nheartbeat = \"1s\"\nstale_after = \"2s\"\nstale_strikes = 6";
    let mut works = crew(&config("true", tables), APPROVES, &[quiet]);
    works.up();
    let mut suspect = false;
    works.wait_until("its replacement", || {
        let agent = works.agent(FIRST);
        suspect |= agent["light"] == "suspect" && agent["strikes"].as_u64() > Some(0);
        agent["status"] == "crashed"
    });
    assert!(suspect, "it was suspect before it was given up");
    let mut log = works.log();
    log.wait_merged(1);
    assert_eq!(log.wait_kind("agent_crashed", 1)["data"]["how"]["how"], "silent");
    works.down();
}

#[test]
fn ac_1_4_a_successor_names_the_one_that_crashed() {
    let mut works = one_that_stays("");
    kill("KILL", &works.note("agent-1"));
    works.log().wait_merged(1);
    let (first, second) = (works.agent(FIRST), works.agent("dev-1.1-2"));
    assert_eq!((&first["status"], &second["status"]), (&"crashed".into(), &"terminated".into()));
    assert_eq!((&first["predecessor_id"], &second["predecessor_id"]), (&Value::Null, &FIRST.into()));
    works.down();
}

#[test]
fn ac_1_5_the_registry_is_told_to_programs_field_by_field() {
    let mut works = one_that_stays("");
    let agent = works.agent(FIRST);
    let fields = [
        "role",
        "name",
        "session_id",
        "pid",
        "tmux_session",
        "node_id",
        "bead_id",
        "worktree_path",
        "hook_path",
        "created_at",
        "last_seen_at",
        "status",
        "predecessor_id",
        "light",
    ];
    for field in fields {
        assert!(agent.get(field).is_some(), "`{field}` is missing: {agent}");
    }
    assert_eq!((&agent["light"], &agent["status"]), (&"alive".into(), &"active".into()));
    assert!(std::path::Path::new(agent["worktree_path"].as_str().unwrap()).join("README").exists());
    works.script("go-1", "");
    works.log().wait_merged(1);
    works.down();
}

#[test]
fn ac_2_1_a_session_has_a_hook_when_it_starts() {
    let mut works = one_that_stays("");
    let path = works.agent(FIRST)["hook_path"].as_str().unwrap().to_owned();
    works.wait_path(std::path::Path::new(&path));
    let hook = works.record(FIRST, "hook.json");
    assert_eq!(hook["identity_name"], FIRST);
    assert!(hook["work_summary"].as_str().unwrap().starts_with("issue 1"), "{hook}");
    assert!(hook["resumption_instructions"].as_str().unwrap().contains("windlass/1"), "{hook}");
    kill("KILL", &works.note("agent-1"));
    works.log().wait_merged(1);
    assert_eq!(
        works.record("dev-1.1-2", "hook.json")["identity_name"],
        "dev-1.1-2",
        "a successor has its own"
    );
    works.down();
}

#[test]
fn ac_2_5_records_are_whole_whenever_the_daemon_is_killed() {
    let mut works = crew(&config("true", ""), APPROVES, &[READY; 6]);
    for round in 0..12_u64 {
        works.up();
        // Another moment in each round; that it comes early or late is the point.
        std::thread::park_timeout(std::time::Duration::from_millis(20 + 31 * round));
        works.kill();
        for session in crate::works::names(&works.machine.state().join("sessions")) {
            // Reading panics on a record that is not whole.
            for name in ["hook.json", "identity.json"] {
                works.record(&session, name);
            }
        }
    }
    works.up();
    let mut log = works.log();
    for issue in 1..=6 {
        log.wait_merged(issue);
    }
    works.down();
}

#[test]
fn a_word_that_was_cut_off_or_not_heard_is_passed_on_to_the_successor() {
    let mut works = one_that_stays("");
    works.must(&["tell", "1", "Use ISO dates."]);
    let inbox = works.session_file(FIRST, "inbox.jsonl");
    works.wait_until("the word", || std::fs::read_to_string(&inbox).is_ok_and(|text| text.contains("ISO")));
    kill("KILL", &works.note("agent-1"));
    works.log().wait_merged(1);
    let passed_on = std::fs::read_to_string(works.session_file("dev-1.1-2", "inbox.jsonl")).unwrap();
    assert!(passed_on.contains("Use ISO dates."), "{passed_on}");
    works.down();
}
