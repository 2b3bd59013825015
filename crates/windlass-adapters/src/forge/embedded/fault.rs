//! Turns what SQLite says into what a forge says.

use rusqlite::ErrorCode;

use crate::forge::ForgeError;

/// Why a read or write inside a transaction ended: the database, or an answer for the caller.
#[derive(Debug)]
pub(super) enum Fault {
    Sql(rusqlite::Error),
    Answer(ForgeError),
}

impl Fault {
    pub(super) fn into_error(self, tried: &'static str) -> ForgeError {
        match self {
            Self::Answer(error) => error,
            Self::Sql(source) if passes(&source) => {
                ForgeError::Unreachable { tried, source: Box::new(source) }
            }
            Self::Sql(source) if is_refusal(&source) => {
                ForgeError::Refused { tried, source: Box::new(source) }
            }
            Self::Sql(source) => ForgeError::Broken { tried, source: Box::new(source) },
        }
    }
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

impl From<ForgeError> for Fault {
    fn from(error: ForgeError) -> Self {
        Self::Answer(error)
    }
}

/// Whether the same call may work later: somebody else holds the lock, or the disk is full or ailing.
pub(super) fn passes(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(
            ErrorCode::DatabaseBusy
                | ErrorCode::DatabaseLocked
                | ErrorCode::DiskFull
                | ErrorCode::SystemIoFailure
                | ErrorCode::OutOfMemory
        )
    )
}

fn is_refusal(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::CannotOpen)
    )
}
