//! A reusable folder with a clean checkout of one exact commit, for builds and reviews.

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::FlockOperation;
use windlass_core::id::Sha;

use super::bare::BareRepo;
use super::error::GitError;
use super::nested::remove_nested;
use crate::files;

/// `work` is what hostile code may write; index and lock lie beside it, the git folder lies elsewhere.
#[derive(Debug, Clone)]
pub struct Slot {
    folder: PathBuf,
    keep: Vec<String>,
}

impl Slot {
    /// `keep` are folders of caches, relative to the checkout, that survive from one commit to the next.
    pub fn new(folder: &Path, keep: Vec<String>) -> Result<Self, GitError> {
        if let Some(name) = keep.iter().find(|path| !Self::can_keep(path)) {
            return Err(GitError::BadName { name: name.clone() });
        }
        files::private_dir(folder)?;
        let folder =
            folder.canonicalize().map_err(|source| GitError::Io { path: folder.to_owned(), source })?;
        Ok(Self { folder, keep })
    }

    /// Whether this is the name of a folder inside the checkout, and of nothing else.
    pub fn can_keep(folder: &str) -> bool {
        let path = Path::new(folder);
        path.components().all(|part| matches!(part, std::path::Component::Normal(_)))
            && path.components().next().is_some_and(|first| first.as_os_str() != ".git")
            && !folder.contains(['*', '?', '[', '\\', '!'])
            && !folder.contains(char::is_control)
    }

    /// Where the checkout is.
    pub fn work(&self) -> PathBuf {
        self.folder.join("work")
    }

    /// Makes the folder hold exactly `commit`, whatever was done to it since. Nothing may run in it any more.
    /// Three processes; six when the folder has to be thrown away.
    pub fn check_out(&self, repo: &BareRepo, commit: &Sha) -> Result<PathBuf, GitError> {
        let lock = self.lock()?;
        files::remove_tree(&self.folder.join("index.lock"))?;
        let reused = self.is_usable() && self.reset(repo, commit, &lock).is_ok();
        if !reused {
            files::remove_tree(&self.work())?;
            files::remove_tree(&self.folder.join("index"))?;
            files::remove_tree(&self.folder.join("index.lock"))?;
            files::private_dir(&self.work())?;
            self.reset(repo, commit, &lock)?;
        }
        self.write_git_dir(repo, commit)?;
        Ok(self.work())
    }

    fn is_usable(&self) -> bool {
        self.work().symlink_metadata().is_ok_and(|found| found.is_dir())
    }

    /// Git works with the bare repository and our own index; a `.git` inside is only one more thing to remove.
    fn reset(&self, repo: &BareRepo, commit: &Sha, lock: &File) -> Result<(), GitError> {
        files::remove_tree(&self.work().join(".git"))?;
        for path in &self.keep {
            let path = self.work().join(path);
            if path.symlink_metadata().is_ok_and(|found| !found.is_dir()) {
                files::remove_tree(&path)?;
            }
        }
        self.call(repo, lock)?.args(["read-tree", "--reset", "-u", commit.as_str()]).done()?;
        let mut clean = self.call(repo, lock)?.args(["clean", "-ffdxq"]);
        for path in &self.keep {
            clean = clean.arg("-e").arg(format!("/{path}"));
        }
        clean.done()?;
        remove_nested(self.call(repo, lock)?, &self.work(), &self.keep)
    }

    /// The lock goes along with each process: a new daemon waits until the old one's git is done here.
    fn call<'a>(&self, repo: &'a BareRepo, lock: &File) -> Result<super::run::Call<'a>, GitError> {
        repo.call()
            .env("GIT_WORK_TREE", self.work())
            .env("GIT_INDEX_FILE", self.folder.join("index"))
            .cwd(&self.work())
            .holding(lock)
    }

    fn lock(&self) -> Result<File, GitError> {
        let path = self.folder.join("lock");
        let failed = |source| GitError::Io { path: path.clone(), source };
        let file = OpenOptions::new().create(true).append(true).open(&path).map_err(failed)?;
        let until = Instant::now() + Duration::from_secs(30);
        loop {
            match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(file),
                Err(rustix::io::Errno::WOULDBLOCK | rustix::io::Errno::INTR) if Instant::now() < until => {
                    std::thread::sleep(Duration::from_millis(5));
                }
                Err(error) => return Err(failed(error.into())),
            }
        }
    }

    /// A small repository of its own for the tests that ask git something. We never look at it again.
    fn write_git_dir(&self, repo: &BareRepo, commit: &Sha) -> Result<(), GitError> {
        let git_dir = self.work().join(".git");
        let written = (|| {
            std::fs::create_dir_all(git_dir.join("objects/info"))?;
            std::fs::create_dir_all(git_dir.join("objects/pack"))?;
            std::fs::create_dir_all(git_dir.join("refs/heads"))?;
            std::fs::write(git_dir.join("HEAD"), format!("{commit}\n"))?;
            std::fs::write(git_dir.join("objects/info/alternates"), repo.alternates_line())?;
            std::fs::write(git_dir.join("config"), CONFIG)?;
            std::fs::copy(self.folder.join("index"), git_dir.join("index")).map(drop)
        })();
        written.map_err(|source| GitError::Io { path: git_dir, source })
    }
}

const CONFIG: &str = "[core]
\trepositoryformatversion = 0
\tfilemode = true
\tbare = false
[gc]
\tauto = 0
";
