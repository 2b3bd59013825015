//! One run for a whole conversation: a JSON line in per message, a `result` line out per turn.

use std::time::Instant;

use serde_json::json;

use super::error::ShimError;
use super::inbox::Inbox;
use super::life::{Life, now};
use super::once::not_started;
use super::output::Sink;
use super::protocol::{End, Exit, Fact, Message, TurnResult};
use super::running::{Running, Watch};
use super::stop::{Stopper, millis};
use super::turns::streams;

pub(super) fn run(life: &mut Life) -> Result<Exit, ShimError> {
    let inbox = Inbox::open(life)?;
    let watch = Watch::new(&life.folder).map_err(|source| life.watch_failed(source))?;
    let mut stopper = Stopper::new(life);
    if stopper.is_over() {
        return Ok(stopper.mark(Exit::default()));
    }
    let streams = streams(life, Sink::json)?;
    let launch = &life.launch;
    let argv = launch.again.as_ref().filter(|_| inbox.delivered() > 0).unwrap_or(&launch.argv);
    let started = Running::start(life, argv, &[], streams).map_err(|source| life.watch_failed(source))?;
    let running = match started {
        Ok(running) => running,
        Err(error) => return Ok(not_started(&error)),
    };
    life.note(&running.started())?;
    let talk = Talk { running, inbox, current: None, idle_since: Instant::now(), leaving: false };
    let exit = talk.run(life, &watch, &mut stopper)?;
    Ok(stopper.mark(exit))
}

struct Talk {
    running: Running,
    inbox: Inbox,
    /// The message of the turn that is going on.
    current: Option<Message>,
    idle_since: Instant,
    /// The input is closed; a new message waits for the next life.
    leaving: bool,
}

impl Talk {
    fn run(mut self, life: &mut Life, watch: &Watch, stopper: &mut Stopper) -> Result<Exit, ShimError> {
        let end = loop {
            self.speak(life, stopper)?;
            let until = [stopper.next(), self.cold_at(life)].into_iter().flatten().min();
            let wake = self.running.wait(watch, until).map_err(|source| life.watch_failed(source))?;
            for result in wake.results {
                self.turn_ended(life, result)?;
            }
            if let Some(status) = wake.ended {
                break End::of(status);
            }
            stopper.act(self.running.pid()).map_err(|source| life.watch_failed(source))?;
        };
        let killed_leftovers = life.kill_rest()?;
        let Self { running, current, .. } = self;
        let last = running.finish().map_err(|source| life.watch_failed(source))?;
        if let Some(message) = current {
            let end = last.into_iter().next().map_or_else(|| end.clone(), End::Result);
            life.record(&Fact::TurnEnded { message: message.id, at: now(), end })?;
        }
        Ok(Exit { killed_leftovers, ..Exit::from(&end) })
    }

    /// Hands over the next message when the program is free, and closes its input when none came for long enough.
    fn speak(&mut self, life: &mut Life, stopper: &mut Stopper) -> Result<(), ShimError> {
        if self.current.is_some() || self.leaving || stopper.is_over() {
            return Ok(());
        }
        if let Some(message) = self.inbox.next(life)? {
            let content = json!([{"type": "text", "text": message.text}]);
            let line = json!({"type": "user", "message": {"role": "user", "content": content}});
            self.running.send(format!("{line}\n").as_bytes());
            self.current = Some(message);
        } else if self.cold_at(life).is_some_and(|at| at <= Instant::now()) {
            self.running.close_stdin();
            self.leaving = true;
            stopper.expect_end();
        }
        Ok(())
    }

    fn turn_ended(&mut self, life: &mut Life, result: TurnResult) -> Result<(), ShimError> {
        // A result that nobody asked for ends no turn.
        let Some(message) = self.current.take() else { return Ok(()) };
        self.idle_since = Instant::now();
        life.record(&Fact::TurnEnded { message: message.id, at: now(), end: End::Result(result) })
    }

    fn cold_at(&self, life: &Life) -> Option<Instant> {
        let idle = self.current.is_none() && !self.leaving;
        idle.then(|| self.idle_since + millis(life.launch.keep_warm_ms))
    }
}
