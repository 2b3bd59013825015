//! What the files of a session say: its phase, its turns, its end.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use windlass_adapters::files;
use windlass_adapters::shim::client;
use windlass_adapters::shim::{End, Fact, INBOX, Message, ShimError};
use windlass_core::phase::{self, Read};
use windlass_core::session::{Identity, Process, Role};
use windlass_core::task::{Crash, Event};
use windlass_core::verdict;
use windlass_store::UsageRow;

use crate::layout::Layout;
use crate::outside::Life;

/// A critic's report is small; what is longer is none.
const MAX_VERDICT: u64 = 1 << 20;

/// What a look at a session showed since the last look.
#[derive(Debug)]
pub struct Look {
    pub events: Vec<Event>,
    pub usage: Vec<UsageRow>,
    /// The identity with its reading marks moved on.
    pub identity: Identity,
    /// Messages that were handed to the agent, in all lives of the session.
    pub heard: BTreeSet<String>,
    /// Messages wait in the inbox.
    pub unheard: bool,
}

/// Whether the session's process lives, as its lock says.
pub fn look(layout: &Layout, identity: &Identity) -> Process {
    match client::alive(&layout.session(&identity.name)) {
        Ok(true) => Process::Alive,
        Ok(false) => Process::Gone,
        Err(_) => Process::NotLooked,
    }
}

/// Reads what is new.
pub fn read(layout: &Layout, identity: &Identity, life: Life) -> Result<Look, ShimError> {
    let gone = life == Life::Over;
    let folder = layout.session(&identity.name);
    let facts = all_facts(&folder)?;
    let heard = heard(&facts);
    let unheard = unheard(&folder, &heard)?;
    let mut look = Look { events: Vec::new(), usage: Vec::new(), identity: identity.clone(), heard, unheard };
    // The phase first: a turn that ended with a signal is not silence.
    if identity.role == Role::Dev {
        read_phase(layout, &mut look, gone || turn_is_over(&facts))?;
    }
    read_facts(&folder, &facts, &mut look)?;
    if identity.role == Role::Review && (gone || turn_is_over(&facts)) {
        read_verdict(layout, &mut look)?;
    }
    if gone {
        cut_off(&folder, &facts, &mut look)?;
    }
    Ok(look)
}

fn all_facts(folder: &Path) -> Result<Vec<Fact>, ShimError> {
    let (mut all, mut offset) = (Vec::new(), 0);
    loop {
        let (facts, next) = client::read_facts(folder, offset)?;
        all.extend(facts);
        if next == offset {
            return Ok(all);
        }
        offset = next;
    }
}

/// Each write of the file counts once, also over restarts: the mark is stored with the event.
fn read_phase(layout: &Layout, look: &mut Look, at_rest: bool) -> Result<(), ShimError> {
    let path = layout.phase(&look.identity.name);
    let Ok(found) = path.symlink_metadata() else { return Ok(()) };
    let mark = format!("{}.{:09}-{}-{}", found.mtime(), found.mtime_nsec(), found.size(), found.ino());
    if look.identity.phase_mark.as_ref() == Some(&mark) {
        return Ok(());
    }
    let session = look.identity.name.clone();
    let event = match files::read_head(&path, phase::MAX_BYTES as u64) {
        Ok(None) => return Ok(()),
        Ok(Some(bytes)) => match phase::read(&bytes) {
            // Being written at this moment: the end of the write wakes us again.
            Read::Empty => return Ok(()),
            Read::Signal(phase) => Event::PhaseSeen { session, phase },
            Read::Unknown { excerpt } => Event::PhaseUnknown { session, excerpt },
        },
        // A link, a pipe or a folder in its place is a signal that nobody understands.
        Err(error) => Event::PhaseUnknown { session, excerpt: error.to_string() },
    };
    // Half a signal is none: while the agent works it may still be writing.
    if matches!(event, Event::PhaseUnknown { .. }) && !at_rest {
        return Ok(());
    }
    look.identity.phase_mark = Some(mark);
    look.events.push(event);
    Ok(())
}

fn read_facts(folder: &Path, facts: &[Fact], look: &mut Look) -> Result<(), ShimError> {
    let read = usize::try_from(look.identity.facts_read).unwrap_or(usize::MAX).min(facts.len());
    let stopped = client::exit(folder)?.is_some_and(|exit| exit.stopped);
    for (at, fact) in facts.iter().enumerate().skip(read) {
        match fact {
            Fact::Started { pid, .. } => look.identity.pid = u32::try_from(*pid).ok(),
            Fact::TurnEnded { end, .. } => {
                look.usage.extend(usage(&look.identity, &facts[..=at]));
                if let End::Result(result) = end {
                    look.identity.session_id = result.session_id.clone().or(look.identity.session_id.take());
                }
                let event = turn_ended(&look.identity, end, stopped);
                // Who has heard the next word already, or is about to, has not fallen silent.
                let goes_on =
                    look.unheard || facts[at..].iter().any(|fact| matches!(fact, Fact::Delivered { .. }));
                let silent = !(goes_on && matches!(event, Event::TurnEnded { .. }));
                if look.identity.role == Role::Dev && silent {
                    look.events.push(event);
                }
            }
            Fact::Delivered { .. } | Fact::Exited(_) => {}
        }
    }
    look.identity.facts_read = facts.len() as u64;
    Ok(())
}

fn turn_ended(identity: &Identity, end: &End, stopped: bool) -> Event {
    let session = identity.name.clone();
    let crash = match end {
        End::Exit(0) => None,
        End::Result(result) if !result.is_error => None,
        End::Exit(_) | End::Signal(_) | End::Result(_) if stopped => Some(Crash::Stopped),
        End::Exit(code) => Some(Crash::Exited { code: *code }),
        End::Signal(signal) => Some(Crash::Killed { signal: *signal }),
        End::Result(_) => Some(Crash::Provider { what: "the turn ended with an error".into() }),
    };
    match crash {
        None => Event::TurnEnded { session },
        Some(how) => Event::AgentCrashed { session, how },
    }
}

/// The process has ended in the middle of a turn and nobody wrote down how.
fn cut_off(folder: &Path, facts: &[Fact], look: &mut Look) -> Result<(), ShimError> {
    if look.identity.role != Role::Dev || !turn_is_open(facts) {
        return Ok(());
    }
    let stopped = client::exit(folder)?.is_some_and(|exit| exit.stopped);
    let how = if stopped { Crash::Stopped } else { Crash::Vanished };
    look.events.push(Event::AgentCrashed { session: look.identity.name.clone(), how });
    Ok(())
}

fn read_verdict(layout: &Layout, look: &mut Look) -> Result<(), ShimError> {
    let Some(head) = look.identity.head.clone() else { return Ok(()) };
    let text = match files::read_head(&layout.verdict(&look.identity.name), MAX_VERDICT) {
        Ok(bytes) => String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned(),
        Err(error) => {
            look.events.push(Event::NoVerdict { head, why: error.to_string() });
            return Ok(());
        }
    };
    look.events.push(match verdict::read(&text, &head) {
        Ok(report) => Event::VerdictGiven { report },
        Err(error) => Event::NoVerdict { head, why: error.to_string() },
    });
    Ok(())
}

fn turn_is_open(facts: &[Fact]) -> bool {
    let count = |wanted: fn(&Fact) -> bool| facts.iter().filter(|fact| wanted(fact)).count();
    count(|fact| matches!(fact, Fact::Delivered { .. }))
        > count(|fact| matches!(fact, Fact::TurnEnded { .. }))
}

fn turn_is_over(facts: &[Fact]) -> bool {
    facts.iter().any(|fact| matches!(fact, Fact::TurnEnded { .. })) && !turn_is_open(facts)
}

fn heard(facts: &[Fact]) -> BTreeSet<String> {
    let delivered = facts.iter().filter_map(|fact| match fact {
        Fact::Delivered { message, .. } => Some(message.clone()),
        Fact::Started { .. } | Fact::TurnEnded { .. } | Fact::Exited(_) => None,
    });
    delivered.collect()
}

fn unheard(folder: &Path, heard: &BTreeSet<String>) -> Result<bool, ShimError> {
    let path = folder.join(INBOX);
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(false),
        Err(source) => return Err(ShimError::Io { path, source }),
    };
    let messages = text.lines().filter_map(|line| serde_json::from_str::<Message>(line).ok());
    Ok(messages.into_iter().any(|message| !heard.contains(&message.id)))
}

/// What the last of these turns used. Programs say the cost from their start, so the turn before is taken off.
fn usage(identity: &Identity, facts: &[Fact]) -> Option<UsageRow> {
    let mut results = facts.iter().rev().filter_map(|fact| match fact {
        Fact::TurnEnded { end: End::Result(result), at, .. } => Some((result, *at)),
        _ => None,
    });
    let (last, at) = match facts.last() {
        Some(Fact::TurnEnded { end: End::Result(_), .. }) => results.next()?,
        _ => return None,
    };
    let before = results.next().and_then(|(result, _)| result.total_cost_usd).unwrap_or(0.0);
    let cost = (last.total_cost_usd? - before).max(0.0);
    let count = |key: &str| last.usage.as_ref().and_then(|usage| usage[key].as_u64()).unwrap_or(0);
    Some(UsageRow {
        session: identity.name.clone(),
        task: identity.task.clone(),
        issue: identity.issue,
        at,
        input: count("input_tokens"),
        cache_write: count("cache_creation_input_tokens"),
        cache_read: count("cache_read_input_tokens"),
        output: count("output_tokens"),
        model: String::new(),
        cost_micro_usd: micro(cost),
    })
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped before")]
fn micro(usd: f64) -> u64 {
    (usd * 1e6).round().clamp(0.0, 1e15) as u64
}
