//! What the papers of a session say: its phase, its turns, its end.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use windlass_adapters::agent::{self, HookMeaning, Seen};
use windlass_adapters::shim::client;
use windlass_adapters::shim::{End, Fact, Failure, TurnResult};
use windlass_core::id::{SessionId, Sha};
use windlass_core::money::micro_usd;
use windlass_core::phase::{self, Read};
use windlass_core::session::{Identity, Process, Role};
use windlass_core::task::{Crash, Event, Trouble};
use windlass_core::time::Millis;
use windlass_core::{text, verdict};
use windlass_store::UsageRow;

use crate::layout::Layout;
use crate::outside::Life;
use crate::papers::Papers;

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
    /// The hooks of its program that fired, as its log tells them: each name with a detail.
    pub hooks: Vec<(String, String)>,
    /// Its program is about to shorten the conversation.
    pub compacts: bool,
}

/// Whether the session's process lives, as its lock says.
pub fn look(layout: &Layout, identity: &Identity) -> Process {
    match client::alive(&layout.session(&identity.name)) {
        Ok(true) => Process::Alive,
        Ok(false) => Process::Gone,
        Err(_) => Process::NotLooked,
    }
}

/// What the papers say that was not read before.
pub fn digest(papers: &Papers, identity: &Identity, life: Life) -> Look {
    let heard = heard(&papers.facts);
    let unheard = papers.inbox.iter().any(|message| !heard.contains(message));
    let mut look = Look {
        events: Vec::new(),
        usage: Vec::new(),
        identity: identity.clone(),
        heard,
        unheard,
        hooks: Vec::new(),
        compacts: false,
    };
    watch(papers, &mut look);
    let at_rest = life == Life::Over || turn_is_over(&papers.facts);
    // The phase first: a turn that ended with a signal is not silence.
    if identity.role == Role::Dev {
        read_phase(papers, &mut look, at_rest);
    }
    read_facts(papers, &mut look);
    if identity.role == Role::Review && at_rest {
        read_verdict(papers, &mut look);
    }
    if life == Life::Over {
        cut_off(papers, &mut look);
    }
    look
}

/// What the session does, from its tools, its figures and its hooks.
fn watch(papers: &Papers, look: &mut Look) {
    let identity = &mut look.identity;
    for seen in &papers.seen.0 {
        match seen {
            Seen::Tool { name, target, act } => {
                let target = target.as_deref().map(|target| in_workspace(&identity.worktree_path, target));
                identity.activity.saw(*act, name, target);
            }
            Seen::Context(tokens) => identity.context.tokens = *tokens,
            Seen::Window(tokens) => identity.context.window = Some(*tokens),
            Seen::Said(_) | Seen::Usage(_) | Seen::TurnResult { .. } | Seen::ProviderSession(_) => {}
        }
    }
    identity.transcript_read = identity.transcript_read.max(papers.seen.1);
    for note in &papers.hooks.0 {
        match note.means() {
            HookMeaning::Compacts => look.compacts = true,
            HookMeaning::Asks => identity.context.pace.asked(note.at),
            HookMeaning::Rests => identity.context.pace.answered(note.at),
            HookMeaning::Tool { since } => {
                if let Some(since) = since {
                    identity.context.pace.answered(since);
                }
                identity.context.pace.asked(note.at);
                // One line for every tool would drown the log; the transcript has them.
                continue;
            }
            HookMeaning::Other => {}
        }
        look.hooks.push((note.hook.clone(), note.detail.clone()));
    }
    identity.hooks_read = identity.hooks_read.max(papers.hooks.1);
}

/// Files are named as git names them.
fn in_workspace<'a>(workspace: &str, target: &'a str) -> &'a str {
    target.strip_prefix(workspace).map_or(target, |rest| rest.trim_start_matches('/'))
}

/// Each write of the file counts once, also over restarts: the mark is stored with the event.
fn read_phase(papers: &Papers, look: &mut Look, at_rest: bool) {
    let Some(signal) = &papers.phase else { return };
    if look.identity.phase_mark.as_ref() == Some(&signal.mark) {
        return;
    }
    let session = look.identity.name.clone();
    let event = match &signal.text {
        Ok(None) => return,
        Ok(Some(bytes)) => match phase::read(bytes) {
            // Being written at this moment: the end of the write wakes us again.
            Read::Empty => return,
            Read::Signal(phase) => Event::PhaseSeen { session, phase },
            Read::Unknown { excerpt } => Event::PhaseUnknown { session, excerpt },
        },
        // A link, a pipe or a folder in its place is a signal that nobody understands.
        Err(error) => Event::PhaseUnknown { session, excerpt: error.clone() },
    };
    // Half a signal is none: while the agent works it may still be writing.
    if matches!(event, Event::PhaseUnknown { .. }) && !at_rest {
        return;
    }
    look.identity.phase_mark = Some(signal.mark.clone());
    look.events.push(event);
}

fn read_facts(papers: &Papers, look: &mut Look) {
    let facts = &papers.facts;
    let read = usize::try_from(look.identity.facts_read).unwrap_or(usize::MAX).min(facts.len());
    for (at, fact) in facts.iter().enumerate().skip(read) {
        match fact {
            Fact::Started { pid, .. } => look.identity.pid = u32::try_from(*pid).ok(),
            Fact::TurnEnded { end, at: ended, .. } => {
                if let End::Result(result) = end {
                    look.usage.extend(usage(&mut look.identity, result, *ended));
                    look.identity.session_id = match agent::trouble(result) {
                        Some(agent::Trouble::ConversationLost) => None,
                        Some(_) | None => result.session_id.clone().or(look.identity.session_id.take()),
                    };
                }
                let event = turn_ended(&look.identity, end, *ended, papers.stopped);
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
}

fn turn_ended(identity: &Identity, end: &End, at: Millis, stopped: bool) -> Event {
    let session = identity.name.clone();
    let how = match end {
        end if end.is_good() => return Event::TurnEnded { session },
        End::Exit(_) | End::Signal(_) | End::Result(_) if stopped => Crash::Stopped,
        End::Exit(code) => Crash::Exited { code: *code },
        End::Signal(signal) => Crash::Killed { signal: *signal },
        End::Result(result) => return turn_failed(session, result, at),
    };
    Event::AgentCrashed { session, how }
}

/// The agent has ended its turn with an error, and lives: what now depends on whose fault it is.
fn turn_failed(session: SessionId, result: &TurnResult, at: Millis) -> Event {
    let what = result.failure.as_ref().map_or_else(|| "the turn ended with an error".into(), failure);
    let crashed = |how| Event::AgentCrashed { session: session.clone(), how };
    match agent::trouble(result) {
        None | Some(agent::Trouble::TurnsSpent) => Event::TurnEnded { session },
        Some(agent::Trouble::Limit { until: Some(until) }) if until > at => {
            Event::LimitHit { session, until, what }
        }
        Some(agent::Trouble::Limit { .. } | agent::Trouble::Passing) => {
            Event::ProviderFailed { session, trouble: Trouble::Passing, what }
        }
        Some(agent::Trouble::NeedsPerson) => {
            Event::ProviderFailed { session, trouble: Trouble::NeedsPerson, what }
        }
        Some(agent::Trouble::ContextFull) => crashed(Crash::ContextFull),
        Some(agent::Trouble::ConversationLost) => crashed(Crash::ConversationLost),
        Some(agent::Trouble::Unknown) => crashed(Crash::Provider { what }),
    }
}

fn failure(failure: &Failure) -> String {
    if failure.text.is_empty() { failure.kind.clone() } else { text::one_line(&failure.text, 300) }
}

/// The process has ended in the middle of a turn and nobody wrote down how.
fn cut_off(papers: &Papers, look: &mut Look) {
    if look.identity.role != Role::Dev || !turn_is_open(&papers.facts) {
        return;
    }
    let how = if papers.stopped { Crash::Stopped } else { Crash::Vanished };
    look.events.push(Event::AgentCrashed { session: look.identity.name.clone(), how });
}

fn read_verdict(papers: &Papers, look: &mut Look) {
    let (Some(head), Some(report)) = (look.identity.head.clone(), &papers.verdict) else { return };
    let read = report
        .as_ref()
        .map_err(Clone::clone)
        .and_then(|text| verdict::read(text, &head).map_err(|error| error.to_string()));
    look.events.push(match read {
        Ok(report) => Event::VerdictGiven { report },
        Err(_) if papers.stopped => {
            let what = "the critic was stopped with the factory".to_owned();
            Event::CriticFailed { head, trouble: Trouble::Passing, until: None, what }
        }
        Err(why) => without_verdict(&papers.facts, head, why),
    });
}

/// What went wrong with the last turn explains more than what is missing because of it.
fn without_verdict(facts: &[Fact], head: Sha, why: String) -> Event {
    let last = facts.iter().rev().find_map(|fact| match fact {
        Fact::TurnEnded { end: End::Result(result), at, .. } => Some((result, *at)),
        Fact::TurnEnded { .. } | Fact::Started { .. } | Fact::Delivered { .. } | Fact::Exited(_) => None,
    });
    let Some((result, at)) = last else { return Event::NoVerdict { head, why } };
    let what = result.failure.as_ref().map_or(why, failure);
    let (trouble, until) = match agent::trouble(result) {
        Some(agent::Trouble::Limit { until }) => (Trouble::Passing, until.filter(|until| *until > at)),
        Some(agent::Trouble::Passing) => (Trouble::Passing, None),
        Some(agent::Trouble::NeedsPerson) => (Trouble::NeedsPerson, None),
        Some(
            agent::Trouble::ContextFull
            | agent::Trouble::ConversationLost
            | agent::Trouble::TurnsSpent
            | agent::Trouble::Unknown,
        )
        | None => return Event::NoVerdict { head, why: what },
    };
    Event::CriticFailed { head, trouble, until, what }
}

/// Only the last message can still be worked on: an end that was never written down was lost with its shim.
fn turn_is_open(facts: &[Fact]) -> bool {
    let last = facts.iter().rposition(|fact| matches!(fact, Fact::Delivered { .. }));
    let Some(at) = last else { return false };
    let Fact::Delivered { message: last, .. } = &facts[at] else { return false };
    !facts[at..].iter().any(|fact| matches!(fact, Fact::TurnEnded { message, .. } if message == last))
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

/// What a turn used. The cost is said for the whole conversation, so what was seen before is taken off; one that is
/// lower than before was counted from a new start. Who does not know its cost still says its tokens.
fn usage(identity: &mut Identity, result: &TurnResult, at: Millis) -> Option<UsageRow> {
    let count = |key: &str| result.usage.as_ref().and_then(|usage| usage[key].as_u64()).unwrap_or(0);
    let cost_micro_usd = match result.total_cost_usd.map(micro_usd) {
        Some(total) => {
            let before = std::mem::replace(&mut identity.cost_seen_micro_usd, total);
            total.checked_sub(before).unwrap_or(total)
        }
        None if count("input_tokens") + count("cache_read_input_tokens") + count("output_tokens") == 0 => {
            return None;
        }
        None => 0,
    };
    Some(UsageRow {
        session: identity.name.clone(),
        task: identity.task.clone(),
        issue: identity.issue,
        at,
        input: count("input_tokens"),
        cache_write: count("cache_creation_input_tokens"),
        cache_read: count("cache_read_input_tokens"),
        output: count("output_tokens"),
        model: result.model.clone().unwrap_or_default(),
        cost_micro_usd,
    })
}
