//! Why a measurement came to nothing.

use std::path::{Path, PathBuf};
use std::time::Duration;

use windlass_store::StoreError;

#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    #[error("cannot {what} `{path}`")]
    Io { what: &'static str, path: PathBuf, source: std::io::Error },
    #[error("cannot start `{program}`")]
    Start { program: String, source: std::io::Error },
    #[error("`{call}` ended with {code}: {stderr}")]
    Failed { call: String, code: i32, stderr: String },
    #[error("`{call}` did not say what it should: {detail}")]
    Answer { call: String, detail: String },
    #[error("`{path}` lies in memory; a figure that touches no disk would flatter")]
    MemoryDisk { path: PathBuf },
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("waited {} s for {wanted}; the daemon's log ends with:\n{log}", patience.as_secs())]
    Late { wanted: String, patience: Duration, log: String },
    #[error("a task was abandoned, so its figures mean nothing: {reason}")]
    Abandoned { reason: String },
    #[error("interrupted")]
    Interrupted,
    #[error("there are no results in `{folder}`: run `./bench spine` first")]
    NoResults { folder: PathBuf },
    #[error("`{path}` has no line `{marker}`")]
    NoMarker { path: PathBuf, marker: &'static str },
    #[error("measured too little: {0}")]
    TooLittle(String),
}

impl BenchError {
    pub fn io<'a>(what: &'static str, path: &'a Path) -> impl FnOnce(std::io::Error) -> Self + use<'a> {
        move |source| Self::Io { what, path: path.to_owned(), source }
    }
}
