//! One run per message: the text is the program's input, its end is the end of the turn.

use super::error::ShimError;
use super::inbox::Inbox;
use super::life::{Life, now};
use super::once::not_started;
use super::output::{Lines, Sink, Store};
use super::protocol::{End, Exit, Fact, Message, STDERR, TRANSCRIPT};
use super::running::{Running, Streams, Watch};
use super::stop::Stopper;

pub(super) fn run(life: &mut Life) -> Result<Exit, ShimError> {
    let mut inbox = Inbox::open(life)?;
    let watch = Watch::new(&life.folder).map_err(|source| life.watch_failed(source))?;
    let mut stopper = Stopper::new(life);
    let mut last = Exit { code: Some(0), ..Exit::default() };
    while !stopper.is_over() {
        let Some(message) = inbox.next(life)? else { break };
        let leftovers = last.killed_leftovers;
        last = turn(life, &watch, &mut stopper, &message, inbox.delivered())?;
        last.killed_leftovers += leftovers;
    }
    Ok(stopper.mark(last))
}

fn turn(
    life: &mut Life,
    watch: &Watch,
    stopper: &mut Stopper,
    message: &Message,
    nth: usize,
) -> Result<Exit, ShimError> {
    let extra = [("WINDLASS_TURN", nth.to_string())];
    let streams = streams(life, Sink::Text)?;
    let started = Running::start(life, &life.launch.argv, &extra, streams)
        .map_err(|source| life.watch_failed(source))?;
    let mut running = match started {
        Ok(running) => running,
        Err(error) => {
            let exit = not_started(&error);
            ended(life, message, End::Exit(exit.code.unwrap_or(126)))?;
            return Ok(exit);
        }
    };
    life.note(&running.started())?;
    running.send(message.text.as_bytes());
    running.close_stdin();
    let end = loop {
        let wake = running.wait(watch, stopper.next()).map_err(|source| life.watch_failed(source))?;
        if let Some(status) = wake.ended {
            break End::of(status);
        }
        stopper.act(running.pid()).map_err(|source| life.watch_failed(source))?;
    };
    let killed_leftovers = life.kill_rest()?;
    running.finish().map_err(|source| life.watch_failed(source))?;
    let exit = Exit { killed_leftovers, ..Exit::from(&end) };
    ended(life, message, end)?;
    Ok(exit)
}

fn ended(life: &mut Life, message: &Message, end: End) -> Result<(), ShimError> {
    life.record(&Fact::TurnEnded { message: message.id.clone(), at: now(), end })
}

/// Input by pipe, lines of output to the transcript, errors apart.
pub(super) fn streams(life: &Life, stdout: fn(Store, Lines) -> Sink) -> Result<Streams, ShimError> {
    let max = life.launch.max_output_bytes;
    let open = |name| Store::open(&life.folder.join(name), max).map_err(|source| life.failed(name, source));
    let lines = Lines::new(life.launch.max_line_bytes);
    let stdout = stdout(open(TRANSCRIPT)?, lines);
    Ok(Streams { stdin: true, stdout, stderr: Some(Sink::Raw(open(STDERR)?)) })
}
