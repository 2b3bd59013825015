//! One run of one program, for builds.

use std::io;

use super::error::ShimError;
use super::life::Life;
use super::output::{Sink, Store};
use super::protocol::{End, Exit, LOG};
use super::running::{Running, Streams, Watch};
use super::stop::Stopper;

pub(super) fn run(life: &mut Life) -> Result<Exit, ShimError> {
    let store = Store::open(&life.folder.join(LOG), life.launch.max_output_bytes);
    let store = store.map_err(|source| life.failed(LOG, source))?;
    let streams = Streams { stdin: false, stdout: Sink::Raw(store), stderr: None };
    let watch = Watch::new(&life.folder).map_err(|source| life.watch_failed(source))?;
    let mut stopper = Stopper::new(life);
    if stopper.is_over() {
        return Ok(stopper.mark(Exit::default()));
    }
    let started =
        Running::start(life, &life.launch.argv, &[], streams).map_err(|source| life.watch_failed(source))?;
    let mut running = match started {
        Ok(running) => running,
        Err(error) => return Ok(not_started(&error)),
    };
    life.note(&running.started())?;
    let end = loop {
        let wake = running.wait(&watch, stopper.next()).map_err(|source| life.watch_failed(source))?;
        if let Some(status) = wake.ended {
            break End::of(status);
        }
        stopper.act(running.pid()).map_err(|source| life.watch_failed(source))?;
    };
    let killed_leftovers = life.kill_rest()?;
    running.finish().map_err(|source| life.watch_failed(source))?;
    Ok(stopper.mark(Exit { killed_leftovers, ..Exit::from(&end) }))
}

/// What a shell says of a program that cannot be started.
pub(super) fn not_started(error: &io::Error) -> Exit {
    let code = if error.kind() == io::ErrorKind::NotFound { 127 } else { 126 };
    Exit { code: Some(code), error: Some(error.to_string()), ..Exit::default() }
}
