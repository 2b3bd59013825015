//! The bridge against small agents that are shell scripts: what the shim would see of them.

use super::*;
use crate::agent::{Seen, read as read_stream};

/// An agent that answers the opening requests, and then as the script says.
fn agent(after: &str) -> Vec<String> {
    let script = format!(
        "answer() {{ printf '{{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}}\\n' \"$1\" \"$2\"; }}\n\
         tell() {{ printf '{{\"method\":\"session/update\",\"params\":{{\"update\":%s}}}}\\n' \"$1\"; }}\n\
         read hello; answer 1 '{{\"protocolVersion\":1,\"agentCapabilities\":{{\"loadSession\":true}}}}'\n\
         read session; echo \"$session\" >> \"$0\"\n{after}"
    );
    vec!["sh".into(), "-c".into(), script]
}

fn bridge(home: &std::path::Path, conversation: Conversation, after: &str) -> Acp {
    let mut command = agent(after);
    command.push(home.join("asked").to_string_lossy().into_owned());
    Acp { command, permission: Permission::Allow, conversation, home: home.to_owned() }
}

const NEW: &str = "answer 2 '{\"sessionId\":\"s-9\",\"models\":{\"currentModelId\":\"m\"}}'\n";

/// What is seen of one turn.
fn seen(acp: &Acp) -> Result<Vec<Seen>, CallError> {
    let mut output = Vec::new();
    let mut talk = Talk::new(&b""[..], &mut output, "c-1");
    let mut open = None;
    let turn = acp.turn(&mut open, &mut talk, "do it")?;
    talk.end(&turn).unwrap();
    open.unwrap().end().unwrap();
    Ok(String::from_utf8(output).unwrap().lines().flat_map(read_stream).collect())
}

#[test]
fn a_turn_is_passed_on_with_its_pieces_joined() {
    let home = tempfile::tempdir().unwrap();
    let after = format!(
        "{NEW}read prompt\n\
         tell '{{\"sessionUpdate\":\"agent_message_chunk\",\"content\":{{\"text\":\"I \"}}}}'\n\
         tell '{{\"sessionUpdate\":\"agent_message_chunk\",\"content\":{{\"text\":\"look\"}}}}'\n\
         echo '{{\"jsonrpc\":\"2.0\",\"id\":\"p\",\"method\":\"session/request_permission\",\"params\":{{\"options\":[{{\"optionId\":\"yes\",\"kind\":\"allow_once\"}}]}}}}'\n\
         read permission; echo \"$permission\" >> \"$0\"\n\
         tell '{{\"sessionUpdate\":\"tool_call\",\"kind\":\"read\",\"locations\":[{{\"path\":\"a.rs\"}}]}}'\n\
         tell '{{\"sessionUpdate\":\"agent_message_chunk\",\"content\":{{\"text\":\"done\"}}}}'\n\
         tell '{{\"sessionUpdate\":\"usage_update\",\"used\":70,\"size\":100}}'\n\
         answer 3 '{{\"stopReason\":\"end_turn\",\"usage\":{{\"inputTokens\":5,\"outputTokens\":6}}}}'\n"
    );
    let all = seen(&bridge(home.path(), Conversation::New("c-1".into()), &after)).unwrap();
    assert_eq!(all[0], Seen::Said("I look".into()));
    assert!(
        matches!(&all[1], Seen::Tool { name, target: Some(target), .. } if name == "Read" && target == "a.rs"),
        "{all:?}"
    );
    assert_eq!(all[2..4], [Seen::Context(70), Seen::Said("done".into())]);
    assert!(all.contains(&Seen::Window(100)), "{all:?}");
    assert_eq!(all.last(), Some(&Seen::TurnResult { is_error: false, text: "done".into() }));
    let asked = std::fs::read_to_string(home.path().join("asked")).unwrap();
    assert!(asked.contains("session/new") && asked.contains("\"optionId\":\"yes\""), "{asked}");
}

#[test]
fn a_known_session_is_loaded_and_what_it_tells_again_is_not_passed_on() {
    let home = tempfile::tempdir().unwrap();
    super::super::Memory::new(home.path(), "c-1").keep("s-9").unwrap();
    let after = "tell '{\"sessionUpdate\":\"agent_message_chunk\",\"content\":{\"text\":\"old words\"}}'\n\
                 answer 2 '{}'\nread prompt\nanswer 3 '{\"stopReason\":\"end_turn\"}'\n";
    let all = seen(&bridge(home.path(), Conversation::Resumed("c-1".into()), after)).unwrap();
    assert!(!all.contains(&Seen::Said("old words".into())), "{all:?}");
    let asked = std::fs::read_to_string(home.path().join("asked")).unwrap();
    assert!(asked.contains("session/load") && asked.contains("s-9"), "{asked}");
}

#[test]
fn a_session_that_nobody_knows_is_lost() {
    let home = tempfile::tempdir().unwrap();
    let resumed = Conversation::Resumed("c-1".into());
    let Err(CallError::Refused(none)) = seen(&bridge(home.path(), resumed.clone(), "")) else {
        panic!("there is nothing to go on with")
    };
    assert!(none.text.starts_with("No conversation found"), "{none:?}");
    super::super::Memory::new(home.path(), "c-1").keep("s-9").unwrap();
    let refuses = |error: &str| {
        let after = format!("echo '{{\"id\":2,\"error\":{error}}}'\nread more\n");
        match seen(&bridge(home.path(), resumed.clone(), &after)) {
            Err(CallError::Refused(failure)) => failure,
            other => panic!("it was let in: {other:?}"),
        }
    };
    // As goose 1.34.0, gemini 0.61.0 and opencode 1.18.33 say it.
    for error in [
        r#"{"code":-32002,"message":"Resource not found","data":"Session not found: s-9"}"#,
        r#"{"code":-32603,"message":"Internal error","data":{"details":"No previous sessions found for this project."}}"#,
        r#"{"code":-32603,"message":"Internal error: OpenCode service failure"}"#,
    ] {
        let gone = refuses(error);
        assert!(gone.text.starts_with("No conversation found"), "{gone:?}");
    }
    let login = refuses(r#"{"code":-32000,"message":"Authentication required"}"#);
    assert_eq!(login.kind, "authentication_failed", "a session is not lost for want of a key");
}

#[test]
fn an_agent_that_dies_in_a_turn_is_no_failed_turn() {
    let home = tempfile::tempdir().unwrap();
    let dies =
        bridge(home.path(), Conversation::New("c-1".into()), &format!("{NEW}read prompt; kill -KILL $$"));
    assert!(matches!(seen(&dies), Err(CallError::Ended(_))));
}

#[test]
fn an_error_that_is_said_as_if_all_were_well_is_one() {
    let home = tempfile::tempdir().unwrap();
    let after = format!(
        "{NEW}read prompt\n\
         tell '{{\"sessionUpdate\":\"agent_message_chunk\",\"content\":{{\"text\":\"I beg\"}}}}'\n\
         tell '{{\"sessionUpdate\":\"agent_message_chunk\",\"content\":{{\"text\":\"Ran into this error: Rate limit exceeded: slow down.\"}}}}'\n\
         answer 3 '{{\"stopReason\":\"end_turn\"}}'\n"
    );
    let all = seen(&bridge(home.path(), Conversation::New("c-1".into()), &after)).unwrap();
    let failed = Seen::TurnResult { is_error: true, text: "Rate limit exceeded: slow down.".into() };
    assert_eq!((&all[0], all.last()), (&Seen::Said("I beg".into()), Some(&failed)));
    assert_eq!(hidden("I ran into this error: x"), None, "an agent may speak of errors");
}
