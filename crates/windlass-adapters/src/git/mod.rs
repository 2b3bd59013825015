//! The project's repository, through the git program and never through a folder that an agent can write.

mod bare;
mod clone;
mod error;
mod fetch;
mod growth;
mod history;
mod hold;
mod intake;
mod merge;
mod names;
mod nested;
mod recover;
mod refs;
mod replay;
mod rescue;
mod restore;
mod run;
mod slot;
mod spare;

pub use bare::BareRepo;
pub use error::GitError;
pub use fetch::{Elsewhere, FetchError, Fetched};
pub use growth::Growth;
pub use history::{Anatomy, Diff, Touch};
pub use hold::Hold;
pub use intake::{Intake, Parted};
pub use merge::Merged;
pub use names::RESCUE;
pub use recover::Recovered;
pub use refs::{Expect, Mark, Swap};
pub use replay::{Author, Commit, Replayed};
pub use rescue::{RescueError, Saved};
pub use restore::{Begin, Kept};
pub use run::Git;
pub use slot::Slot;
pub use spare::Spare;
