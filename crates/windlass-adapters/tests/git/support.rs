//! A user's checkout, the bare repository made from it, and clones to do harm in.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;
use windlass_adapters::git::{BareRepo, Git};
use windlass_core::id::Sha;
use windlass_core::time::Millis;

pub const AT: Millis = Millis(1_700_000_000_000);

/// What an enemy does to a folder, with a name for the report.
pub type Attack<'a> = (&'a str, &'a dyn Fn(&Path));

pub struct World {
    folder: TempDir,
    pub repo: BareRepo,
}

impl World {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let user = folder.path().join("user");
        std::fs::create_dir(&user).unwrap();
        git(&user, &["init", "-q", "-b", "main"]);
        write(&user, "a.txt", "one\ntwo\nthree\n");
        write(&user, "src/b.txt", "b\n");
        write(&user, ".gitignore", "ignored/\n");
        git(&user, &["add", "-A"]);
        git(&user, &["commit", "-qm", "first"]);
        let repo = BareRepo::create_from(&runner(), &folder.path().join("bare.git"), &user, "main").unwrap();
        Self { folder, repo }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn user(&self) -> PathBuf {
        self.path("user")
    }

    pub fn main(&self) -> Sha {
        self.repo.main_tip("main").unwrap()
    }

    pub fn clone(&self, name: &str) -> PathBuf {
        let dest = self.path(name);
        self.repo.clone_for_session(&dest, name, &self.main(), "dev-1.1-1").unwrap();
        dest
    }

    /// A commit on main with another repository in the folder `sub`.
    pub fn commit_with_submodule(&self) -> Sha {
        let library = self.path("library");
        std::fs::create_dir(&library).unwrap();
        git(&library, &["init", "-q", "-b", "main"]);
        write(&library, "lib.txt", "lib\n");
        git(&library, &["add", "-A"]);
        git(&library, &["commit", "-qm", "library"]);
        let clone = self.clone("with-submodule");
        git(&clone, &["submodule", "--quiet", "add", library.to_str().unwrap(), "sub"]);
        git(&clone, &["commit", "-qm", "submodule"]);
        self.repo.fetch_work(&clone, "with-submodule").unwrap().head
    }

    /// A commit on top of `parent` with these files, made without any checkout of ours.
    pub fn commit(&self, parent: &Sha, files: &[(&str, &str)]) -> Sha {
        let temp = tempfile::tempdir_in(self.folder.path()).unwrap();
        let clone = temp.path().join("c");
        self.repo.clone_for_session(&clone, "made-up", parent, "somebody").unwrap();
        for (name, text) in files {
            write(&clone, name, text);
        }
        git(&clone, &["add", "-A"]);
        git(&clone, &["commit", "-qm", files[0].0]);
        self.repo.fetch_work(&clone, "made-up").unwrap().head
    }
}

pub fn runner() -> Git {
    Git::new(std::env::var_os("PATH").unwrap())
}

/// What a user or an agent types: no protection at all.
pub fn git(folder: &Path, args: &[&str]) -> String {
    let (ok, text) = try_git(folder, args);
    assert!(ok, "git {args:?}: {text}");
    text
}

pub fn try_git(folder: &Path, args: &[&str]) -> (bool, String) {
    let output = Command::new("git")
        .args(["-c", "user.name=u", "-c", "user.email=u@localhost"])
        // Submodules come from folders here.
        .args(["-c", "protocol.file.allow=always"])
        .args(args)
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("WINDLASS_SESSION", "dev-1.1-1")
        .output()
        .unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&text).trim().to_owned())
}

pub fn write(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

pub fn read(folder: &Path, name: &str) -> String {
    std::fs::read_to_string(folder.join(name)).unwrap()
}

/// A program that leaves a file behind if it ever runs.
pub fn canary(folder: &Path, name: &str) -> (PathBuf, PathBuf) {
    let (script, sign) = (folder.join(format!("run-{name}")), folder.join(format!("canary-{name}")));
    std::fs::write(&script, format!("#!/bin/sh\ntouch {}\ncat\n", sign.display())).unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    (script, sign)
}
