//! What the exit code says. The numbers are a promise to scripts.

use std::process::ExitCode;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    Ok,
    Failed,
    Usage,
    NotFound,
    Authentication,
    NotRunning,
    NeedsHuman,
    WorkFailed,
    Pending,
    Config,
    Limit,
    Interrupted,
}

impl Exit {
    pub const ALL: [Self; 12] = [
        Self::Ok,
        Self::Failed,
        Self::Usage,
        Self::NotFound,
        Self::Authentication,
        Self::NotRunning,
        Self::NeedsHuman,
        Self::WorkFailed,
        Self::Pending,
        Self::Config,
        Self::Limit,
        Self::Interrupted,
    ];

    pub fn code(self) -> u8 {
        match self {
            Self::Ok => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::NotFound => 3,
            Self::Authentication => 4,
            Self::NotRunning => 5,
            Self::NeedsHuman => 6,
            Self::WorkFailed => 7,
            Self::Pending => 8,
            Self::Config => 9,
            Self::Limit => 10,
            Self::Interrupted => 130,
        }
    }

    pub fn meaning(self) -> &'static str {
        match self {
            Self::Ok => "ok (an empty list is ok)",
            Self::Failed => "failed",
            Self::Usage => "the command line is wrong",
            Self::NotFound => "not found",
            Self::Authentication => "authentication",
            Self::NotRunning => "the factory is not running",
            Self::NeedsHuman => "needs a person",
            Self::WorkFailed => "the work failed or was refused",
            Self::Pending => "still pending, or the wait ran out",
            Self::Config => "the configuration is invalid",
            Self::Limit => "stopped by a budget, limit or guard",
            Self::Interrupted => "interrupted",
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}
