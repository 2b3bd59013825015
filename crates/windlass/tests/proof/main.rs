//! The proof on the real program: killed and broken at every point of every scenario, it comes to the same end.

mod fuzz;
mod limits;
mod sweep;
