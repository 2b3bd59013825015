//! The demo: a small real project, issues that show every turn a task can take, and a scripted agent that works on them.

pub mod agent;
pub mod check;
mod critic;
mod dev;
mod hands;
pub mod issues;
pub mod project;
pub mod watch;
