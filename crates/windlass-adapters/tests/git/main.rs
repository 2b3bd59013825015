//! The git adapter against the real git, in real folders, with real enemies.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop right there")]

mod clone;
mod hostile;
mod intake;
mod merge;
mod refs;
mod replay;
mod rescue;
mod slot;
mod support;
