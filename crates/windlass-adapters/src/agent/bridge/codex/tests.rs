//! The bridge against a made-up codex that is a shell script.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::*;
use crate::agent::{Trouble, trouble};
use crate::shim::TurnResult;

fn codex(base_url: Option<&str>) -> Codex {
    Codex {
        binary: "codex".into(),
        model: Some("m".into()),
        base_url: base_url.map(str::to_owned),
        conversation: Conversation::New("c".into()),
        home: "/h".into(),
    }
}

#[test]
fn the_profile_becomes_arguments() {
    insta::assert_snapshot!(codex(None).argv(None).join(" "), @r#"codex exec --json --dangerously-bypass-approvals-and-sandbox --skip-git-repo-check --disable plugins --disable apps --disable remote_plugin -c analytics.enabled=false -c check_for_update_on_startup=false -c sqlite_home="/h/.windlass/codex-index" -c model="m" -"#);
    let again = codex(Some("http://x/v1")).argv(Some("t-1")).join(" ");
    assert!(again.starts_with("codex exec resume t-1 --json"), "{again}");
    assert!(again.contains(r#"-c model_provider="profile" -c model_providers.profile.name="profile" -c model_providers.profile.base_url="http://x/v1" -c model_providers.profile.env_key="CODEX_API_KEY""#), "{again}");
}

const THREAD: &str = "echo '{\"type\":\"thread.started\",\"thread_id\":\"t-1\"}'\n";

/// One turn of a codex that does as the script says; its arguments are in the file `asked`.
fn turn(home: &Path, conversation: &Conversation, script: &str) -> io::Result<Turn> {
    let binary = home.join("codex");
    let script =
        format!("#!/bin/sh\necho \"$@\" >> '{}'\ncat > /dev/null\n{script}", home.join("asked").display());
    std::fs::write(&binary, script).unwrap();
    std::fs::set_permissions(&binary, std::fs::Permissions::from_mode(0o755)).unwrap();
    let binary = binary.to_string_lossy().into_owned();
    let home = home.to_owned();
    let codex = Codex { binary, model: None, base_url: None, conversation: conversation.clone(), home };
    codex.turn(&mut Talk::new(&b""[..], io::sink(), conversation.id()), "do it")
}

fn trouble_of(turn: Turn) -> Option<Trouble> {
    trouble(&TurnResult { is_error: turn.failure.is_some(), failure: turn.failure, ..TurnResult::default() })
}

#[test]
fn a_thread_is_gone_on_with_and_each_turn_has_its_share() {
    let home = tempfile::tempdir().unwrap();
    let new = Conversation::New("c".into());
    let used = |input: u64| {
        format!(
            "{THREAD}echo '{{\"type\":\"turn.completed\",\"usage\":{{\"input_tokens\":{input},\"cached_input_tokens\":50,\"output_tokens\":1}}}}'"
        )
    };
    let first = turn(home.path(), &new, &used(100)).unwrap();
    assert_eq!((first.usage.input, first.usage.cache_read, first.failure), (50, 50, None));
    let second = turn(home.path(), &Conversation::Resumed("c".into()), &used(130)).unwrap();
    assert_eq!((second.usage.input, second.usage.cache_read, second.usage.output), (30, 0, 0));
    let asked = std::fs::read_to_string(home.path().join("asked")).unwrap();
    let asked: Vec<&str> = asked.lines().collect();
    assert!(
        asked[0].starts_with("exec --json") && asked[1].starts_with("exec resume t-1 --json"),
        "{asked:?}"
    );
}

#[test]
fn one_that_waits_for_its_provider_is_ended() {
    let home = tempfile::tempdir().unwrap();
    let waits = "echo '{\"type\":\"error\",\"message\":\"Reconnecting... waiting for network (Connection failed)\"}'\n";
    let script = format!("{THREAD}{waits}{waits}exec sleep 600");
    let turn = turn(home.path(), &Conversation::New("c".into()), &script).unwrap();
    assert_eq!(trouble_of(turn), Some(Trouble::Passing));
}

#[test]
fn a_thread_that_nobody_knows_is_lost() {
    let home = tempfile::tempdir().unwrap();
    let resumed = Conversation::Resumed("c".into());
    assert_eq!(trouble_of(turn(home.path(), &resumed, "").unwrap()), Some(Trouble::ConversationLost));
    Memory::new(home.path(), "c").keep("t-1").unwrap();
    let unknown = "echo 'Error: thread/resume failed: no rollout found for thread id t-1' >&2; exit 1";
    assert_eq!(trouble_of(turn(home.path(), &resumed, unknown).unwrap()), Some(Trouble::ConversationLost));
    let broken = "echo 'Error: no such option' >&2; exit 2";
    assert_eq!(trouble_of(turn(home.path(), &resumed, broken).unwrap()), Some(Trouble::Unknown));
}

#[test]
fn one_that_is_killed_is_no_failed_turn() {
    let home = tempfile::tempdir().unwrap();
    let killed = turn(home.path(), &Conversation::New("c".into()), &format!("{THREAD}kill -KILL $$"));
    assert!(killed.unwrap_err().to_string().contains("codex was ended"));
}
