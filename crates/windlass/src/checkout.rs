//! What git says about a person's checkout. It is only asked, never changed.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use windlass_adapters::process::{Captured, Full, Limits, RunError, capture};
use windlass_core::text::one_line;

use crate::error::CliError;
use crate::exit::Exit;
use crate::project::not_git;
use crate::redact;

const LIMITS: Limits = Limits { time: Duration::from_secs(30), stdout: 1 << 20, when_full: Full::Fail };
/// A file of the configuration is far smaller; what is larger is still read, to say so.
const FILES: Limits = Limits { time: Duration::from_secs(30), stdout: 64 << 20, when_full: Full::Fail };

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
            let why = String::from_utf8_lossy(&asked.stderr).trim().to_owned();
            let bare = git(search_path, folder, &["rev-parse", "--is-bare-repository"])?;
            if bare.stdout.starts_with(b"true") {
                return Err(not_git(folder)
                    .why("it is a bare repository")
                    .next("git clone it, and go there"));
            }
            return Err(not_git(folder).why(why));
        }
        let root = PathBuf::from(String::from_utf8_lossy(&asked.stdout).trim_end_matches('\n'));
        let root = root.canonicalize().map_err(|source| CliError::io("use", &root, source))?;
        Ok(Self { root, search_path: search_path.to_owned() })
    }

    /// Work is merged by its history, so all of it must be there.
    pub fn must_be_whole(&self) -> Result<(), CliError> {
        if self.ask(&["rev-parse", "--is-shallow-repository"])?.as_deref() != Some("true") {
            return Ok(());
        }
        Err(CliError::new("shallow", Exit::Failed, format!("`{}` is a shallow clone", self.root.display()))
            .why("a part of its history is missing")
            .next("git fetch --unshallow"))
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

    /// Where `origin` lies, without whatever lets one in.
    pub fn origin(&self) -> Result<Option<String>, CliError> {
        let address = self.ask(&["remote", "get-url", "origin"])?;
        Ok(address.map(|address| one_line(&redact::address(&address), 300)))
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

/// The files by their names such as `HEAD:path`, in the same order; `None` for one that is in no commit of that name.
pub fn committed<const N: usize>(
    search_path: &str,
    root: &Path,
    names: [&str; N],
) -> Result<[Option<Vec<u8>>; N], CliError> {
    let mut command = plain(search_path, root);
    command.args(["cat-file", "--batch"]);
    let asked = names.map(|name| format!("{name}\n")).concat();
    let answer = capture(&mut command, Some(asked.as_bytes()), &FILES).map_err(cannot_ask)?;
    if answer.code() != 0 {
        let said = String::from_utf8_lossy(&answer.stderr).trim().to_owned();
        return Err(CliError::new("git", Exit::Failed, "cannot read what is committed").why(said));
    }
    let mut rest = answer.stdout.as_slice();
    Ok(names.map(|_| next_file(&mut rest)))
}

/// Files that change when the branch moves. None when git does not answer: then only the other files are watched.
pub fn branch_files(search_path: &str, root: &Path, branch: &str) -> Vec<PathBuf> {
    let asked = git(search_path, root, &["rev-parse", "--git-common-dir"]);
    let Some(asked) = asked.ok().filter(|asked| asked.code() == 0) else { return Vec::new() };
    let common = root.join(String::from_utf8_lossy(&asked.stdout).trim_end_matches('\n'));
    let local = format!("refs/heads/{branch}");
    let remote = format!("refs/remotes/origin/{branch}");
    [local.as_str(), &remote, "packed-refs", "reftable/tables.list"].map(|name| common.join(name)).to_vec()
}

/// `<id> blob <size>` and the file, or a line that says that there is none.
fn next_file(rest: &mut &[u8]) -> Option<Vec<u8>> {
    let end = rest.iter().position(|byte| *byte == b'\n')?;
    let line = String::from_utf8_lossy(&rest[..end]).into_owned();
    *rest = &rest[end + 1..];
    let size = line.split(' ').nth(2)?.parse::<usize>().ok()?;
    let is_file = line.split(' ').nth(1) == Some("blob");
    let file = rest.get(..size)?.to_vec();
    *rest = rest.get(size + 1..).unwrap_or_default();
    is_file.then_some(file)
}

fn git(search_path: &str, folder: &Path, args: &[&str]) -> Result<Captured, CliError> {
    capture(plain(search_path, folder).args(args), None, &LIMITS).map_err(cannot_ask)
}

/// With an environment of its own: a variable such as `GIT_DIR` would answer for another repository.
fn plain(search_path: &str, folder: &Path) -> Command {
    let mut command = Command::new("git");
    command.env_clear().env("PATH", search_path).env("LC_ALL", "C").env("GIT_OPTIONAL_LOCKS", "0");
    command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null");
    command.args(["-c", "core.fsmonitor=false"]).current_dir(folder);
    command
}

fn cannot_ask(error: RunError) -> CliError {
    CliError::new("git", Exit::Failed, "cannot ask git")
        .because(error)
        .next("install git and put it on the PATH")
}
