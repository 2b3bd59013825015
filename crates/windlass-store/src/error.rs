//! What can go wrong with the memory, and what to do about it.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::{Connection, ErrorCode, ffi};
use windlass_core::id::{EffectKey, IssueNumber, TaskId};

/// Sources are shared, because one failed commit is the answer to everyone who waited for it.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    #[error("another daemon{} holds `{}`", pid_text(.pid), .path.display())]
    HeldBy { path: PathBuf, pid: Option<u32> },
    #[error("another daemon has taken over: our epoch is {ours}, the database's is {found}")]
    Fenced { ours: u64, found: u64 },
    #[error("task `{task}` was changed by somebody else")]
    Lost { task: TaskId },
    #[error("issue {issue} already has a live task")]
    AlreadyClaimed { issue: IssueNumber },
    #[error("{what} `{key}` is already there")]
    Duplicate { what: &'static str, key: String },
    #[error("effect `{key}` is not waiting")]
    NotPending { key: EffectKey },
    #[error("command `{id}` is not waiting for an answer")]
    NotWaiting { id: i64 },
    #[error("the database `{}` has version {found}, and this program knows versions up to {known}", .path.display())]
    Newer { path: PathBuf, found: i64, known: i64 },
    #[error("the database `{}` has version {found}, and this program needs version {known}", .path.display())]
    Older { path: PathBuf, found: i64, known: i64, holder: Option<u32> },
    #[error("the database `{}` is damaged: {detail}", .path.display())]
    Corrupt { path: PathBuf, detail: String },
    /// Also a disk that fails: SQLite does not tell a quota, a limit and a broken disk apart.
    #[error("cannot {tried}: the disk takes no more")]
    Full { tried: &'static str, source: Arc<rusqlite::Error> },
    #[error("cannot {tried}: the database is locked")]
    Busy { tried: &'static str, source: Arc<rusqlite::Error> },
    #[error("cannot write to `{}`", .path.display())]
    ReadOnly { path: PathBuf },
    #[error("only the daemon may change this, and `{}` was opened by a client", .path.display())]
    ClientOnly { path: PathBuf },
    #[error("there is no database `{}`", .path.display())]
    NotFound { path: PathBuf },
    #[error("others can write to `{}` (mode {mode:04o})", .path.display())]
    Permissions { path: PathBuf, mode: u32 },
    #[error("`{}` belongs to user {owner}, and we are user {us}", .path.display())]
    Foreign { path: PathBuf, owner: u32, us: u32 },
    #[error("`{}` is already there", .path.display())]
    Exists { path: PathBuf },
    #[error("line {line} is not of an export: {why}")]
    NotAnExport { line: u64, why: String },
    #[error("there are records already, in `{table}`")]
    NotEmpty { table: String },
    #[error("the writer of the database has stopped")]
    Stopped,
    #[error("cannot {tried}: a row does not read as this program wrote it")]
    Unreadable { tried: &'static str, source: Arc<rusqlite::Error> },
    #[error("cannot {tried} `{}`", .path.display())]
    Io { tried: &'static str, path: PathBuf, source: Arc<io::Error> },
    #[error("cannot {tried}")]
    Sql { tried: &'static str, source: Arc<rusqlite::Error> },
}

impl StoreError {
    /// Whether the same call can succeed later, without anybody's help or once space is free.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Busy { .. } | Self::Full { .. } => true,
            Self::HeldBy { .. }
            | Self::Fenced { .. }
            | Self::Lost { .. }
            | Self::AlreadyClaimed { .. }
            | Self::Duplicate { .. }
            | Self::NotPending { .. }
            | Self::NotWaiting { .. }
            | Self::Newer { .. }
            | Self::Older { .. }
            | Self::Corrupt { .. }
            | Self::ReadOnly { .. }
            | Self::ClientOnly { .. }
            | Self::NotFound { .. }
            | Self::Permissions { .. }
            | Self::Foreign { .. }
            | Self::Exists { .. }
            | Self::NotAnExport { .. }
            | Self::NotEmpty { .. }
            | Self::Stopped
            | Self::Unreadable { .. }
            | Self::Io { .. }
            | Self::Sql { .. } => false,
        }
    }

    /// What a person can do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::HeldBy { pid: Some(pid), .. } => {
                Some(format!("stop the daemon with pid {pid} first, or use the one that runs"))
            }
            Self::HeldBy { pid: None, .. } => Some("stop the other daemon first, or use it".into()),
            Self::Fenced { .. } => Some("let this daemon end; the newer one goes on".into()),
            Self::Newer { .. } => Some("use the newer program that wrote it".into()),
            Self::Older { holder: Some(pid), .. } => {
                Some(format!("restart the daemon with pid {pid}; it then brings the database up to date"))
            }
            Self::Older { holder: None, .. } => {
                Some("start the daemon once; it brings the database up to date".into())
            }
            Self::Corrupt { path, .. } => Some(format!(
                "nothing was deleted; `windlass restore` moves `{}` aside and puts the last copy in its place",
                path.display()
            )),
            Self::Full { .. } => Some("free some space on the disk that holds the state folder".into()),
            Self::Busy { .. } => Some("another program holds the database; try again".into()),
            Self::ReadOnly { .. } => {
                Some("make the state folder and the database writable for this user".into())
            }
            Self::Permissions { path, .. } => Some(format!("chmod 700 '{}'", path.display())),
            Self::Foreign { owner, .. } => {
                Some(format!("run it as user {owner}, or name a folder of your own with WINDLASS_STATE_DIR"))
            }
            Self::NotFound { .. } => Some("start the daemon, or check the state folder".into()),
            Self::Exists { .. } => Some("choose another name".into()),
            Self::NotAnExport { .. } => {
                Some("nothing was changed; make it with `windlass export FILE`".into())
            }
            Self::NotEmpty { .. } => {
                Some("nothing was changed; import into a new state: `--state DIR`".into())
            }
            Self::Lost { .. }
            | Self::AlreadyClaimed { .. }
            | Self::Duplicate { .. }
            | Self::NotPending { .. }
            | Self::NotWaiting { .. }
            | Self::ClientOnly { .. }
            | Self::Stopped
            | Self::Unreadable { .. }
            | Self::Io { .. }
            | Self::Sql { .. } => None,
        }
    }
}

const NOT_WRITTEN: [i32; 2] = [ffi::SQLITE_IOERR_WRITE, ffi::SQLITE_IOERR_SHMSIZE];

/// For `map_err`: gives an error of SQLite the name that callers can act on.
pub(crate) fn fault(conn: &Connection, tried: &'static str) -> impl FnOnce(rusqlite::Error) -> StoreError {
    move |source| classify(conn.path().unwrap_or_default().as_ref(), tried, source)
}

pub(crate) fn classify(path: &Path, tried: &'static str, source: rusqlite::Error) -> StoreError {
    let unreadable = matches!(
        source,
        rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::IntegralValueOutOfRange(..)
            | rusqlite::Error::InvalidColumnType(..)
    );
    let code = source.sqlite_error_code();
    let extended = source.sqlite_error().map(|error| error.extended_code);
    let detail = source.to_string();
    let source = Arc::new(source);
    match code {
        Some(ErrorCode::DiskFull) => StoreError::Full { tried, source },
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::Busy { tried, source },
        Some(ErrorCode::ReadOnly) => StoreError::ReadOnly { path: path.to_owned() },
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            StoreError::Corrupt { path: path.to_owned(), detail }
        }
        Some(ErrorCode::SystemIoFailure) if extended.is_some_and(|code| NOT_WRITTEN.contains(&code)) => {
            StoreError::Full { tried, source }
        }
        _ if unreadable => StoreError::Unreadable { tried, source },
        _ => StoreError::Sql { tried, source },
    }
}

/// For `map_err`: keeps what was tried on which file.
pub(crate) fn io_fault(path: &Path, tried: &'static str) -> impl FnOnce(io::Error) -> StoreError {
    move |source| match source.kind() {
        io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => {
            StoreError::ReadOnly { path: path.to_owned() }
        }
        _ => StoreError::Io { tried, path: path.to_owned(), source: Arc::new(source) },
    }
}

fn pid_text(pid: &Option<u32>) -> String {
    pid.map(|pid| format!(" (pid {pid})")).unwrap_or_default()
}
