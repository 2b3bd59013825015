//! The memory of Windlass: what is true, what was ordered and what happened, in one SQLite file. Decides nothing.
//!
//! `store` is the interface, `write` what can be changed in one transaction, `rows` what is read back, `sqlite` the
//! engine behind it, `replay` the check that the log and the tasks tell the same story.

mod error;
mod replay;
mod rows;
mod sqlite;
mod store;
mod write;

pub use error::StoreError;
pub use replay::{Drift, Mismatch, replay_states, replay_tasks};
pub use rows::{
    Decision, EffectRecord, EffectStatus, EventQuery, LoggedEvent, PendingEffect, PostedCommand, RawEvent,
    TaskQuery, UsageQuery, Versioned, Which,
};
pub use sqlite::{Mode, SqliteStore};
pub use store::Store;
pub use write::{Committed, Op, UsageRow, Write};
