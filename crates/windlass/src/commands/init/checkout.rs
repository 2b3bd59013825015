//! What git says about the checkout that is to become a project. It is only asked, never changed.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use windlass_adapters::process::{Captured, Full, Limits, capture};

use crate::error::CliError;
use crate::exit::Exit;
use crate::project::not_git;

const LIMITS: Limits = Limits { time: Duration::from_secs(30), stdout: 1 << 20, when_full: Full::Fail };

#[derive(Debug)]
pub struct Checkout {
    pub root: PathBuf,
    pub search_path: String,
}

impl Checkout {
    /// The checkout that `folder` lies in.
    pub fn find(search_path: &str, folder: &Path) -> Result<Self, CliError> {
        let asked = git(search_path, folder, &["rev-parse", "--show-toplevel"])?;
        if asked.code() != 0 {
            return Err(not_git(folder).why(String::from_utf8_lossy(&asked.stderr).trim().to_owned()));
        }
        let root = PathBuf::from(String::from_utf8_lossy(&asked.stdout).trim_end_matches('\n'));
        let root = root.canonicalize().map_err(|source| CliError::io("use", &root, source))?;
        Ok(Self { root, search_path: search_path.to_owned() })
    }

    /// The branch that was named, else the one that others call the main one, else the one that is checked out.
    pub fn main_branch(&self, named: Option<&str>) -> Result<String, CliError> {
        if let Some(branch) = named {
            return if self.has(branch)? { Ok(branch.to_owned()) } else { Err(self.no_such(branch)?) };
        }
        let remote = self.ask(&["symbolic-ref", "--quiet", "--short", "refs/remotes/origin/HEAD"])?;
        let remote = remote.and_then(|name| name.strip_prefix("origin/").map(str::to_owned));
        for branch in remote.into_iter().chain(["main".to_owned(), "master".to_owned()]) {
            if self.has(&branch)? {
                return Ok(branch);
            }
        }
        match self.ask(&["symbolic-ref", "--quiet", "--short", "HEAD"])? {
            Some(branch) if self.has(&branch)? => Ok(branch),
            Some(_) | None => Err(self.no_branch()?),
        }
    }

    fn has(&self, branch: &str) -> Result<bool, CliError> {
        let name = format!("refs/heads/{branch}^{{commit}}");
        Ok(self.ask(&["rev-parse", "--verify", "--quiet", "--end-of-options", &name])?.is_some())
    }

    fn no_such(&self, branch: &str) -> Result<CliError, CliError> {
        if self.is_empty()? {
            return Ok(no_commits(&self.root));
        }
        Ok(CliError::new("no-branch", Exit::NotFound, format!("there is no branch `{branch}`"))
            .next("git branch"))
    }

    fn no_branch(&self) -> Result<CliError, CliError> {
        if self.is_empty()? {
            return Ok(no_commits(&self.root));
        }
        Ok(CliError::new("no-branch", Exit::NotFound, "cannot tell which branch is the main one")
            .why("no branch is checked out, and there is neither `main` nor `master`")
            .next("windlass init --branch NAME"))
    }

    fn is_empty(&self) -> Result<bool, CliError> {
        Ok(self.ask(&["rev-list", "--max-count=1", "--all"])?.is_none())
    }

    /// The answer in one line; `None` when git has none.
    fn ask(&self, args: &[&str]) -> Result<Option<String>, CliError> {
        let asked = git(&self.search_path, &self.root, args)?;
        let line = String::from_utf8_lossy(&asked.stdout).trim().to_owned();
        Ok((asked.code() == 0 && !line.is_empty()).then_some(line))
    }
}

fn no_commits(root: &Path) -> CliError {
    CliError::new("no-commits", Exit::NotFound, format!("`{}` has no commits yet", root.display()))
        .next("git add -A && git commit -m \"begin\"")
}

/// With an environment of its own: a variable such as `GIT_DIR` would answer for another repository.
fn git(search_path: &str, folder: &Path, args: &[&str]) -> Result<Captured, CliError> {
    let mut command = Command::new("git");
    command.env_clear().env("PATH", search_path).env("LC_ALL", "C").env("GIT_OPTIONAL_LOCKS", "0");
    command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null");
    command.args(["-c", "core.fsmonitor=false"]).args(args).current_dir(folder);
    capture(&mut command, None, &LIMITS).map_err(|error| {
        CliError::new("git", Exit::Failed, "cannot ask git")
            .because(error)
            .next("install git and put it on the PATH")
    })
}
