//! The whole factory as a user runs it: the real binary, real git, real agents that are shell scripts.

#[path = "../common/mod.rs"]
mod common;
mod demo;
mod kill;
mod works;
