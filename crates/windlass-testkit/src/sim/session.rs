//! Sessions as their shims keep them: an inbox, facts, a life that outlives the daemon.

use windlass_adapters::shim::{End, Exit, Fact, Message};
use windlass_core::brief::Memory;
use windlass_core::id::{IssueNumber, SessionId, Sha, TaskId};
use windlass_core::session::Role;
use windlass_core::task::Task;
use windlass_engine::{Cause, Papers, Signal};

use super::perform::Taken;
use super::plan::{ReviewKind, SECOND, Tick, TurnKind};
use super::probe::sometimes;
use super::talks::Knows;
use super::world::{DaemonId, Happening, World};

#[derive(Debug)]
pub struct Session {
    pub role: Role,
    pub task: TaskId,
    pub issue: IssueNumber,
    /// The head that a critic reads.
    pub head: Option<Sha>,
    pub started_by: DaemonId,
    /// The name of its conversation, and whether that is a predecessor's.
    pub conversation: String,
    pub resumed: bool,
    /// The life in which its program was last started.
    begun_in: u32,
    knows: Knows,
    pub inbox: Vec<Message>,
    pub facts: Vec<Fact>,
    /// When the last fact was written.
    pub news_at: Tick,
    /// How often the phase file was written, and what it says.
    pub phase: Option<(u32, String)>,
    pub verdict: Option<String>,
    pub alive: bool,
    pub stopped: bool,
    /// Its exit is written down; only another word starts it again.
    pub ended: bool,
    /// Void what was to happen in an earlier life.
    pub life: u32,
    /// Since when it does nothing, though it lives.
    pub quiet_since: Option<Tick>,
    /// Who is told of its end, and who of its files.
    pub waiter: Option<DaemonId>,
    pub watcher: Option<DaemonId>,
    /// The message that it works on.
    pub turn: Option<String>,
}

/// What comes next in a session's life.
#[derive(Debug, Clone, Copy)]
pub enum SessionStep {
    /// Looks into the inbox.
    Next,
    Work(TurnKind),
    Signal(TurnKind),
    EndTurn(TurnKind),
    Judge(ReviewKind),
    EndReview(ReviewKind),
    /// Finds nothing to go on with.
    KnowNothing,
    Exit,
}

impl Session {
    pub fn new(role: Role, task: &Task, head: Option<Sha>, by: DaemonId, taken: &Taken) -> Self {
        Self {
            role,
            task: task.id.clone(),
            issue: task.issue,
            head,
            started_by: by,
            conversation: taken.known.id.clone(),
            resumed: taken.memory == Memory::Resumed,
            begun_in: 0,
            knows: Knows::It,
            inbox: Vec::new(),
            facts: Vec::new(),
            news_at: 0,
            phase: None,
            verdict: None,
            alive: false,
            stopped: false,
            ended: false,
            life: 0,
            quiet_since: None,
            waiter: None,
            watcher: None,
            turn: None,
        }
    }

    /// What lies in its folder.
    pub fn papers(&self) -> Papers {
        let signal = |(mark, text): &(u32, String)| Signal {
            mark: format!("write {mark}"),
            text: Ok(Some(text.clone().into_bytes())),
        };
        Papers {
            facts: self.facts.clone(),
            inbox: self.inbox.iter().map(|message| message.id.clone()).collect(),
            stopped: self.stopped,
            seen: Default::default(),
            hooks: Default::default(),
            phase: self.phase.as_ref().map(signal),
            verdict: match self.role {
                Role::Dev => None,
                Role::Review => Some(Ok(self.verdict.clone().unwrap_or_default())),
            },
        }
    }

    fn next_message(&self) -> Option<&Message> {
        let delivered = |id: &str| {
            self.facts.iter().any(|fact| matches!(fact, Fact::Delivered { message, .. } if message == id))
        };
        self.inbox.iter().find(|message| !delivered(&message.id))
    }

    /// Puts a message into the inbox; the same id is there once.
    pub fn say(&mut self, message: Message) {
        if !self.inbox.iter().any(|known| known.id == message.id) {
            self.inbox.push(message);
        }
    }
}

impl World {
    /// Starts the shim, unless it runs.
    pub fn spawn(&mut self, name: &SessionId) {
        let wait = self.between(name.as_str(), 1, 50, 2 * SECOND);
        let Some(session) = self.sessions.get_mut(name) else { return };
        if session.alive {
            return;
        }
        session.alive = true;
        session.stopped = false;
        session.ended = false;
        session.quiet_since = None;
        session.life += 1;
        let life = session.life;
        self.after(wait, Happening::Session { name: name.clone(), life, step: SessionStep::Next });
        self.one_session_only(name);
    }

    /// Ends every process of the session.
    pub fn stop_session(&mut self, name: &SessionId) {
        let at = self.wall();
        let Some(session) = self.sessions.get_mut(name) else { return };
        if !session.alive {
            return;
        }
        if let Some(message) = session.turn.take() {
            session.facts.push(Fact::TurnEnded { message, at, end: End::Signal(15) });
        }
        session.stopped = true;
        self.gone(name);
    }

    pub fn session_step(&mut self, name: &SessionId, life: u32, step: SessionStep) {
        if !self.sessions.get(name).is_some_and(|session| session.alive && session.life == life) {
            return;
        }
        self.trace.note(self.now, || format!("{name} {step:?}"));
        match step {
            SessionStep::Next => self.next_turn(name),
            SessionStep::Work(kind) => self.work(name, kind),
            SessionStep::Signal(kind) => self.signal(name, kind),
            SessionStep::EndTurn(kind) => self.end_turn(name, kind),
            SessionStep::Judge(kind) => self.judge(name, kind),
            SessionStep::EndReview(kind) => self.end_review(name, kind),
            SessionStep::KnowNothing => self.turn_over(name, self.knows_nothing(name)),
            SessionStep::Exit => {
                if self.sessions[name].next_message().is_some() {
                    sometimes!(self, "a message reached a session that was just ending");
                }
                self.gone(name);
            }
        }
    }

    /// Schedules a step of this very life.
    pub fn then(&mut self, name: &SessionId, wait: Tick, step: SessionStep) {
        let life = self.sessions.get(name).map_or(0, |session| session.life);
        self.after(wait, Happening::Session { name: name.clone(), life, step });
    }

    fn next_turn(&mut self, name: &SessionId) {
        let (at, pid) = (self.wall(), 1000 + i32::try_from(self.counts.effects).unwrap_or(0));
        let wait = self.between(name.as_str(), self.now.cast_unsigned(), 5, 3 * SECOND);
        let now = self.now;
        let Some(Message { id, text }) = self.sessions[name].next_message().cloned() else {
            // It has looked for the last time; what is said from here on is not heard in this life.
            self.then(name, wait, SessionStep::Exit);
            return;
        };
        let begins = self.sessions[name].begun_in != self.sessions[name].life;
        let knows = if begins { self.take_up(name) } else { self.sessions[name].knows };
        let session = self.sessions.get_mut(name).expect("it lives");
        (session.begun_in, session.knows) = (session.life, knows);
        session.news_at = now;
        session.facts.push(Fact::Delivered { message: id.clone(), at });
        session.facts.push(Fact::Started { pid, start_time: 1, at });
        let (role, conversation) = (session.role, session.conversation.clone());
        self.talks.handed_over(&conversation, &id);
        self.sessions.get_mut(name).expect("it lives").turn = Some(id);
        self.stir(name);
        match (knows, role) {
            (Knows::Nothing, _) => self.then(name, SECOND, SessionStep::KnowNothing),
            (Knows::It, Role::Dev) => self.begin_turn(name, &text),
            (Knows::It, Role::Review) => self.begin_review(name),
        }
    }

    /// The turn is over; the shim looks for the next message.
    pub fn turn_over(&mut self, name: &SessionId, end: End) {
        let (now, at) = (self.now, self.wall());
        let session = self.sessions.get_mut(name).expect("it lives");
        session.news_at = now;
        if end.is_good() {
            self.talks.answered(&session.conversation);
        }
        if let Some(message) = session.turn.take() {
            session.facts.push(Fact::TurnEnded { message, at, end });
        }
        self.stir(name);
        self.then(name, 3, SessionStep::Next);
    }

    /// A file of the session changed.
    pub fn stir(&mut self, name: &SessionId) {
        let Some(daemon) = self.sessions.get(name).and_then(|session| session.watcher) else { return };
        let session = name.clone();
        self.tell(daemon, 4, move || Cause::SessionStirred(session.clone()));
    }

    /// The process and everything below it is gone, and its lock is free.
    pub fn gone(&mut self, name: &SessionId) {
        let (now, at) = (self.now, self.wall());
        let Some(session) = self.sessions.get_mut(name) else { return };
        session.news_at = now;
        session.ended = true;
        session.alive = false;
        session.life += 1;
        session.turn = None;
        session.facts.push(Fact::Exited(Exit {
            code: Some(0),
            at,
            stopped: session.stopped,
            ..Exit::default()
        }));
        if let Some(daemon) = session.waiter.take() {
            let session = name.clone();
            self.tell(daemon, 2, move || Cause::SessionGone(session.clone()));
        }
    }

    /// Killed with its shim: nobody writes anything down.
    pub fn vanish(&mut self, name: &SessionId) {
        let Some(session) = self.sessions.get_mut(name) else { return };
        session.alive = false;
        session.life += 1;
        session.turn = None;
        if let Some(daemon) = session.waiter.take() {
            let session = name.clone();
            self.tell(daemon, 2, move || Cause::SessionGone(session.clone()));
        }
    }
}
