//! Ctrl-C for one who only watches, or the end of the time to watch: it lets go, and ends nothing but itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;

#[derive(Debug)]
pub struct Interrupt {
    signal: Arc<AtomicBool>,
    until: Option<Instant>,
}

impl Interrupt {
    pub fn listen(context: &Context) -> Result<Self, CliError> {
        let came = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            let code = i32::from(Exit::Interrupted.code());
            // The second one ends it where it stands, should it be stuck in a write that nobody reads.
            flag::register_conditional_shutdown(signal, code, Arc::clone(&came))
                .and_then(|_| flag::register(signal, Arc::clone(&came)))
                .map_err(cannot_listen)?;
        }
        let until = context.globals.timeout.map(|_| Instant::now() + context.patience(Duration::ZERO));
        Ok(Self { signal: came, until })
    }

    /// The end of the terminal counts as well, for one who has something to do after it.
    pub fn listen_to_hangup(&self) -> Result<(), CliError> {
        flag::register(SIGHUP, Arc::clone(&self.signal)).map(drop).map_err(cannot_listen)
    }

    /// Whether to let go, and what that says to a script.
    pub fn came(&self) -> Option<Exit> {
        if self.signal.load(Ordering::Relaxed) {
            return Some(Exit::Interrupted);
        }
        self.until.filter(|until| Instant::now() >= *until).map(|_| Exit::Pending)
    }
}

pub fn cannot_listen(source: std::io::Error) -> CliError {
    CliError::new("signals", Exit::Failed, "cannot listen to signals").because(source)
}
