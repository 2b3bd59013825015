//! What a forge can answer instead of doing what was asked.

use std::error::Error;

use windlass_core::id::{ChangeNumber, IssueNumber};
use windlass_core::time::Span;

use crate::Remedy;

/// `tried` names the act in words that fit after "cannot".
#[derive(Debug, thiserror::Error)]
pub enum ForgeError {
    #[error("cannot {tried}: the forge asks to wait {retry_after}")]
    Limited { tried: &'static str, retry_after: Span },
    #[error("cannot {tried}: the forge does not answer")]
    Unreachable { tried: &'static str, source: Box<dyn Error + Send + Sync> },
    #[error("cannot {tried}: the forge does not let us")]
    Refused { tried: &'static str, source: Box<dyn Error + Send + Sync> },
    #[error("the forge has no {0}")]
    NotFound(Subject),
    #[error("cannot {tried}: {reason}")]
    Conflict { tried: &'static str, reason: String },
    /// The words handed in can never be taken as they are.
    #[error("{what} {reason}")]
    Invalid { what: &'static str, reason: String },
    #[error("cannot {tried}: the forge's answer makes no sense")]
    Broken { tried: &'static str, source: Box<dyn Error + Send + Sync> },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    Issue(IssueNumber),
    Change(ChangeNumber),
}

impl ForgeError {
    pub fn remedy(&self) -> Remedy {
        match self {
            Self::Limited { .. } | Self::Unreachable { .. } => Remedy::TryAgain,
            Self::Refused { .. }
            | Self::NotFound(_)
            | Self::Conflict { .. }
            | Self::Invalid { .. }
            | Self::Broken { .. } => Remedy::AskHuman,
        }
    }
}

impl std::fmt::Display for Subject {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Issue(number) => write!(f, "issue `{number}`"),
            Self::Change(number) => write!(f, "change `{number}`"),
        }
    }
}
