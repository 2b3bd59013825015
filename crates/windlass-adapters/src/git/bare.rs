//! The project's bare repository: made once, opened at every start.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::error::GitError;
use super::names::head_ref;
use super::run::{Call, Git};
use crate::files;

/// One bare repository. Only the daemon writes to it.
#[derive(Debug, Clone)]
pub struct BareRepo {
    pub(super) git: Git,
    path: PathBuf,
    pub(super) max_fetch: u64,
}

/// More than this in one go is not a change, it is an attack or an accident.
const MAX_FETCH: u64 = 256 << 20;

/// Every git process of this repository carries this variable, so that a restarted daemon finds them.
pub(super) const MARK: &str = "WINDLASS_GIT_DIR";

impl BareRepo {
    /// Makes the repository from one branch of the user's checkout, which is only read. Doing it again is fine.
    pub fn create_from(git: &Git, path: &Path, source: &Path, branch: &str) -> Result<Self, GitError> {
        let full = head_ref(branch)?;
        if path.exists() {
            return Self::open(git, path);
        }
        files::remove_beside(path, "new")?;
        let temp = files::beside(path, "new");
        let made = Self::build(git, &temp, source, &full);
        let renamed = made.and_then(|()| {
            std::fs::rename(&temp, path).map_err(|source| GitError::Io { path: path.to_owned(), source })
        });
        if let Err(error) = renamed {
            files::remove_tree(&temp)?;
            return Err(error);
        }
        Self::open(git, path)
    }

    /// Opens an existing repository and puts its settings and hook in order.
    pub fn open(git: &Git, path: &Path) -> Result<Self, GitError> {
        let failed = |source| GitError::Io { path: path.to_owned(), source };
        let repo =
            Self { git: git.clone(), path: path.canonicalize().map_err(failed)?, max_fetch: MAX_FETCH };
        if !repo.path.join("HEAD").is_file() || !repo.path.join("objects").is_dir() {
            return Err(GitError::Occupied { path: path.to_owned() });
        }
        repo.write_hook()?;
        Ok(repo)
    }

    /// How large a pack `fetch_work` takes from a session.
    #[must_use]
    pub fn with_fetch_limit(mut self, bytes: u64) -> Self {
        self.max_fetch = bytes;
        self
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn call(&self) -> Call<'_> {
        self.git.call().env("GIT_DIR", &self.path).env(MARK, &self.path)
    }

    fn build(git: &Git, temp: &Path, source: &Path, full: &str) -> Result<(), GitError> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| GitError::Io { path, source }
        };
        let source = source.canonicalize().map_err(failed(source))?;
        git.call().args(["init", "--quiet", "--bare", "--template="]).arg(temp).done()?;
        std::fs::write(temp.join("HEAD"), format!("ref: {full}\n")).map_err(failed(temp))?;
        std::fs::write(temp.join("config"), CONFIG).map_err(failed(temp))?;
        git.call()
            .env("GIT_DIR", temp)
            .args(["fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head"])
            .arg(&source)
            .arg(format!("{full}:{full}"))
            .done()?;
        Ok(())
    }

    /// An agent that pushes to where its clone came from gets a clear no.
    fn write_hook(&self) -> Result<(), GitError> {
        let hooks = self.path.join("hooks");
        let hook = hooks.join("pre-receive");
        let failed = |source| GitError::Io { path: hook.clone(), source };
        if files::read_head(&hook, 4096)?.as_deref() == Some(HOOK.as_bytes()) {
            return Ok(());
        }
        std::fs::create_dir_all(&hooks).map_err(failed)?;
        files::write_atomic(&hook, HOOK.as_bytes())?;
        std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o700)).map_err(failed)
    }
}

const CONFIG: &str = "[core]
\trepositoryformatversion = 0
\tfilemode = true
\tbare = true
\tfsync = committed,loose-object
[gc]
\tauto = 0
[maintenance]
\tauto = false
[receive]
\tautogc = false
";

const HOOK: &str = "#!/bin/sh
# Sessions hand over their work through their phase file; Windlass fetches it.
if [ -n \"$WINDLASS_SESSION\" ]; then
    echo 'Do not push: commit on your branch and write your phase file; Windlass fetches your work itself.' >&2
    exit 1
fi
";
