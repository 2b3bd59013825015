//! What the program writes about itself: whether it is free, which hooks fired, what its conversation costs.

use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::TerminalError;
use super::said::Said;
use crate::agent::hooks::{self, Figures, HookNote, STATUS};
use crate::files::{self, FileError};
use crate::shim::journal;

const MAX_BYTES: u64 = 1 << 20;

#[derive(Debug)]
pub(super) struct Papers {
    folder: PathBuf,
    projects: PathBuf,
    conversation: String,
    /// Where the running process says how it is.
    own: PathBuf,
    hooks_read: u64,
    transcript_read: u64,
    /// The process has come so far that it waits for a message, or did.
    pub was_free: bool,
}

/// How the program says it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Status {
    Idle,
    Busy,
    /// A dialog is open.
    Waiting,
    #[serde(other)]
    Unknown,
}

#[derive(Debug, Deserialize)]
struct Own {
    status: Status,
}

impl Papers {
    pub fn new(folder: &Path, home: &Path, conversation: &str) -> Self {
        let claude = home.join(".claude");
        Self {
            folder: folder.to_owned(),
            projects: claude.join("projects"),
            conversation: conversation.to_owned(),
            own: claude.join("sessions"),
            hooks_read: 0,
            transcript_read: 0,
            was_free: false,
        }
    }

    /// From here on only what this process says is news.
    pub fn of_process(mut self, pid: i32) -> Result<Self, TerminalError> {
        self.own = self.own.join(format!("{pid}.json"));
        let length = |path: &Path| path.metadata().map_or(0, |found| found.len());
        self.hooks_read = length(&self.folder.join(crate::agent::HOOKS));
        self.transcript_read = self.transcript()?.map_or(0, |path| length(&path));
        Ok(self)
    }

    /// Whether the program knows the conversation.
    pub fn is_begun(&self) -> Result<bool, TerminalError> {
        Ok(self.transcript()?.is_some())
    }

    pub fn status(&mut self) -> Result<Status, TerminalError> {
        let bytes = files::read_head(&self.own, MAX_BYTES)?.unwrap_or_default();
        // Not there yet, or being written.
        let status = serde_json::from_slice(&bytes).map_or(Status::Unknown, |own: Own| own.status);
        self.was_free |= status == Status::Idle;
        Ok(status)
    }

    /// The hooks that fired since the last look.
    pub fn hooks(&mut self) -> Result<Vec<HookNote>, TerminalError> {
        let (notes, next) = hooks::notes(&self.folder, self.hooks_read)?;
        self.hooks_read = next;
        Ok(notes)
    }

    /// What was said since the last look.
    pub fn said(&mut self) -> Result<Vec<Said>, TerminalError> {
        let Some(path) = self.transcript()? else { return Ok(Vec::new()) };
        let (lines, next) = journal::lines(&path, self.transcript_read)?;
        self.transcript_read = next;
        Ok(lines.iter().filter_map(|line| Said::read(line)).collect())
    }

    pub fn figures(&self) -> Result<Figures, TerminalError> {
        let bytes = files::read_head(&self.folder.join(STATUS), MAX_BYTES)?.unwrap_or_default();
        Ok(serde_json::from_slice(&bytes).unwrap_or_default())
    }

    /// The name of its folder is made from that of the workspace, in a way that only the program knows.
    fn transcript(&self) -> Result<Option<PathBuf>, TerminalError> {
        let folders = match std::fs::read_dir(&self.projects) {
            Ok(folders) => folders,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(FileError::Read { path: self.projects.clone(), source }.into()),
        };
        let name = format!("{}.jsonl", self.conversation);
        for folder in folders {
            let path = folder?.path().join(&name);
            if path.exists() {
                return Ok(Some(path));
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_cannot_be_read_does_not_mean_that_nothing_was_said() {
        let home = tempfile::tempdir().unwrap();
        let papers = Papers::new(home.path(), home.path(), "c-1");
        assert!(!papers.is_begun().unwrap(), "there is no folder yet");
        let projects = home.path().join(".claude/projects");
        std::fs::create_dir_all(projects.join("p")).unwrap();
        assert!(!papers.is_begun().unwrap(), "nor a conversation");
        std::fs::write(projects.join("p/c-1.jsonl"), "").unwrap();
        assert!(papers.is_begun().unwrap());
        std::fs::remove_dir_all(&projects).unwrap();
        // The one error that even root gets.
        std::fs::write(&projects, "").unwrap();
        assert!(matches!(papers.is_begun(), Err(TerminalError::File(FileError::Read { .. }))));
    }
}
