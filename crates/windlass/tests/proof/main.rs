//! The proof on the real program: killed and broken at every point of every scenario, it comes to the same end.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop right there")]

mod fuzz;
mod limits;
mod sweep;
