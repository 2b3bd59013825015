//! A person's machine in a temporary folder: a git checkout, a home, and the real program with an empty environment.

pub mod fits;

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

pub struct Machine {
    folder: TempDir,
}

/// How a run of the program ended.
#[derive(Debug)]
pub struct Ran {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Machine {
    /// A checkout with one commit on `main`.
    pub fn new() -> Self {
        let machine = Self::without_git();
        machine.git(&["init", "-q", "-b", "main"]);
        machine.git(&["commit", "-q", "--allow-empty", "-m", "begin"]);
        machine
    }

    /// With a project that could start.
    pub fn with_project() -> Self {
        let machine = Self::new();
        let ran = machine.run(&["init", "--yes", "--ci", "true", "--agent", "command:true"]);
        assert_eq!(ran.code, 0, "{ran:?}");
        machine
    }

    pub fn without_git() -> Self {
        let machine = Self { folder: tempfile::tempdir().unwrap() };
        std::fs::create_dir(machine.repo()).unwrap();
        std::fs::create_dir(machine.path("home")).unwrap();
        machine
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    pub fn repo(&self) -> PathBuf {
        self.path("repo")
    }

    /// The state folder that the project got.
    pub fn state(&self) -> PathBuf {
        let all = std::fs::read_dir(self.path("state/windlass")).unwrap();
        let all: Vec<PathBuf> = all.map(|entry| entry.unwrap().path()).collect();
        assert_eq!(all.len(), 1, "{all:?}");
        all[0].clone()
    }

    pub fn write(&self, name: &str, text: &str) {
        let path = self.repo().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub fn append_config(&self, text: &str) {
        let path = self.repo().join("windlass.toml");
        let before = std::fs::read_to_string(&path).unwrap();
        std::fs::write(path, format!("{before}{text}")).unwrap();
    }

    /// Puts the project's file on main, where it counts.
    pub fn commit_config(&self, text: &str) {
        self.write("windlass.toml", text);
        self.git(&["add", "windlass.toml"]);
        self.git(&["commit", "-q", "-m", "configure", "windlass.toml"]);
    }

    /// The user's own file, with the limits of the machine.
    pub fn write_user_config(&self, text: &str) {
        let path = self.path("home/.config/windlass/config.toml");
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub fn git(&self, args: &[&str]) -> String {
        let mut command = Command::new("git");
        command
            .args(["-c", "user.name=T", "-c", "user.email=t@localhost"])
            .args(args)
            .current_dir(self.repo());
        command.env_clear().env("PATH", search_path()).env("GIT_CONFIG_GLOBAL", "/dev/null");
        let done = command.env("GIT_CONFIG_NOSYSTEM", "1").output().unwrap();
        assert!(done.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap()
    }

    /// The program in the checkout, with nothing but PATH, HOME and XDG_STATE_HOME.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_windlass"));
        command.args(args).current_dir(self.repo()).stdin(Stdio::null());
        command.env_clear().env("PATH", search_path()).env("HOME", self.path("home"));
        command.env("XDG_STATE_HOME", self.path("state"));
        command
    }

    pub fn run(&self, args: &[&str]) -> Ran {
        self.command(args).output().unwrap().into()
    }

    /// The one JSON object that the command prints.
    pub fn json(&self, args: &[&str]) -> Value {
        self.json_with(args, 0)
    }

    /// The same from a command that ends with this code.
    pub fn json_with(&self, args: &[&str], code: i32) -> Value {
        let ran = self.run(&[args, &["--json"]].concat());
        assert_eq!(ran.code, code, "{args:?}: {ran:?}");
        serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{args:?}: {error}: {}", ran.out))
    }

    /// An error for people and the same for programs: both must have this code and this exit code.
    pub fn fails(&self, args: &[&str], code: &str, exit: i32) -> Ran {
        let ran = self.run(args);
        assert_eq!(ran.code, exit, "{args:?}: {ran:?}");
        assert!(ran.err.contains(&format!("error[{code}]: ")), "{args:?}: {}", ran.err);
        assert_eq!(ran.out, "", "{args:?}");
        let json = self.run(&[&["--json"], args].concat());
        let problem: Value =
            serde_json::from_str(&json.err).unwrap_or_else(|_| panic!("{args:?}: {}", json.err));
        assert_eq!((json.code, json.out.as_str()), (exit, ""), "{args:?}");
        assert_eq!(problem["type"], format!("urn:windlass:err:{code}"), "{args:?}");
        assert_eq!((&problem["code"], &problem["exit_code"]), (&code.into(), &exit.into()), "{args:?}");
        assert!(!problem["title"].as_str().unwrap().is_empty(), "{problem}");
        assert!(!problem["next"].as_array().unwrap().is_empty(), "no way out of {problem}");
        ran
    }
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Self {
            code: output.status.code().unwrap_or(-1),
            out: text(&output.stdout),
            err: text(&output.stderr),
        }
    }
}

/// The only thing that is taken from the environment of the tests.
pub fn search_path() -> String {
    std::env::var("PATH").unwrap()
}

/// Every path below a folder with its length and the time of its last change.
pub fn listing(folder: &Path) -> Vec<(PathBuf, u64)> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let entry = entry.unwrap();
            let meta = entry.metadata().unwrap();
            found.push((entry.path(), if meta.is_file() { meta.len() } else { 0 }));
            if meta.is_dir() {
                folders.push(entry.path());
            }
        }
    }
    found.sort();
    found
}
