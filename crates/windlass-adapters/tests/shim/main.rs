//! The shim as the daemon starts it: a real process with real programs below it.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop right there")]

mod builds;
mod conversations;
mod daemon;
mod ends;
mod groups;
mod support;
