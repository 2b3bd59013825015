//! docs/transitions.md is written from the rules themselves: every state, every event.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

use std::collections::BTreeSet;
use std::fmt::Write as _;

use windlass_core::policy::Policy;
use windlass_core::task::{Effect, State, Task, step};
use windlass_core::time::Millis;
use windlass_testkit::samples::{
    EVENT_KINDS, STATE_KINDS, event_name, events, kind_number, state_name, tasks,
};

#[test]
fn the_samples_miss_no_event_and_no_state() {
    let kinds: BTreeSet<usize> = events().iter().map(kind_number).collect();
    assert_eq!(kinds.len(), EVENT_KINDS);
    let states: BTreeSet<&str> = tasks().iter().map(|task| task.state.name()).collect();
    assert_eq!(states.len(), STATE_KINDS);
}

#[test]
fn the_table_of_transitions_equals_the_rules() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/transitions.md");
    let table = table();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(path, &table).unwrap();
    }
    let written = std::fs::read_to_string(path).unwrap_or_default();
    assert!(written == table, "docs/transitions.md is old; write it anew with UPDATE_DOCS=1");
}

/// Ended tasks change only by a proof of a merge or a person's retry, and every live state can be left.
#[test]
fn every_live_state_has_a_way_out_and_ended_ones_stay() {
    let policy = Policy::default();
    for task in tasks() {
        let mut next = BTreeSet::new();
        for event in events() {
            if let Ok(step) = step(&policy, &task, Millis(1), &event)
                && step.task.state.name() != task.state.name()
            {
                next.insert(step.task.state.name());
            }
        }
        match &task.state {
            State::Merged { .. } => assert!(next.is_empty(), "{next:?}"),
            State::Closed { .. } => assert_eq!(next, BTreeSet::from(["MERGED"])),
            State::Abandoned { .. } => assert_eq!(next, BTreeSet::from(["AWAITING_SLOT", "MERGED"])),
            _ => assert!(
                next.contains("ABANDONED") && next.contains("MERGED"),
                "{} {next:?}",
                task.state.name()
            ),
        }
    }
}

fn table() -> String {
    let mut text = String::from(
        "# Transitions\n\nEvery state and every event, written by a test from the rules in `windlass-core` \
         (`UPDATE_DOCS=1 cargo test -p windlass-testkit`).\nAn event that is not named under a state changes \
         nothing there. `=` means that the state stays.\n",
    );
    for task in tasks() {
        write!(text, "\n## {}\n\n{}\n\n", state_name(&task.state), traits(&task.state)).unwrap();
        text.push_str("| event | next state | orders |\n|---|---|---|\n");
        let mut stale = Vec::new();
        for event in events() {
            match step(&Policy::default(), &task, Millis(1), &event) {
                Ok(step) => {
                    let (next, orders) = (next(&task, &step.task), orders(&step.effects));
                    writeln!(text, "| {} | {next} | {orders} |", event_name(&event)).unwrap();
                }
                Err(_) => stale.push(event_name(&event)),
            }
        }
        writeln!(text, "\nStale: {}.", stale.join(", ")).unwrap();
    }
    text
}

fn traits(state: &State) -> &'static str {
    match (state.is_terminal(), state.holds_slot()) {
        (true, _) => "Ended.",
        (false, true) => "Holds a slot, can go stale.",
        (false, false) => "Holds no slot, silent by design.",
    }
}

fn next(before: &Task, after: &Task) -> String {
    match &after.state {
        State::Abandoned { reason } if before.state != after.state => {
            format!("ABANDONED ({})", reason.word())
        }
        state if state.name() == before.state.name() => "=".to_owned(),
        state => state.name().to_owned(),
    }
}

fn orders(effects: &[Effect]) -> String {
    let names: Vec<&str> = effects.iter().map(Effect::name).collect();
    if names.is_empty() { "-".to_owned() } else { names.join(", ") }
}
