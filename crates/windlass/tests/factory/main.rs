//! The whole factory as a user runs it: the real binary, real git, real agents that are shell scripts.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop right there")]

mod acceptance;
mod agents;
mod budget;
mod ci;
mod claude;
#[expect(dead_code, reason = "the tests of single commands use the rest")]
#[path = "../common/mod.rs"]
mod common;
mod config;
mod crew;
mod critic;
mod demo;
mod gate;
mod hostile;
mod intake;
mod issues;
mod kill;
mod others;
mod people;
mod queue;
mod readme;
mod recovery;
mod resilience;
mod run;
mod secrets;
mod state;
mod stopped;
mod unstopped;
mod worker;
mod works;
