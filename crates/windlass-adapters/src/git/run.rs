//! Every git process: scrubbed environment, no hooks, no foreign protocols, bounded time and output.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use windlass_core::id::Sha;

use super::error::GitError;
use crate::process::{self, Captured, Full, Limits, RunError};

/// Finds the git program and says how long it may take.
#[derive(Debug, Clone)]
pub struct Git {
    program: PathBuf,
    search_path: OsString,
    time: Duration,
}

impl Git {
    /// `search_path` is the `PATH` git is looked up in and runs with.
    pub fn new(search_path: impl Into<OsString>) -> Self {
        Self { program: "git".into(), search_path: search_path.into(), time: Duration::from_secs(120) }
    }

    #[must_use]
    pub fn with_time_limit(mut self, time: Duration) -> Self {
        self.time = time;
        self
    }

    pub(super) fn call(&self) -> Call<'_> {
        let mut command = Command::new(&self.program);
        command.env_clear().env("PATH", &self.search_path).current_dir("/").stdin(Stdio::null());
        command.envs(ENVIRONMENT).args(SETTINGS.iter().flat_map(|setting| ["-c", setting]));
        Call { git: self, command, shown: String::new(), input: None, max_stdout: 64 << 20, full: Full::Fail }
    }
}

const ENVIRONMENT: [(&str, &str); 15] = [
    ("HOME", "/nonexistent"),
    ("LC_ALL", "C"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_SYSTEM", "/dev/null"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    // A hostile repository may claim that its missing objects are to be had by running a command.
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_ALLOW_PROTOCOL", "file"),
    ("GIT_AUTHOR_NAME", "Windlass"),
    ("GIT_AUTHOR_EMAIL", "windlass@localhost"),
    ("GIT_COMMITTER_NAME", "Windlass"),
    ("GIT_COMMITTER_EMAIL", "windlass@localhost"),
];

const SETTINGS: [&str; 10] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    "core.filesRefLockTimeout=5000",
    "gc.auto=0",
    "maintenance.auto=false",
    "protocol.allow=never",
    "protocol.file.allow=always",
    "submodule.recurse=false",
    "advice.detachedHead=false",
];

/// One git process in the making.
pub(super) struct Call<'a> {
    git: &'a Git,
    command: Command,
    shown: String,
    input: Option<Vec<u8>>,
    max_stdout: usize,
    full: Full,
}

impl Call<'_> {
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        if !self.shown.is_empty() {
            self.shown.push(' ');
        }
        self.shown.push_str(&arg.as_ref().to_string_lossy());
        self.command.arg(arg);
        self
    }

    pub fn args<S: AsRef<OsStr>>(self, args: impl IntoIterator<Item = S>) -> Self {
        args.into_iter().fold(self, Self::arg)
    }

    /// An argument that an error message need not repeat.
    pub fn quiet_arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.command.arg(arg);
        self
    }

    pub fn setting(self, setting: &str) -> Self {
        self.quiet_arg("-c").quiet_arg(setting)
    }

    pub fn env(mut self, key: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(key, value);
        self
    }

    pub fn cwd(mut self, folder: &Path) -> Self {
        self.command.current_dir(folder);
        self
    }

    pub fn input(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.input = Some(bytes.into());
        self
    }

    /// The process holds this lock for as long as it lives, whatever happens to us.
    pub fn holding(mut self, lock: &File) -> Result<Self, GitError> {
        let copy = lock.try_clone().map_err(|source| GitError::Spawn { source })?;
        self.command.stdin(copy);
        Ok(self)
    }

    pub fn file_size_limit(mut self, bytes: u64) -> Self {
        process::limit_file_size(&mut self.command, bytes);
        self
    }

    pub fn cut_after(mut self, bytes: usize) -> Self {
        self.max_stdout = bytes;
        self.full = Full::Cut;
        self
    }

    /// Runs; any exit code but those in `fine` is an error.
    pub fn run(mut self, fine: &[i32]) -> Result<Answer, GitError> {
        let limits = Limits { time: self.git.time, stdout: self.max_stdout, when_full: self.full };
        let args = std::mem::take(&mut self.shown);
        match process::capture(&mut self.command, self.input.as_deref(), &limits) {
            Ok(done) if done.cut || fine.contains(&done.code()) => Ok(Answer { args, done }),
            Ok(done) => Err(GitError::Failed { args, code: done.code(), stderr: tidy(&done.stderr) }),
            Err(RunError::Spawn { source } | RunError::Pipe { source }) => Err(GitError::Spawn { source }),
            Err(RunError::TimedOut { after }) => Err(GitError::TimedOut { args, after }),
            Err(error @ RunError::TooMuch { .. }) => {
                Err(GitError::Output { args, detail: error.to_string() })
            }
        }
    }

    pub fn done(self) -> Result<Answer, GitError> {
        self.run(&[0])
    }
}

/// What a git process said.
pub(super) struct Answer {
    args: String,
    done: Captured,
}

impl Answer {
    pub fn code(&self) -> i32 {
        self.done.code()
    }

    pub fn was_cut(&self) -> bool {
        self.done.cut
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.done.stdout).into_owned()
    }

    pub fn stderr(&self) -> String {
        tidy(&self.done.stderr)
    }

    /// The parts of a `-z` answer.
    pub fn parts(&self) -> Vec<String> {
        self.raw_parts().map(|part| String::from_utf8_lossy(part).into_owned()).collect()
    }

    /// The same as they are: a path may be anything.
    pub fn raw_parts(&self) -> impl Iterator<Item = &[u8]> {
        self.done
            .stdout
            .split_inclusive(|byte| *byte == 0)
            .map(|part| part.strip_suffix(b"\0").unwrap_or(part))
    }

    pub fn sha(&self) -> Result<Sha, GitError> {
        self.parse_sha(self.text().trim())
    }

    pub fn parse_sha(&self, text: &str) -> Result<Sha, GitError> {
        Sha::parse(text).map_err(|error| self.unusable(&error.to_string()))
    }

    /// The exit code was fine in itself, but not with this output.
    pub fn failed(&self) -> GitError {
        GitError::Failed { args: self.args.clone(), code: self.code(), stderr: self.stderr() }
    }

    pub fn unusable(&self, detail: &str) -> GitError {
        GitError::Output { args: self.args.clone(), detail: detail.to_owned() }
    }
}

/// The text of an error, short enough for a log line.
fn tidy(stderr: &[u8]) -> String {
    String::from_utf8_lossy(stderr).trim().chars().take(2_000).collect()
}
