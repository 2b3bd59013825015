//! `windlass shim <folder>`: runs one program for the daemon and outlives it.

pub mod client;
mod error;
mod inbox;
pub(crate) mod journal;
mod life;
mod once;
mod output;
mod protocol;
mod running;
mod stop;
mod stream;
mod turns;

pub use error::ShimError;
pub(crate) use life::now;
pub use life::run;
pub use protocol::{
    EXIT, End, Exit, FACTS, Fact, Failure, Framing, GROUP, INBOX, LAUNCH, LOCK, LOG, Launch, Message,
    SESSION_DIR, SHIM_LOG, STDERR, STOP, TRANSCRIPT, TurnResult,
};
