//! Queues, runs and plans in a few letters.

use std::collections::BTreeSet;

use windlass_core::id::{Sha, TaskId};
use windlass_core::queue::rate::Rate;
use windlass_core::queue::{
    Act, Change, Entry, Flakes, History, Link, MainIs, Policy, Run, RunState, Stand, Verdict, View, plan,
};
use windlass_core::time::Millis;

pub fn sha(text: &str) -> Sha {
    let hex: String = text.bytes().map(|byte| format!("{byte:02x}")).collect();
    Sha::parse(&format!("{hex:0<40}")).expect("forty digits")
}

pub fn change(name: &str) -> Change {
    Change { task: TaskId::stored(name), head: sha(name) }
}

pub fn view(policy: Policy, slots: usize, names: &str) -> View {
    let entry = |(at, name): (usize, &str)| Entry {
        change: change(name),
        since: Millis(i64::try_from(at).expect("a short queue")),
        passed: 0,
        stand: Stand::Free,
    };
    View {
        policy,
        main: sha("main"),
        main_is: MainIs::Green,
        entries: names.split_whitespace().enumerate().map(entry).collect(),
        runs: Vec::new(),
        landed: BTreeSet::new(),
        flaky: Flakes::default(),
        rate: Rate::default(),
        slots,
        paused: None,
        landing: false,
    }
}

pub fn run(base: &str, names: &str, state: RunState) -> Run {
    let mut path = base.to_owned();
    let links = names.split_whitespace().map(|name| {
        path = format!("{path}{name}");
        Link { change: change(name), candidate: sha(&path), tree: sha(&path), history: History::Merge }
    });
    Run { base: sha(base), links: links.collect(), state }
}

pub fn red(failing: &str) -> RunState {
    RunState::Red { failing: failing.split_whitespace().map(str::to_owned).collect(), log: "log".into() }
}

pub fn broke() -> RunState {
    RunState::Broke { why: "no disk".into() }
}

/// The plan in words: `test a b`, `again a`, `land a`, `eject a`.
pub fn words(view: &View) -> Vec<String> {
    let names = |changes: &mut dyn Iterator<Item = &Change>| -> String {
        changes.map(|change| change.task.as_str()).collect::<Vec<_>>().join(" ")
    };
    let word = |act: Act| match act {
        Act::Test { changes, verdict: Verdict::Known } => format!("test {}", names(&mut changes.iter())),
        Act::Test { changes, verdict: Verdict::Again } => format!("again {}", names(&mut changes.iter())),
        Act::Cancel { run } => format!("cancel {}", names(&mut run.links.iter().map(|link| &link.change))),
        Act::Land { links } => format!("land {}", names(&mut links.iter().map(|link| &link.change))),
        Act::Return { change, .. } => format!("return {}", change.task),
        Act::Eject { change, .. } => format!("eject {}", change.task),
        Act::Settle { change } => format!("settle {}", change.task),
        Act::Pause { reason } => format!("pause: {reason}"),
    };
    plan(view).into_iter().map(word).collect()
}
