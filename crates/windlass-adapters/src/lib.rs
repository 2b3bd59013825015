//! The hands: one module per outside system; translates, never decides, never stores.

pub mod agent;
pub mod ci;
pub mod files;
pub mod forge;
pub mod git;
pub mod process;
pub mod remedy;
pub mod shim;

pub use remedy::Remedy;
