//! What can go wrong between daemon and shim.

use std::io;
use std::path::PathBuf;

use crate::Remedy;
use crate::files::FileError;

#[derive(Debug, thiserror::Error)]
pub enum ShimError {
    #[error("cannot start the shim for `{folder}`")]
    Spawn { folder: PathBuf, source: io::Error },
    #[error("cannot use `{path}`")]
    Io { path: PathBuf, source: io::Error },
    #[error("`{path}` cannot be understood")]
    Decode { path: PathBuf, source: serde_json::Error },
    #[error("cannot watch over the program in `{folder}`")]
    Watch { folder: PathBuf, source: io::Error },
    #[error(transparent)]
    File(#[from] FileError),
}

impl ShimError {
    pub fn remedy(&self) -> Remedy {
        match self {
            Self::Spawn { .. } | Self::Io { .. } | Self::Watch { .. } => Remedy::TryAgain,
            Self::Decode { .. } => Remedy::AskHuman,
            Self::File(error) => error.remedy(),
        }
    }
}
