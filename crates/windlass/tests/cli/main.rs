//! The command line, through the real program in a real checkout.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop right there")]

#[path = "../common/mod.rs"]
mod common;
mod init;
mod issues;
mod memory;
mod output;
mod queue;
mod schema;
mod top;
