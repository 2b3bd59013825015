//! What can go wrong with git, and what to do about it.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::Remedy;
use crate::files::FileError;

#[derive(Debug, thiserror::Error)]
pub enum GitError {
    #[error("cannot start git")]
    Spawn { source: io::Error },
    #[error("`git {args}` did not end within {after:?}")]
    TimedOut { args: String, after: Duration },
    #[error("`git {args}` failed with exit code {code}: {stderr}")]
    Failed { args: String, code: i32, stderr: String },
    #[error("`git {args}` gave an answer we cannot use: {detail}")]
    Output { args: String, detail: String },
    #[error("`{name}` cannot be the name of a branch or ref")]
    BadName { name: String },
    #[error("`{path}` is in the way and not ours")]
    Occupied { path: PathBuf },
    #[error("`{name}` was moved again and again by somebody else")]
    Contended { name: String },
    #[error("cannot prepare `{path}`")]
    Io { path: PathBuf, source: io::Error },
    #[error(transparent)]
    File(#[from] FileError),
}

impl GitError {
    pub fn remedy(&self) -> Remedy {
        match self {
            Self::Spawn { source } if source.kind() == io::ErrorKind::NotFound => Remedy::AskHuman,
            Self::Spawn { .. } | Self::TimedOut { .. } | Self::Contended { .. } | Self::Io { .. } => {
                Remedy::TryAgain
            }
            Self::Failed { code, stderr, .. } if passes(*code, stderr) => Remedy::TryAgain,
            Self::Failed { .. } | Self::Output { .. } => Remedy::AskHuman,
            Self::BadName { .. } | Self::Occupied { .. } => Remedy::AskHuman,
            Self::File(error) => error.remedy(),
        }
    }
}

/// A lock held by another git, a killed git, a full disk or a machine short of processes: all end by themselves.
pub(super) fn passes(code: i32, stderr: &str) -> bool {
    let signs =
        [".lock", "cannot lock", "No space left", "temporarily unavailable", "Cannot allocate memory"];
    code > 128 || signs.iter().any(|sign| stderr.contains(sign))
}
