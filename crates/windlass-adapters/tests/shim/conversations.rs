//! Messages in, turns out.

use std::time::{Duration, Instant};

use windlass_adapters::shim::client::{self, Spawned};
use windlass_adapters::shim::{End, Fact, Framing};

use crate::support::{NOTHING, Session, shim, until};

/// Answers each line with a result, as a real agent does.
const ECHO: &str = r#"
n=0
while read -r line; do
  n=$((n+1))
  printf '%s\n' "$line" >> got
  echo "{\"type\":\"assistant\",\"n\":$n}"
  echo "{\"type\":\"result\",\"is_error\":false,\"session_id\":\"s$n\",\"total_cost_usd\":0.5,\"usage\":{\"input_tokens\":$n}}"
done
echo eof >> got
"#;

#[test]
fn each_message_is_one_run() {
    let script = "echo turn $WINDLASS_TURN; cat; echo; echo bad >&2; exit $WINDLASS_TURN";
    let session = Session::new(Framing::Turns, script);
    session.prepare().say("m1", "hello\nworld").say("m2", "again").say("m1", "twice").spawn();
    assert_eq!(session.end().code, Some(2));
    assert_eq!(
        session.story(),
        "delivered:m1 started ended:m1:exit1 delivered:m2 started ended:m2:exit2 exited"
    );
    let lines = client::read_transcript(&session.folder(), 0).unwrap().0;
    assert_eq!(lines[0], r#"{"text":"turn 1","type":"text"}"#);
    assert_eq!((lines.len(), session.read("session/stderr.log").as_str()), (5, "bad\nbad\n"));

    // Another life goes on where this one ended.
    assert_eq!(client::spawn(&shim(), &session.folder(), &NOTHING).unwrap(), Spawned::Ended);
    session.say("m3", "later");
    assert_eq!(client::respawn(&shim(), &session.folder(), &NOTHING).unwrap(), Spawned::Started);
    assert_eq!(session.end().code, Some(3));
    assert!(session.story().ends_with("exited delivered:m3 started ended:m3:exit3 exited"));
}

#[test]
fn without_a_message_nothing_runs() {
    let session = Session::new(Framing::Turns, "touch ran");
    assert_eq!(session.run().code, Some(0));
    assert!(session.story() == "exited" && !session.path("ran").exists());
}

#[test]
fn a_program_that_does_not_listen_and_one_that_is_missing() {
    let big = "x".repeat(1 << 20);
    let session = Session::new(Framing::Turns, "exit 4");
    session.prepare().say("m1", &big).spawn();
    assert_eq!(session.end().code, Some(4));
    let session =
        Session::new(Framing::Turns, "").with(|launch| launch.argv = vec!["no-such-program".into()]);
    session.prepare().say("m1", "hello").spawn();
    assert_eq!(session.end().code, Some(127));
    assert_eq!(session.story(), "delivered:m1 ended:m1:exit127 exited");
}

#[test]
fn a_conversation_takes_messages_as_they_come() {
    let session = Session::new(Framing::StreamJson, ECHO).with(|launch| launch.keep_warm_ms = 60_000);
    session.prepare().say("m1", "quote \" and\nline").spawn();
    until("the first turn", || session.story().contains("ended:m1"));
    let said = Instant::now();
    session.say("m2", "two");
    until("the second turn", || session.story().contains("ended:m2"));
    assert!(said.elapsed() < Duration::from_secs(20), "the message woke nobody: {:?}", said.elapsed());
    client::request_stop(&session.folder()).unwrap();
    assert!(session.end().stopped, "it was warm still");
    assert_eq!(
        session.story(),
        "started delivered:m1 ended:m1:result-false delivered:m2 ended:m2:result-false exited"
    );
    let first = r#"{"message":{"content":[{"text":"quote \" and\nline","type":"text"}],"role":"user"},"type":"user"}"#;
    let got = session.read("got");
    assert_eq!(got.lines().next(), Some(first));
    let results: Vec<_> = session
        .facts()
        .into_iter()
        .filter_map(|fact| match fact {
            Fact::TurnEnded { end: End::Result(result), .. } => Some(result),
            _ => None,
        })
        .collect();
    assert_eq!((results[1].session_id.as_deref(), results[1].total_cost_usd), (Some("s2"), Some(0.5)));
    assert_eq!(results[1].usage.as_ref().unwrap()["input_tokens"], 2);
}

#[test]
fn a_conversation_ends_when_cold() {
    let session = Session::new(Framing::StreamJson, ECHO).with(|launch| launch.keep_warm_ms = 400);
    session.prepare().say("m1", "one").spawn();
    let exit = session.end();
    assert_eq!((exit.code, exit.stopped, exit.killed_leftovers), (Some(0), false, 0));
    assert_eq!(session.story(), "started delivered:m1 ended:m1:result-false exited");
    assert_eq!(session.read("got").lines().last(), Some("eof"));
}

#[test]
fn an_end_in_the_middle_of_a_turn_ends_the_turn() {
    let session = Session::new(Framing::StreamJson, "read -r line; exit 9");
    session.prepare().say("m1", "x").say("m2", "y").spawn();
    assert_eq!(session.end().code, Some(9));
    assert_eq!(session.story(), "started delivered:m1 ended:m1:exit9 exited");
    let session = Session::new(Framing::StreamJson, "read -r line; kill -9 $$");
    session.prepare().say("m1", "x").spawn();
    assert_eq!(session.end().signal, Some(9));
    assert_eq!(session.story(), "started delivered:m1 ended:m1:signal9 exited");
    // The last word counts, even without a line end.
    let session =
        Session::new(Framing::StreamJson, r#"read -r line; printf '{"type":"result","is_error":true}'"#);
    session.prepare().say("m1", "x").spawn();
    session.end();
    assert_eq!(session.story(), "started delivered:m1 ended:m1:result-true exited");
}

#[test]
fn what_an_earlier_life_has_handed_over_is_not_handed_over_again() {
    let session = Session::new(Framing::StreamJson, ECHO);
    session.prepare().say("m1", "one").say("m2", "two");
    let facts = session.folder().join("turns.jsonl");
    std::fs::write(facts, "{\"fact\":\"delivered\",\"message\":\"m1\",\"at\":1}\n{\"fact\":\"turn_en")
        .unwrap();
    session.spawn();
    session.end();
    assert_eq!(session.story(), "delivered:m1 started delivered:m2 ended:m2:result-false exited");
}

#[test]
fn a_line_of_fifty_megabytes_is_cut_and_the_next_one_is_read() {
    let script = r#"read -r line
head -c 50000000 /dev/zero | tr '\0' x; echo
echo '{"type":"result","is_error":false}'
cat > /dev/null"#;
    let session = Session::new(Framing::StreamJson, script).with(|launch| launch.max_line_bytes = 10_000);
    session.prepare().say("m1", "x").spawn();
    assert_eq!(session.end().code, Some(0));
    assert!(session.story().contains("ended:m1:result-false"));
    let lines = client::read_transcript(&session.folder(), 0).unwrap().0;
    let first: serde_json::Value = serde_json::from_str(&lines[0]).unwrap();
    assert_eq!(
        (lines.len(), first["cut"].as_bool(), first["text"].as_str().unwrap().len()),
        (2, Some(true), 10_000)
    );
}

#[test]
fn a_program_that_does_not_leave_is_made_to() {
    let session = Session::new(Framing::StreamJson, "sleep 600").with(|launch| launch.term_grace_ms = 100);
    let exit = session.run();
    assert_eq!((exit.signal, exit.stopped, exit.timed_out), (Some(15), false, false));
}

/// Whoever was handed no message has no conversation that could be gone on with.
#[test]
fn a_later_life_goes_on_with_the_conversation_once_a_message_was_handed_over() {
    let again = format!("echo again >> lives; {ECHO}");
    let session = Session::new(Framing::StreamJson, &format!("echo first >> lives; {ECHO}"))
        .with(|launch| launch.again = Some(vec!["sh".into(), "-c".into(), again]));
    session.run();
    session.say("m1", "hello");
    for message in ["m2", "m3"] {
        assert_eq!(client::respawn(&shim(), &session.folder(), &NOTHING).unwrap(), Spawned::Started);
        session.end();
        session.say(message, "more");
    }
    assert_eq!(session.read("lives"), "first\nfirst\nagain\n");
    let unheard = client::unheard(&session.folder()).unwrap();
    assert_eq!(unheard.iter().map(|message| message.id.as_str()).collect::<Vec<_>>(), ["m3"]);
}

#[test]
fn a_failed_turn_says_why_and_which_model_cost_most() {
    let result = r#"{"type":"result","is_error":true,"result":"API Error: 529","terminal_reason":"api_error","api_error_status":529,"modelUsage":{"small":{"costUSD":0.1},"big":{"costUSD":0.2}}}"#;
    let session =
        Session::new(Framing::StreamJson, &format!("read -r line; echo '{result}'; cat > /dev/null"));
    session.prepare().say("m1", "hello").spawn();
    session.end();
    let ended = session.facts().into_iter().find_map(|fact| match fact {
        Fact::TurnEnded { end: End::Result(result), .. } => Some(result),
        _ => None,
    });
    let ended = ended.expect("a result");
    let failure = ended.failure.expect("a failure");
    assert_eq!(
        (failure.status, failure.kind.as_str(), failure.text.as_str()),
        (Some(529), "api_error", "API Error: 529")
    );
    assert_eq!(ended.model.as_deref(), Some("big"));
}
