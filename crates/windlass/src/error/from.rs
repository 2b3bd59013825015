//! Errors of the other crates, each with a code and a way out.

use windlass_adapters::files::FileError;
use windlass_adapters::forge::{ForgeError, OpenError, Subject};
use windlass_adapters::git::GitError;
use windlass_adapters::shim::ShimError;
use windlass_core::id::IssueNumber;
use windlass_engine::EngineError;
use windlass_store::StoreError;

use super::CliError;
use crate::exit::Exit;

/// The database itself is not whole.
pub const DAMAGED: &str = "store-damaged";

impl From<StoreError> for CliError {
    fn from(error: StoreError) -> Self {
        let code = match &error {
            StoreError::HeldBy { .. } => "already-running",
            StoreError::Exists { .. } | StoreError::NotEmpty { .. } => "exists",
            StoreError::NotAnExport { .. } => "invalid",
            StoreError::Newer { .. } | StoreError::Older { .. } => "store-version",
            StoreError::Corrupt { .. } => DAMAGED,
            StoreError::Unreadable { .. } => "store-unreadable",
            StoreError::Full { .. } => "disk-full",
            StoreError::Busy { .. } => "store-busy",
            StoreError::ReadOnly { .. } | StoreError::Permissions { .. } | StoreError::Foreign { .. } => {
                "store-permissions"
            }
            StoreError::NotFound { .. } => "no-state",
            StoreError::Io { source, .. } if source.kind() == std::io::ErrorKind::BrokenPipe => {
                return Self::nobody_reads();
            }
            StoreError::Fenced { .. }
            | StoreError::Lost { .. }
            | StoreError::AlreadyClaimed { .. }
            | StoreError::Duplicate { .. }
            | StoreError::NotPending { .. }
            | StoreError::NotWaiting { .. }
            | StoreError::ClientOnly { .. }
            | StoreError::Stopped
            | StoreError::Io { .. }
            | StoreError::Sql { .. } => "store",
        };
        let exit = if code == "no-state" { Exit::NotFound } else { Exit::Failed };
        let failed = Self::new(code, exit, error.to_string());
        let folder = "check the disk and the folder, or name another one with WINDLASS_STATE_DIR";
        let failed = match error.hint() {
            Some(hint) => failed.next(hint),
            None if matches!(error, StoreError::Io { .. }) => failed.next(folder),
            None => failed,
        };
        with_cause(failed, &error)
    }
}

impl From<ForgeError> for CliError {
    fn from(error: ForgeError) -> Self {
        let title = error.to_string();
        match &error {
            ForgeError::NotFound(Subject::Issue(number)) => no_issue(*number),
            ForgeError::NotFound(Subject::Change(_)) => {
                Self::new("not-found", Exit::NotFound, title).next("windlass issues --all")
            }
            ForgeError::Invalid { what, .. } => {
                Self::new("invalid", Exit::Usage, title).next(format!("change {what} and try again"))
            }
            ForgeError::Refused { .. } => {
                with_cause(Self::new("forge-refused", Exit::Authentication, title), &error)
            }
            ForgeError::Limited { retry_after, .. } => {
                Self::new("forge-limited", Exit::Limit, title).next(format!("try again in {retry_after}"))
            }
            ForgeError::Conflict { .. } => {
                Self::new("forge-conflict", Exit::Failed, title).next("look again, and try again")
            }
            ForgeError::Unreachable { .. } | ForgeError::Broken { .. } => {
                with_cause(Self::new("forge", Exit::Failed, title), &error)
            }
        }
    }
}

impl From<OpenError> for CliError {
    fn from(error: OpenError) -> Self {
        with_cause(Self::new("forge", Exit::Failed, error.to_string()), &error)
    }
}

impl From<GitError> for CliError {
    fn from(error: GitError) -> Self {
        let failed = Self::new("git", Exit::Failed, error.to_string());
        let failed = match &error {
            GitError::Spawn { .. } => failed.next("install git and put it on the PATH"),
            GitError::BadName { .. } => failed.next("choose a branch with a plain name"),
            GitError::TimedOut { .. }
            | GitError::Failed { .. }
            | GitError::Output { .. }
            | GitError::Occupied { .. }
            | GitError::Contended { .. }
            | GitError::Io { .. }
            | GitError::File(_) => failed,
        };
        with_cause(failed, &error)
    }
}

impl From<ShimError> for CliError {
    fn from(error: ShimError) -> Self {
        with_cause(Self::new("session", Exit::Failed, error.to_string()), &error)
    }
}

impl From<FileError> for CliError {
    fn from(error: FileError) -> Self {
        with_cause(Self::new("io", Exit::Failed, error.to_string()), &error)
    }
}

impl From<EngineError> for CliError {
    fn from(error: EngineError) -> Self {
        let title = error.to_string();
        match error {
            EngineError::Store(error) => error.into(),
            EngineError::Repository(_)
            | EngineError::Forge(_)
            | EngineError::Folder { .. }
            | EngineError::Descriptors(_)
            | EngineError::Thread(_)
            | EngineError::Watch(_) => with_cause(Self::new("engine", Exit::Failed, title), &error),
        }
    }
}

fn no_issue(number: IssueNumber) -> CliError {
    CliError::new("not-found", Exit::NotFound, format!("there is no issue {number}"))
        .next("windlass issues --all")
}

/// The title already has the error's own words; the reason is what lies below it.
fn with_cause(failed: CliError, error: &dyn std::error::Error) -> CliError {
    let mut causes = Vec::new();
    let mut cause = error.source();
    while let Some(error) = cause {
        causes.push(error.to_string());
        cause = error.source();
    }
    causes.dedup();
    if causes.is_empty() { failed } else { failed.why(causes.join(": ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forge_that_says_no_or_not_now_has_a_code_of_its_own() {
        let refused = ForgeError::Refused { tried: "x", source: "no".into() };
        let limited = ForgeError::Limited { tried: "x", retry_after: windlass_core::time::Span::secs(1) };
        assert_eq!(CliError::from(refused).exit.code(), 4);
        assert_eq!(CliError::from(limited).exit.code(), 10);
    }
}
