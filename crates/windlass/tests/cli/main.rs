//! The command line, through the real program in a real checkout.

#[path = "../common/mod.rs"]
mod common;
mod init;
mod issues;
mod memory;
mod output;
mod schema;
