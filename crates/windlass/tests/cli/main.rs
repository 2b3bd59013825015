//! The command line, through the real program in a real checkout.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop right there")]

mod attach;
mod bad;
mod bridge;
#[path = "../common/mod.rs"]
mod common;
mod config;
mod doctor;
mod follow;
mod globals;
mod init;
mod install;
mod issues;
mod keep;
mod logs;
mod look;
mod memory;
mod narrow;
mod needs;
mod output;
mod queue;
mod schedule;
mod schema;
mod top;
