//! A factory in a temporary folder, driven through the command line and watched through its event log.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::common::Machine;

/// Far above what anything needs, also on a loaded machine: it only ends a test that would hang.
const PATIENCE: Duration = Duration::from_secs(120);

pub struct Works {
    pub machine: Machine,
    daemon: Option<Child>,
}

/// The event log as it grows.
pub struct Log {
    follower: Child,
    lines: Receiver<Value>,
    pub seen: Vec<Value>,
}

impl Works {
    /// A project with this configuration and these files; agents are scripts beside the checkout.
    pub fn new(config: &str, files: &[(&str, &str)]) -> Self {
        let machine = Machine::without_git();
        for (name, text) in files {
            machine.write(name, text);
        }
        let config = config.replace("@", &machine.path("").to_string_lossy());
        let guards = "\n[guards]\nmin_free_memory_mb = 0\nmin_free_disk_mb = 0\n";
        machine.write("windlass.toml", &format!("{config}{guards}"));
        machine.git(&["init", "-q", "-b", "main"]);
        machine.git(&["add", "--all"]);
        machine.git(&["commit", "-q", "-m", "begin"]);
        let works = Self { machine, daemon: None };
        works.must(&["init", "--yes"]);
        works
    }

    /// A script beside the checkout, reached in the configuration as `@name`.
    pub fn script(&self, name: &str, text: &str) {
        std::fs::write(self.machine.path(name), text).unwrap();
    }

    pub fn must(&self, args: &[&str]) -> String {
        let ran = self.machine.run(args);
        assert_eq!(ran.code, 0, "{args:?}: {ran:?}");
        ran.out
    }

    /// A command for a daemon that may still be starting: it is waited for, and must then do as it is told.
    pub fn order(&self, args: &[&str]) {
        self.wait_until("the daemon", || self.machine.json(&["status"])["daemon"]["state"] == "up");
        self.must(args);
    }

    pub fn new_issue(&self, title: &str, body: &str) -> u64 {
        self.machine.json(&["new", title, "--body", body])["number"].as_u64().unwrap()
    }

    pub fn up(&mut self) {
        assert!(self.daemon.is_none());
        self.daemon = Some(self.start());
    }

    /// Takes care of a daemon that was started in some other way.
    pub fn adopt(&mut self, daemon: Child) {
        assert!(self.daemon.replace(daemon).is_none());
    }

    /// A daemon that the caller ends.
    pub fn start(&self) -> Child {
        let log = std::fs::OpenOptions::new().create(true).append(true).open(self.machine.path("daemon.log"));
        let mut command = self.machine.command(&["up", "--foreground"]);
        command.stdout(Stdio::null()).stderr(log.unwrap()).spawn().unwrap()
    }

    /// SIGKILL, as the kernel or an impatient person would do it.
    pub fn kill(&mut self) {
        let mut daemon = self.daemon.take().expect("a running daemon");
        daemon.kill().unwrap();
        daemon.wait().unwrap();
    }

    pub fn down(&mut self) {
        let said = self.must(&["down"]);
        assert!(said.contains("0 processes left"), "{said}");
        if let Some(mut daemon) = self.daemon.take() {
            assert!(daemon.wait().unwrap().success(), "{}", self.daemon_log());
        }
    }

    pub fn daemon_log(&self) -> String {
        std::fs::read_to_string(self.machine.path("daemon.log")).unwrap_or_default()
    }

    pub fn log(&self) -> Log {
        let mut command = self.machine.command(&["events", "--json", "--follow", "--since", "0"]);
        let mut follower = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let out = follower.stdout.take().unwrap();
        let (send, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(out).lines().map_while(Result::ok) {
                let sent = serde_json::from_str(&line).ok().map(|event| send.send(event));
                if !matches!(sent, Some(Ok(()))) {
                    break;
                }
            }
        });
        Log { follower, lines, seen: Vec::new() }
    }

    pub fn events(&self) -> Vec<Value> {
        let text = self.must(&["events", "--json"]);
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Waits until something is true that nobody tells of.
    pub fn wait_until(&self, what: &str, mut holds: impl FnMut() -> bool) {
        let until = Instant::now() + PATIENCE;
        while !holds() {
            assert!(Instant::now() < until, "waited for {what} in vain");
            std::thread::park_timeout(Duration::from_millis(20));
        }
    }

    /// What lies in a session's folder.
    pub fn session_file(&self, session: &str, name: &str) -> PathBuf {
        self.machine.state().join("sessions").join(session).join(name)
    }

    /// A record that lies in a session's folder, which is whole or not there.
    pub fn record(&self, session: &str, name: &str) -> Value {
        let text =
            std::fs::read_to_string(self.session_file(session, name)).unwrap_or_else(|_| "null".into());
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{session}/{name}: {error}: {text}"))
    }

    /// The identities of the project, as `windlass agents` lists them.
    pub fn agent(&self, name: &str) -> Value {
        let all = self.machine.json(&["agents", "--all"]);
        all["agents"]
            .as_array()
            .unwrap()
            .iter()
            .find(|agent| agent["name"] == name)
            .cloned()
            .unwrap_or_default()
    }

    /// Waits until a script has written this file beside the checkout.
    pub fn wait_note(&self, name: &str) {
        self.wait_path(&self.machine.path(name));
    }

    /// A file is the only sign that a script gives of how far it has come.
    pub fn wait_path(&self, path: &Path) {
        let until = Instant::now() + PATIENCE;
        while !path.exists() {
            assert!(Instant::now() < until, "nobody has written `{}`", path.display());
            std::thread::park_timeout(Duration::from_millis(10));
        }
    }

    pub fn repo(&self) -> PathBuf {
        self.machine.state().join("repo.git")
    }

    /// Plain git on the bare repository, as anybody could ask it.
    pub fn git(&self, args: &[&str]) -> String {
        let repo = self.repo();
        let mut all = vec!["--git-dir", repo.to_str().unwrap()];
        all.extend(args);
        self.machine.git(&all).trim().to_owned()
    }

    pub fn workspaces(&self) -> Vec<String> {
        names(&self.machine.state().join("workspaces"))
    }
}

pub fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

impl Log {
    /// Waits for the first event that fits, from the beginning of the log on.
    pub fn wait(&mut self, what: &str, fits: impl Fn(&Value) -> bool) -> Value {
        if let Some(event) = self.seen.iter().find(|event| fits(event)) {
            return event.clone();
        }
        let until = Instant::now() + PATIENCE;
        loop {
            match self.lines.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(event) => {
                    self.seen.push(event.clone());
                    if fits(&event) {
                        return event;
                    }
                }
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    panic!("waited for {what} in vain; the last events:\n{}", self.tail())
                }
            }
        }
    }

    pub fn wait_kind(&mut self, kind: &str, issue: u64) -> Value {
        self.wait(&format!("{kind} of #{issue}"), |event| event["kind"] == kind && event["issue"] == issue)
    }

    pub fn wait_state(&mut self, issue: u64, state: &str) -> Value {
        self.wait(&format!("{state} of #{issue}"), |event| {
            event["kind"] == "task_moved" && event["issue"] == issue && event["data"]["to"] == state
        })
    }

    /// The state and reason in which the issue's task ended.
    pub fn wait_end(&mut self, issue: u64) -> (String, String) {
        let ended = |event: &Value| {
            let to = event["data"]["to"].as_str().unwrap_or_default();
            event["kind"] == "task_moved"
                && event["issue"] == issue
                && ["MERGED", "CLOSED", "ABANDONED"].contains(&to)
        };
        let event = self.wait(&format!("the end of #{issue}"), ended);
        let word = |key: &str| event["data"][key].as_str().unwrap().to_owned();
        (word("to"), word("reason"))
    }

    fn tail(&self) -> String {
        let last = self.seen.iter().rev().take(25).rev();
        last.map(Value::to_string).collect::<Vec<_>>().join("\n")
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        drop(self.follower.kill());
        drop(self.follower.wait());
    }
}

impl Drop for Works {
    /// A failed test must not leave processes behind either.
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("the daemon said:\n{}", self.daemon_log());
            drop(self.machine.run(&["down"]));
        }
        if let Some(mut daemon) = self.daemon.take() {
            drop(self.machine.run(&["down"]));
            drop(daemon.kill());
            drop(daemon.wait());
        }
    }
}
