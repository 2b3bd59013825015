//! Whose words go on to whom.

use windlass_adapters::shim::End;
use windlass_core::time::Millis;

use super::*;

/// A session by its messages: `x` was not heard, `x!` was cut off, `x.` was answered.
fn session(messages: &str) -> Left {
    let mut left = Left::default();
    for word in messages.split_whitespace() {
        let id = word.trim_end_matches(['!', '.']).to_owned();
        let text = if id == "brief" { "go on".to_owned() } else { format!("Message from ann: {id}") };
        left.inbox.push(Message { id: id.clone(), text });
        if word.ends_with(['!', '.']) {
            left.facts.push(Fact::Delivered { message: id.clone(), at: Millis(1) });
            let end = if word.ends_with('.') { End::Exit(0) } else { End::Signal(9) };
            left.facts.push(Fact::TurnEnded { message: id, at: Millis(2), end });
        }
    }
    left
}

fn heirs(memory: Memory, line: &[&str]) -> String {
    let line: Vec<Left> = line.iter().map(|messages| session(messages)).collect();
    let ids: Vec<String> = inherited(memory, &line).into_iter().map(|message| message.id).collect();
    ids.join(" ")
}

#[test]
fn who_goes_on_with_a_conversation_hears_what_was_not_handed_over() {
    assert_eq!(heirs(Memory::Resumed, &["brief! a! b"]), "b");
}

#[test]
fn who_begins_anew_hears_what_was_not_answered() {
    assert_eq!(heirs(Memory::New, &["brief. a. b! c"]), "b c");
    assert_eq!(heirs(Memory::New, &[]), "");
}

/// The word is in the inbox of the first alone: the second was to remember it, and did not.
#[test]
fn regression_what_was_said_in_a_conversation_that_is_lost_is_said_again() {
    assert_eq!(heirs(Memory::New, &["brief! b!", "brief! a! b"]), "a b");
    assert_eq!(heirs(Memory::New, &["brief!", "brief!", "brief. a!"]), "a");
}

#[test]
fn what_was_answered_from_memory_is_not_said_again() {
    assert_eq!(heirs(Memory::New, &["brief. b!", "brief! a!"]), "b");
}
