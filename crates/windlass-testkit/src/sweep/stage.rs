//! A machine in a folder that lies in memory: a checkout with its project, its state, the agents' scripts.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::SystemTime;

use serde_json::Value;
use tempfile::TempDir;
use windlass_store::{Mode, SqliteStore};

use super::people::Person;
use super::scenario::Scenario;

/// SIGKILL keeps what was written to files, so a folder in memory is a fair place, and a fast one.
const MEMORY: &str = "/dev/shm";

#[derive(Debug)]
pub struct Stage {
    pub scenario: &'static Scenario,
    folder: TempDir,
    program: PathBuf,
    pub(super) people: Vec<Person>,
    pub(super) lives: u32,
    store: Option<SqliteStore>,
}

/// The program that was built with crash points, by `./check` or by whoever names it. `None` when there is none.
pub fn program() -> Option<PathBuf> {
    let path = PathBuf::from(std::env::var_os("WINDLASS_PROOF_BIN")?);
    assert!(path.is_file(), "WINDLASS_PROOF_BIN names `{}`, which is not there", path.display());
    Some(path)
}

impl Stage {
    /// The project with its issues. Nothing runs yet.
    pub fn new(program: &Path, scenario: &'static Scenario) -> Self {
        let mut builder = tempfile::Builder::new();
        builder.prefix("windlass-sweep-");
        let folder = builder.tempdir_in(MEMORY).or_else(|_| builder.tempdir()).expect("a folder can be made");
        let people = scenario.people.iter().map(Person::new).collect();
        let program = program.to_owned();
        let mut stage = Self { scenario, folder, program, people, lives: 0, store: None };
        stage.prepare();
        stage
    }

    fn prepare(&mut self) {
        for name in ["repo", "home"] {
            std::fs::create_dir(self.path(name)).expect("a folder can be made");
        }
        for (name, text) in self.scenario.files(&self.path("")) {
            let path = self.path(&name);
            let mode = if text.starts_with("#!") { 0o755 } else { 0o644 };
            std::fs::write(&path, text).expect("a file can be written");
            let mode = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(&path, mode).expect("a file of ours can be made to run");
        }
        self.git(&["init", "-q", "-b", "main"]);
        // The settings name folders of this run, so that they stay out of what is compared.
        self.git(&["add", "README"]);
        self.git(&["commit", "-q", "-m", "begin"]);
        self.must(&["init", "--yes"]);
        for title in self.scenario.issues {
            self.must(&["new", title, "--body", "do it"]);
        }
        self.remember_store();
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn repo(&self) -> PathBuf {
        self.state().join("repo.git")
    }

    /// The state folder that the project got.
    pub fn state(&self) -> PathBuf {
        let states = self.path("state/windlass");
        let mut all = std::fs::read_dir(states).expect("there is a state").flatten();
        all.next().expect("there is a state").path()
    }

    /// Lets go of the database, so that nobody holds it but daemons.
    pub fn forget_store(&mut self) {
        self.store = None;
    }

    pub fn remember_store(&mut self) {
        self.store = Some(SqliteStore::open(&self.state(), Mode::ReadOnly).expect("the store can be read"));
    }

    pub fn store(&self) -> &SqliteStore {
        self.store.as_ref().expect("opened when the stage was made")
    }

    /// The program in the checkout, with nothing but the search path and its own folders.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(args).current_dir(self.path("repo")).stdin(Stdio::null());
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", self.path("home")).env("XDG_STATE_HOME", self.path("state"));
        command
    }

    pub fn must(&self, args: &[&str]) -> String {
        run(&mut self.command(args))
    }

    pub fn json(&self, args: &[&str]) -> Value {
        serde_json::from_str(&self.must(&[args, &["--json"]].concat())).expect("an answer in JSON")
    }

    /// Git in the checkout, without anybody's settings.
    pub fn git(&self, args: &[&str]) -> String {
        let mut command = Command::new("git");
        command.args(["-c", "user.name=T", "-c", "user.email=t@localhost"]).args(args);
        command.current_dir(self.path("repo")).env_clear().env("HOME", self.path("home"));
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null");
        run(&mut command)
    }

    /// Git on the bare repository.
    pub fn bare(&self, args: &[&str]) -> String {
        let repo = self.repo();
        self.git(&[&["--git-dir", &repo.to_string_lossy()], args].concat()).trim().to_owned()
    }

    /// One more issue with the usual agent.
    pub fn file_another(&self) {
        let filed = self.json(&["new", "another"]);
        let number = filed["number"].as_u64().expect("an issue has a number");
        std::fs::write(self.path(&format!("{number}.sh")), "ready\n").expect("a file can be written");
    }

    /// Every process that was given something of this state, by its command.
    pub fn processes(&self) -> Vec<String> {
        let ours = self.state().to_string_lossy().into_owned();
        let all = std::fs::read_dir("/proc").into_iter().flatten().flatten().map(|entry| entry.path());
        let found = all.filter_map(|process| {
            let given = |name: &str| std::fs::read(process.join(name)).unwrap_or_default();
            let text = String::from_utf8_lossy(&[given("environ"), given("cmdline")].concat()).into_owned();
            let command = String::from_utf8_lossy(&given("cmdline")).replace('\0', " ");
            text.contains(&ours).then(|| format!("{} {command}", process.display()))
        });
        found.collect()
    }

    /// Every event and the daemons' log, for whoever has to find out.
    pub fn story(&self) -> String {
        let log = std::fs::read_to_string(self.path("daemon.log")).unwrap_or_default();
        let mut command = self.command(&["events", "--json"]);
        let events = command.output().map(|done| String::from_utf8_lossy(&done.stdout).into_owned());
        format!("events:\n{}\nlog:\n{log}", events.unwrap_or_default())
    }

    /// Ends what a run that went wrong has left.
    pub fn end_all(&self) {
        drop(self.command(&["down"]).output());
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.end_all();
        }
    }
}

fn run(command: &mut Command) -> String {
    let done = command.output().expect("a program can be started");
    let err = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{command:?} ended with {}: {err}", done.status);
    String::from_utf8_lossy(&done.stdout).into_owned()
}

pub fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
