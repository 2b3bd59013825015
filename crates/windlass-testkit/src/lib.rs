//! Only for tests: one sample of everything the task machine knows, and helpers to run the built binary as a user does.

pub mod faketime;
pub mod fuzz;
pub mod model;
pub mod provider;
pub mod queue_sim;
pub mod real;
pub mod samples;
pub mod sim;
pub mod sweep;
