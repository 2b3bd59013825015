//! The store's tests: the contract of every engine, the stored words, and what a file goes through in its life.

#![expect(clippy::unwrap_used, reason = "a test that panics has told what it had to tell")]

mod common;
mod contract;
mod copies;
mod crash;
mod files;
mod golden;
