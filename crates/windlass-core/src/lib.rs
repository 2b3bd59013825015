//! The rules of Windlass: pure values and functions, no clock, no disk, no network.

pub mod activity;
pub mod brief;
pub mod bugs;
pub mod build;
pub mod command;
pub mod crash;
pub mod deps;
pub mod forge;
pub mod id;
pub mod journal;
pub mod message;
pub mod money;
pub mod pace;
pub mod phase;
pub mod policy;
pub mod queue;
pub mod schedule;
pub mod session;
pub mod task;
pub mod testlog;
pub mod text;
pub mod time;
pub mod verdict;
