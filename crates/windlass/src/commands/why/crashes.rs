//! Sessions that were lost in the middle of their turn, and who went on after them.

use windlass_core::id::IssueNumber;
use windlass_core::journal::Fact;
use windlass_core::task::{Crash, Event, Task};
use windlass_core::text::one_line;
use windlass_store::{EventQuery, Store};

use crate::error::CliError;
use crate::text::clock;
use crate::view::{CrashView, Stamp};

const CRASHES: usize = 4;

/// Newest first.
pub fn of(store: &dyn Store, issue: IssueNumber, task: Option<&Task>) -> Result<Vec<CrashView>, CliError> {
    let query = EventQuery {
        issue: Some(issue),
        kinds: vec!["agent_crashed".into()],
        limit: Some(CRASHES),
        newest_first: true,
        ..EventQuery::default()
    };
    let sessions = task.map_or(Ok(Vec::new()), |task| store.identities_of(&task.id))?;
    let mut crashes = Vec::new();
    for event in store.events(&query)? {
        let Fact::Task(Event::AgentCrashed { session, how }) = &event.entry.fact else { continue };
        let successor = sessions.iter().find(|other| other.predecessor_id.as_ref() == Some(session));
        crashes.push(CrashView {
            at: Stamp(event.entry.at),
            session: session.to_string(),
            how: words(how),
            successor: successor.map(|other| other.name.to_string()),
        });
    }
    Ok(crashes)
}

pub fn line(crash: &CrashView) -> String {
    let then = match &crash.successor {
        Some(successor) => format!("{successor} went on"),
        None => "nobody has gone on yet".into(),
    };
    format!("{}  {} {}; {then}", clock(crash.at.0), crash.session, crash.how)
}

fn words(how: &Crash) -> String {
    match how {
        Crash::Exited { code } => format!("ended with code {code} in the middle of its turn"),
        Crash::Killed { signal } => format!("was killed by signal {signal}"),
        Crash::Vanished => "vanished without a trace".into(),
        Crash::Stopped => "was stopped with the factory".into(),
        Crash::Silent => "gave no sign of life for too long".into(),
        Crash::ConversationLost => "could not resume its conversation".into(),
        Crash::ContextFull => "came to the end of its context".into(),
        Crash::Provider { what } => format!("was let down by its provider: {}", one_line(what, 100)),
    }
}
