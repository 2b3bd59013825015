//! A session folder, the shim program, and waiting for what no event tells of.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use windlass_adapters::process::{GroupLimits, ProcessId};
use windlass_adapters::shim::client::{self, Spawned};
use windlass_adapters::shim::{Exit, Fact, Framing, Launch};

/// No further variables.
pub const NOTHING: BTreeMap<String, String> = BTreeMap::new();

pub struct Session {
    outer: TempDir,
    pub launch: Launch,
}

impl Session {
    /// A program given as a shell script.
    pub fn new(framing: Framing, script: &str) -> Self {
        let outer = tempfile::tempdir().unwrap();
        let launch = Launch {
            again: None,
            argv: vec!["sh".into(), "-c".into(), script.into()],
            env: BTreeMap::from([("PATH".into(), std::env::var("PATH").unwrap())]),
            cwd: outer.path().to_owned(),
            framing,
            wall_limit_ms: Some(60_000),
            keep_warm_ms: 0,
            max_line_bytes: 1 << 20,
            max_output_bytes: 64 << 20,
            term_grace_ms: 5_000,
            limits: GroupLimits::default(),
        };
        Self { outer, launch }
    }

    pub fn with(mut self, change: impl FnOnce(&mut Launch)) -> Self {
        change(&mut self.launch);
        self
    }

    pub fn folder(&self) -> PathBuf {
        self.outer.path().join("session")
    }

    /// Next to the session's folder, and the program's working folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.outer.path().join(name)
    }

    pub fn prepare(&self) -> &Self {
        client::prepare(&self.folder(), &self.launch).unwrap();
        self
    }

    pub fn say(&self, id: &str, text: &str) -> &Self {
        client::say(&self.folder(), id, text).unwrap();
        self
    }

    pub fn spawn(&self) -> &Self {
        assert_eq!(client::spawn(&shim(), &self.folder(), &NOTHING).unwrap(), Spawned::Started);
        self
    }

    /// Waits for the shim to leave and says how it ended.
    pub fn end(&self) -> Exit {
        client::wait_gone(&self.folder()).unwrap();
        let log = self.read("session/shim.log");
        assert_eq!(log, "", "the shim had something to say");
        client::exit(&self.folder()).unwrap().expect("an exit file")
    }

    pub fn run(&self) -> Exit {
        self.prepare().spawn().end()
    }

    pub fn facts(&self) -> Vec<Fact> {
        client::read_facts(&self.folder(), 0).unwrap().0
    }

    /// The facts in short: `started delivered:m1 ended:m1:exit0 exited`.
    pub fn story(&self) -> String {
        let word = |fact: &Fact| match fact {
            Fact::Started { .. } => "started".to_owned(),
            Fact::Delivered { message, .. } => format!("delivered:{message}"),
            Fact::TurnEnded { message, end, .. } => {
                let end = match end {
                    windlass_adapters::shim::End::Exit(code) => format!("exit{code}"),
                    windlass_adapters::shim::End::Signal(signal) => format!("signal{signal}"),
                    windlass_adapters::shim::End::Result(result) => format!("result-{}", result.is_error),
                };
                format!("ended:{message}:{end}")
            }
            Fact::Exited(_) => "exited".to_owned(),
        };
        self.facts().iter().map(word).collect::<Vec<_>>().join(" ")
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// The process that wrote its number into a file.
    pub fn process(&self, name: &str) -> ProcessId {
        until("a process number", || self.read(name).ends_with('\n'));
        ProcessId::of(self.read(name).trim().parse().unwrap()).unwrap()
    }
}

impl Drop for Session {
    /// A failed test must not leave its programs running.
    fn drop(&mut self) {
        if client::alive(&self.folder()).unwrap_or(false) {
            client::request_stop(&self.folder()).unwrap();
            client::wait_gone(&self.folder()).unwrap();
        }
    }
}

/// The program in `examples`, which `cargo test` builds along.
pub fn shim() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let shim = test.parent().and_then(Path::parent).unwrap().join("examples/shim");
    assert!(shim.is_file(), "build it first: cargo build --examples -p windlass-adapters");
    shim
}

/// For what happens in another process and tells nobody.
pub fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let limit = Instant::now() + Duration::from_secs(20);
    while !condition() {
        assert!(Instant::now() < limit, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

pub fn until_dead(process: ProcessId) {
    until("the end of a process", || !process.is_alive());
}
