//! What a group of writes is about, as crash points name it: the facts that it writes down.

use windlass_core::crash::Mark;
use windlass_core::journal::{Entry, Fact, FactoryFact};

use super::{Job, Work};
use crate::write::{Op, Write};

pub(super) fn of(jobs: &[Job]) -> Vec<Mark> {
    let mut marks = Vec::new();
    for job in jobs {
        match &job.work {
            Work::Commit(write) => facts(write, &mut marks),
            Work::Post { .. } => marks.push(Mark { what: "command".into(), key: String::new() }),
        }
    }
    marks
}

/// A step of a task is told from its others by the version of the task that it made.
fn facts(write: &Write, marks: &mut Vec<Mark>) {
    let mut version = 0;
    // A step is logged just before the task is saved, and its move just after.
    let mut saved = write.ops.iter().filter_map(|op| match op {
        Op::SaveTask { expected, .. } => Some(expected + 1),
        _ => None,
    });
    for op in write.ops.iter() {
        if let Op::Log(entry) = op {
            if matches!(entry.fact, Fact::Task(_)) {
                version = saved.next().unwrap_or(version);
            }
            marks.push(mark(entry, version));
        }
        if let Op::Intend { key, effect, .. } = op {
            marks.push(Mark { what: format!("intend {}", effect.name()), key: key.to_string() });
        }
    }
    if marks.is_empty() {
        marks.extend(write.ops.iter().filter_map(silent));
    }
}

/// What is written without a word in the log.
fn silent(op: &Op) -> Option<Mark> {
    let (what, key) = match op {
        Op::SetControl { key, .. } => (format!("control {key}"), String::new()),
        Op::SaveIdentity(identity) => ("identity".to_owned(), identity.name.to_string()),
        Op::SaveBuild(build) => ("build".to_owned(), build.id.to_string()),
        _ => return None,
    };
    Some(Mark { what, key })
}

fn mark(entry: &Entry, version: u64) -> Mark {
    let task = entry.task.as_ref().map_or_else(String::new, ToString::to_string);
    let kind = entry.fact.kind();
    match &entry.fact {
        Fact::Factory(FactoryFact::TaskMoved { to, .. }) => {
            Mark { what: format!("moved {to}"), key: format!("{task}@{version}") }
        }
        Fact::Factory(FactoryFact::EffectDone { key, effect, .. }) => {
            Mark { what: format!("done {effect}"), key: key.to_string() }
        }
        Fact::Factory(FactoryFact::BuildEnded { build, .. }) => {
            Mark { what: kind.to_owned(), key: build.to_string() }
        }
        Fact::Task(_) => Mark { what: kind.to_owned(), key: format!("{task}@{version}") },
        Fact::Factory(_) => Mark { what: kind.to_owned(), key: task },
    }
}
