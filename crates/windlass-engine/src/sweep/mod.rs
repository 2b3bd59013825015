//! Looks at the world and says what it saw.

mod away;
mod commands;
mod effects;
mod issues;
mod keyboards;
mod open;
mod people;
mod progress;
mod watch;

pub use commands::PAUSED;
pub use issues::read_issues;
pub use keyboards::{Taken, stored as stored_keyboards};
pub use people::Evidence;
pub use watch::Watch;
