//! One turn: a message typed in when the program is free, and all it does until it stops.

use std::io::{BufRead, Write};
use std::time::{Duration, Instant};

use super::neutral::neutral;
use super::pane::{Pane, Tick};
use super::papers::{Papers, Status};
use super::said::{Said, Sum};
use super::{Talk, TerminalError, Turn};
use crate::agent::hooks::Figures;
use crate::shim::Failure;

/// How long a dialog may be open, or a start may take, with nobody there to help.
const STUCK: Duration = Duration::from_secs(90);
/// How long a sent message may take to be noticed by the program.
const NOTICED: Duration = Duration::from_secs(15);
/// The same while it says that it is busy: its hook may be slow to start.
const NOTICED_BUSY: Duration = Duration::from_secs(90);
/// The last lines and figures are written a moment after the end.
const SETTLES: Duration = Duration::from_secs(3);
/// A program that is free for so long without the end of its turn was interrupted.
const INTERRUPTED: Duration = Duration::from_secs(10);
const TRIES: u32 = 2;
/// The provider's code for too many requests, and for a window that is used up.
const LIMITED: u64 = 429;
/// Between two looks at the program's files.
const TICK: Duration = Duration::from_millis(50);
/// Between two looks at who has the keyboard, each of which is a process.
const SLOW_TICK: Duration = Duration::from_millis(500);

/// Nothing when the shim has let go.
pub(super) fn take<R: BufRead, W: Write>(
    pane: &mut Pane,
    papers: &mut Papers,
    talk: &mut Talk<R, W>,
    text: &str,
) -> Result<Option<Turn>, TerminalError> {
    let text = neutral(text);
    for _ in 0..TRIES {
        match wait_free(pane, papers)? {
            Free::Yes => {}
            Free::Never => return Ok(Some(failed("terminal_stuck", STUCK_TEXT))),
            Free::LetGo => return Ok(None),
        }
        papers.hooks()?;
        pane.send(&text)?;
        match wait_noticed(pane, papers)? {
            Noticed::Yes => return watch(pane, papers, talk),
            Noticed::No => {}
            Noticed::LetGo => return Ok(None),
        }
    }
    Ok(Some(failed(
        "message_not_taken",
        "the program has not taken the message that was typed into its terminal",
    )))
}

const STUCK_TEXT: &str = "the program's terminal waits for a person: windlass attach --write";

fn failed(kind: &str, text: &str) -> Turn {
    let failure = Failure { status: None, kind: kind.to_owned(), text: text.to_owned() };
    Turn { failure: Some(failure), ..Turn::default() }
}

enum Free {
    Yes,
    Never,
    LetGo,
}

/// Waits until the program is free and nobody else has its keyboard.
fn wait_free(pane: &Pane, papers: &mut Papers) -> Result<Free, TerminalError> {
    let mut until = Instant::now() + STUCK;
    loop {
        let mut tick = TICK;
        match papers.status()? {
            Status::Idle if !pane.is_taken()? => return Ok(Free::Yes),
            Status::Idle => tick = SLOW_TICK,
            // Who works is not stuck, and who is worked with neither.
            Status::Busy => until = Instant::now() + STUCK,
            Status::Waiting | Status::Unknown if Instant::now() < until => {}
            Status::Waiting | Status::Unknown if pane.is_taken()? => tick = SLOW_TICK,
            Status::Waiting | Status::Unknown => return Ok(Free::Never),
        }
        if pane.rest(tick)? == Tick::LetGo {
            return Ok(Free::LetGo);
        }
    }
}

enum Noticed {
    Yes,
    No,
    LetGo,
}

/// The program's own hook says that it has the message.
fn wait_noticed(pane: &Pane, papers: &mut Papers) -> Result<Noticed, TerminalError> {
    let sent = Instant::now();
    loop {
        if papers.hooks()?.iter().any(|note| note.hook == "UserPromptSubmit") {
            return Ok(Noticed::Yes);
        }
        let patience = match papers.status()? {
            Status::Busy => NOTICED_BUSY,
            Status::Idle | Status::Waiting | Status::Unknown => NOTICED,
        };
        if sent.elapsed() > patience {
            return Ok(Noticed::No);
        }
        if pane.rest(TICK)? == Tick::LetGo {
            return Ok(Noticed::LetGo);
        }
    }
}

/// What is known of a turn so far.
#[derive(Debug, Default)]
struct Seen {
    sum: Sum,
    failure: Option<Failure>,
    /// All that was said is written down.
    whole: bool,
}

impl Seen {
    fn look<R: BufRead, W: Write>(
        &mut self,
        papers: &mut Papers,
        talk: &mut Talk<R, W>,
    ) -> Result<(), TerminalError> {
        for said in papers.said()? {
            match said {
                Said::Message(message) => {
                    talk.pass_on(&message)?;
                    self.sum.add(&message);
                    self.failure = None;
                }
                Said::Failed(failure) => {
                    self.failure = Some(failure);
                    self.whole = true;
                }
                Said::Over => self.whole = true,
            }
        }
        Ok(())
    }

    /// Whether nothing more is to come: the figures are those of the last message, and say when a limit ends.
    fn is_settled(&self, figures: &Figures) -> bool {
        let limited = self.failure.as_ref().is_some_and(|failure| failure.status == Some(LIMITED));
        let waits = limited && figures.limited_until.is_none();
        self.whole && !waits && self.sum.last.as_ref().is_none_or(|last| figures.are_after(last))
    }
}

/// Passes on what is said until the turn is over.
fn watch<R: BufRead, W: Write>(
    pane: &Pane,
    papers: &mut Papers,
    talk: &mut Talk<R, W>,
) -> Result<Option<Turn>, TerminalError> {
    let mut seen = Seen::default();
    let mut stopped = None;
    let mut busy_at = Instant::now();
    loop {
        seen.look(papers, talk)?;
        if papers.hooks()?.iter().any(|note| matches!(note.hook.as_str(), "Stop" | "StopFailure")) {
            stopped = Some(Instant::now());
        }
        let free = papers.status()? == Status::Idle;
        if !free {
            busy_at = Instant::now();
        }
        let figures = papers.figures()?;
        let settled = stopped.is_some_and(|at| seen.is_settled(&figures) || at.elapsed() > SETTLES);
        let interrupted = busy_at.elapsed() > INTERRUPTED;
        if free && (settled || interrupted && !pane.is_taken()?) {
            return Ok(Some(ended(seen, figures)));
        }
        if pane.rest(if interrupted { SLOW_TICK } else { TICK })? == Tick::LetGo {
            return Ok(None);
        }
    }
}

fn ended(seen: Seen, figures: Figures) -> Turn {
    let mut usage = seen.sum.usage();
    usage.cost_micro_usd = figures.cost_micro_usd;
    usage.model = usage.model.or(figures.model);
    let limited_until = figures.limited_until;
    Turn { text: seen.sum.text, usage, window: figures.window, failure: seen.failure, limited_until }
}
