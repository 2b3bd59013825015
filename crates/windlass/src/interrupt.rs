//! Ctrl-C for one who only watches: it lets go, and ends nothing but itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use crate::error::CliError;
use crate::exit::Exit;

#[derive(Debug)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    pub fn listen() -> Result<Self, CliError> {
        let came = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            let code = i32::from(Exit::Interrupted.code());
            // The second one ends it where it stands, should it be stuck in a write that nobody reads.
            flag::register_conditional_shutdown(signal, code, Arc::clone(&came))
                .and_then(|_| flag::register(signal, Arc::clone(&came)))
                .map_err(|source| {
                    CliError::new("signals", Exit::Failed, "cannot listen to signals").because(source)
                })?;
        }
        Ok(Self(came))
    }

    pub fn came(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
