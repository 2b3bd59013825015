//! Keys for agents and builds: they reach the programs that need them, and no file of the factory.

use crate::common::listing;
use crate::crew::{APPROVES, crew};
use crate::works::Works;

/// As long as a real one: of those, Claude Code itself keeps the last twenty letters.
pub const KEY: &str = "sk-test-4f1c0d8a3b7e5926d41f08c7a9e3b56d2f80";

/// Nobody has written it down, wherever the factory keeps something.
pub fn is_written_nowhere(works: &Works, secret: &str) {
    let files = listing(&works.machine.path("state"));
    let files: Vec<_> = files.iter().map(|(path, _)| path).filter(|path| path.is_file()).collect();
    assert!(files.iter().any(|path| path.ends_with("launch.json")), "the files of sessions are among them");
    for path in files {
        let has = String::from_utf8_lossy(&std::fs::read(path).unwrap()).contains(secret);
        assert!(!has, "it is in {}", path.display());
    }
}

/// Also in the second life of a session, which another daemon begins.
#[test]
fn a_key_reaches_worker_critic_and_build_and_no_file() {
    let has_key = format!("test ${{#A_KEY}} = {}", KEY.len());
    let env = "env = { A_KEY = \"file:@key\" }";
    let config = format!(
        "[ci]\ncommand = {has_key:?}\n{env}\n[agent.dev]\nkind = \"command\"\ncommand = [\"sh\", \"@dev.sh\"]\n{env}\n\
         [agent.critic]\nkind = \"command\"\ncommand = [\"sh\", \"@critic.sh\"]\n{env}\n"
    );
    let asks = format!(
        "{has_key} || exit 1; if [ $WINDLASS_TURN = 1 ]; then signal escalate 'so far?'; else ready; fi"
    );
    let mut works = crew(&config, &format!("{has_key} && {APPROVES}"), &[&asks]);
    works.script("key", &format!("{KEY}\n"));
    works.up();
    let mut log = works.log();
    log.wait_state(1, "AWAITING_HUMAN");
    works.wait_until("the end of its process", || works.session_file("dev-1.1-1", "exit.json").exists());
    works.kill();
    works.up();
    works.order(&["tell", "1", "go on"]);
    log.wait_merged(1);
    assert_eq!((log.count("agent_crashed", 1), &works.show(1)["task"]["sessions"]), (0, &1.into()));
    is_written_nowhere(&works, KEY);
    works.down();
    is_written_nowhere(&works, KEY);
}
