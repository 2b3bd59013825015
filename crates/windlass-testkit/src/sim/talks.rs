//! Conversations as agent programs keep them in a session's home: taken up again by a later life or by a successor, and
//! now and then lost. And what people said in them.

use std::collections::{BTreeMap, BTreeSet};

use windlass_adapters::shim::{End, Fact, Failure, Message, TurnResult};
use windlass_core::id::{IssueNumber, SessionId, TaskId};
use windlass_core::message;
use windlass_core::money::micro_usd;
use windlass_core::session::Role;

use super::plan::Mishap;
use super::probe::sometimes;
use super::rules::Rule;
use super::session::Session;
use super::world::World;

/// The truth about all conversations.
#[derive(Debug, Default)]
pub struct Talks {
    all: BTreeMap<String, Talk>,
    /// Sessions that have a home.
    pub homes: BTreeSet<SessionId>,
    /// How often a conversation of the issue was taken up again.
    again: BTreeMap<IssueNumber, u32>,
    /// What was really used.
    pub used_micro_usd: BTreeMap<IssueNumber, u64>,
    /// What people said, by the ids of the messages.
    told: BTreeMap<String, Told>,
}

#[derive(Debug)]
struct Talk {
    home: SessionId,
    usd: f64,
    lost: bool,
}

#[derive(Debug)]
struct Told {
    task: TaskId,
    /// The last conversation in which it was handed over.
    heard_in: Option<String>,
    answered: bool,
}

impl Talks {
    /// The home of one session is now that of another.
    pub fn move_home(&mut self, from: &SessionId, to: &SessionId) {
        self.homes.remove(from);
        self.homes.insert(to.clone());
        for talk in self.all.values_mut().filter(|talk| talk.home == *from) {
            talk.home = to.clone();
        }
    }

    fn is_lost(&self, conversation: &str) -> bool {
        self.all.get(conversation).is_some_and(|talk| talk.lost)
    }

    /// A message lies in an inbox of the task.
    pub fn said(&mut self, task: &TaskId, message: &Message) {
        if message::is_told(&message.text) {
            let told = Told { task: task.clone(), heard_in: None, answered: false };
            self.told.entry(message.id.clone()).or_insert(told);
        }
    }

    /// The program has it; one that knows nothing of the conversation does not.
    pub fn handed_over(&mut self, conversation: &str, message: &str) {
        let lost = self.is_lost(conversation);
        if let Some(told) = self.told.get_mut(message).filter(|_| !lost) {
            told.heard_in = Some(conversation.to_owned());
        }
    }

    /// A turn ended well: all that was said in the conversation is answered.
    pub fn answered(&mut self, conversation: &str) {
        for told in self.told.values_mut() {
            told.answered |= told.heard_in.as_deref() == Some(conversation);
        }
    }
}

impl World {
    /// The program starts, and begins its conversation or takes it up. Says whether it knows of it.
    pub fn take_up(&mut self, name: &SessionId) -> Knows {
        let session = &self.sessions[name];
        let (issue, conversation) = (session.issue, session.conversation.clone());
        let handed_over = session.facts.iter().any(|fact| matches!(fact, Fact::Delivered { .. }));
        if !session.resumed && !handed_over {
            let talk = Talk { home: name.clone(), usd: 0.0, lost: false };
            self.talks.all.insert(conversation, talk);
            return Knows::It;
        }
        let again = self.talks.again.entry(issue).or_default();
        *again += 1;
        let nth = *again;
        let forgotten = self.mishap(|mishap| match mishap {
            Mishap::Forgotten { issue: planned, nth: at } if (*planned, *at) == (issue, nth) => Some(()),
            _ => None,
        });
        // One that was never begun, or lies in another home, is as good as lost.
        let talk =
            self.talks.all.entry(conversation).or_insert(Talk { home: name.clone(), usd: 0.0, lost: true });
        talk.lost |= forgotten.is_some() || talk.home != *name;
        if talk.lost {
            sometimes!(self, "a conversation was lost");
            return Knows::Nothing;
        }
        if self.sessions[name].resumed {
            sometimes!(self, "a successor went on with a conversation");
        }
        Knows::It
    }

    /// What a program says that is to go on with a conversation that it does not know.
    pub fn knows_nothing(&self, name: &SessionId) -> End {
        let text = format!("No conversation found with session ID: {}", self.sessions[name].conversation);
        let failure = Some(Failure { status: None, kind: "error".into(), text });
        End::Result(TurnResult { is_error: true, failure, ..TurnResult::default() })
    }

    /// How a turn ends that used some money. The cost is said for the whole conversation.
    pub fn result(&mut self, name: &SessionId, usd: f64) -> End {
        let session = &self.sessions[name];
        *self.talks.used_micro_usd.entry(session.issue).or_default() += micro_usd(usd);
        let conversation = session.conversation.clone();
        let talk = self.talks.all.get_mut(&conversation).expect("it was taken up");
        talk.usd += usd;
        End::Result(TurnResult {
            is_error: false,
            usage: None,
            total_cost_usd: Some(talk.usd),
            session_id: Some(conversation),
            ..TurnResult::default()
        })
    }

    /// Who begins anew has what people said and nobody has answered in its inbox; who goes on remembers it.
    pub fn check_inherited(&mut self, name: &SessionId) {
        let Session { role, task, conversation, inbox, .. } = &self.sessions[name];
        if *role == Role::Review {
            return;
        }
        let has = |id: &String, told: &Told| {
            let remembers = told.heard_in.as_ref() == Some(conversation) && !self.talks.is_lost(conversation);
            remembers || inbox.iter().any(|message| message.id == *id)
        };
        let mut open = self.talks.told.iter().filter(|(_, told)| told.task == *task && !told.answered);
        if let Some((id, _)) = open.find(|(id, told)| !has(id, told)) {
            let what = format!("{name} does not hear what a person said under {id}");
            self.complain(Rule::Heard, what);
        }
    }
}

/// What a program knows of the conversation that it is to go on with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Knows {
    It,
    Nothing,
}
