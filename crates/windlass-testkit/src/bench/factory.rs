//! A project with its own daemon in a folder of its own, driven through the command line and followed in its log.

use std::fmt::Write as _;
use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant, SystemTime};

use serde_json::Value;
use windlass_core::journal::{Fact, FactoryFact};
use windlass_core::queue::Policy;
use windlass_core::time::Millis;
use windlass_store::{EventQuery, LoggedEvent, Mode, SqliteStore, Store};

use super::error::BenchError;
use super::place::{Place, run};
use super::{proc, sample};

/// How often the log is looked at: often enough for milliseconds, seldom enough to cost no measurable time.
const LOOK: Duration = Duration::from_millis(1);
const PATIENCE: Duration = Duration::from_secs(300);

/// What the project is like.
#[derive(Debug)]
pub struct Setup {
    pub files: usize,
    pub parallel: u32,
    pub ci_slots: u32,
    /// The agents' programs with their arguments.
    pub dev: Vec<String>,
    pub critic: Vec<String>,
}

#[derive(Debug)]
pub struct Factory<'a> {
    place: &'a Place,
    folder: PathBuf,
    daemon: Option<Child>,
    store: Option<SqliteStore>,
    read: i64,
}

/// An event, and when it could first be read by others: then it was durable.
#[derive(Debug)]
pub struct Seen {
    pub event: LoggedEvent,
    pub at_ms: f64,
}

impl Seen {
    /// Where a task has moved to, and why, if that is what happened.
    pub fn moved(&self) -> Option<(&str, &str)> {
        match &self.event.entry.fact {
            Fact::Factory(FactoryFact::TaskMoved { to, reason, .. }) => Some((to, reason)),
            Fact::Factory(_) | Fact::Task(_) => None,
        }
    }
}

impl<'a> Factory<'a> {
    pub fn new(place: &'a Place, setup: &Setup) -> Result<Self, BenchError> {
        let factory = Self { place, folder: place.folder()?, daemon: None, store: None, read: 0 };
        sample::repository(place, &factory.repo(), setup.files)?;
        factory.configure(setup, "true", Policy::default())?;
        run(factory.windlass().args(["init", "--yes"]))?;
        Ok(factory)
    }

    /// Writes the project's settings; a daemon reads them when it starts.
    pub fn configure(&self, setup: &Setup, ci: &str, policy: Policy) -> Result<(), BenchError> {
        let path = self.repo().join("windlass.toml");
        std::fs::write(&path, config_text(setup, ci, policy)).map_err(BenchError::io("write", &path))
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub fn repo(&self) -> PathBuf {
        self.folder.join("repo")
    }

    pub fn state(&self) -> PathBuf {
        self.folder.join("state")
    }

    /// The program, as a person in the project would run it.
    pub fn windlass(&self) -> Command {
        let mut command = self.place.command(&self.place.windlass, &self.repo());
        command.env("HOME", &self.folder).env("WINDLASS_STATE_DIR", self.state());
        command
    }

    pub fn up(&mut self) -> Result<(), BenchError> {
        self.start()?;
        self.follow("the daemon's start", |seen| seen.event.entry.fact.kind() == "daemon_started").map(drop)
    }

    /// Starts the daemon and does not wait for it.
    pub fn start(&mut self) -> Result<(), BenchError> {
        let path = self.log();
        let log = File::create(&path).map_err(BenchError::io("write", &path))?;
        // A group of its own: an interrupt from the terminal is for us, and we take the daemon down in order.
        let mut command = self.windlass();
        command.args(["up", "--foreground"]).stderr(log).process_group(0);
        let started = command.spawn();
        let program = "windlass up".to_owned();
        self.daemon = Some(started.map_err(|source| BenchError::Start { program, source })?);
        Ok(())
    }

    /// SIGKILL, as the kernel would do it. What the daemon started goes on.
    pub fn kill(&mut self) -> Result<(), BenchError> {
        let Some(mut daemon) = self.daemon.take() else { return Ok(()) };
        let ended = daemon.kill().and_then(|()| daemon.wait());
        ended.map(drop).map_err(|source| BenchError::Start { program: "kill".into(), source })
    }

    pub fn pid(&self) -> Option<u32> {
        self.daemon.as_ref().map(Child::id)
    }

    /// Writes an issue; its number.
    pub fn file(&self, title: &str) -> Result<u64, BenchError> {
        let call = "windlass new --json";
        let reply = json(call, &run(self.windlass().args(["new", title, "--json"]))?)?;
        reply["number"].as_u64().ok_or_else(|| unexpected(call, &reply))
    }

    pub fn created_at(&self, issue: u64) -> Result<Millis, BenchError> {
        let call = "windlass show --json";
        let reply = json(call, &run(self.windlass().args(["show", &issue.to_string(), "--json"]))?)?;
        let text = reply["created_at"].as_str().ok_or_else(|| unexpected(call, &reply))?;
        let stamp: jiff::Timestamp = text.parse().map_err(|_| unexpected(call, &reply))?;
        Ok(Millis(stamp.as_millisecond()))
    }

    /// Reads the log as it is written, up to the first event that is `wanted`. None of our tasks is ever given up.
    pub fn follow(
        &mut self,
        what: &str,
        mut wanted: impl FnMut(&Seen) -> bool,
    ) -> Result<Vec<Seen>, BenchError> {
        let mut all = Vec::new();
        let mut found = false;
        self.wait(what, |factory| {
            for seen in factory.news()? {
                if let Some(("ABANDONED", reason)) = seen.moved() {
                    return Err(BenchError::Abandoned { reason: reason.to_owned() });
                }
                found = found || wanted(&seen);
                all.push(seen);
            }
            Ok(found)
        })?;
        Ok(all)
    }

    /// Until the daemon has done everything that it has to do.
    pub fn settle(&mut self) -> Result<(), BenchError> {
        self.wait("the end of all effects", |factory| Ok(factory.store()?.pending_effects()?.is_empty()))
    }

    /// Lets so much time pass. We look seldom: our own looking must not be what is measured.
    pub fn rest(&mut self, time: Duration) -> Result<(), BenchError> {
        let until = Instant::now() + time;
        self.wait("a time of rest", |_| {
            std::thread::sleep(Duration::from_millis(200));
            Ok(Instant::now() >= until)
        })
    }

    /// The daemon's own share of one core, over a minute in which nothing happens.
    pub fn cpu_percent_at_rest(&mut self) -> Result<f64, BenchError> {
        let pid = self.pid().ok_or(BenchError::Interrupted)?;
        let (before, start) = (proc::cpu_seconds(pid)?, Instant::now());
        // One whole round of everything that happens by the clock, the heartbeat included.
        self.rest(Duration::from_secs(61))?;
        Ok((proc::cpu_seconds(pid)? - before) / start.elapsed().as_secs_f64() * 100.0)
    }

    /// Until `done` says so; fails when the daemon ends or nothing comes of it.
    pub fn wait(
        &mut self,
        what: &str,
        mut done: impl FnMut(&mut Self) -> Result<bool, BenchError>,
    ) -> Result<(), BenchError> {
        let until = Instant::now() + PATIENCE;
        while !done(self)? {
            self.place.check()?;
            let ended = self.daemon.as_mut().is_some_and(|daemon| !matches!(daemon.try_wait(), Ok(None)));
            if ended || Instant::now() >= until {
                return Err(BenchError::Late {
                    wanted: what.to_owned(),
                    patience: PATIENCE,
                    log: self.log_tail(),
                });
            }
            std::thread::sleep(LOOK);
        }
        Ok(())
    }

    /// What was logged since the last look.
    pub fn news(&mut self) -> Result<Vec<Seen>, BenchError> {
        let since = self.read;
        let store = self.store()?;
        if store.last_seq()? <= since {
            return Ok(Vec::new());
        }
        let at_ms = now_ms();
        let events = store.events(&EventQuery { since, ..EventQuery::default() })?;
        self.read = events.last().map_or(since, |event| event.seq);
        Ok(events.into_iter().map(|event| Seen { event, at_ms }).collect())
    }

    pub fn store(&mut self) -> Result<&SqliteStore, BenchError> {
        let state = self.state();
        if self.store.is_none() {
            self.store = Some(SqliteStore::open(&state, Mode::ReadOnly)?);
        }
        Ok(self.store.as_ref().expect("opened above"))
    }

    /// Ends the daemon and everything that it started.
    pub fn down(&mut self) -> Result<(), BenchError> {
        let Some(mut daemon) = self.daemon.take() else { return Ok(()) };
        let down = run(self.windlass().arg("down"));
        if down.is_err() {
            // It has ended already, or does not listen; only the error of `down` is worth telling.
            drop(daemon.kill());
        }
        drop(daemon.wait());
        down.map(drop)
    }

    fn log(&self) -> PathBuf {
        self.folder.join("daemon.log")
    }

    fn log_tail(&self) -> String {
        let text = std::fs::read_to_string(self.log()).unwrap_or_default();
        let lines: Vec<&str> = text.lines().rev().take(10).collect();
        lines.into_iter().rev().collect::<Vec<_>>().join("\n")
    }
}

impl Drop for Factory<'_> {
    /// Nothing that we started may outlive us, or the folder could not go.
    fn drop(&mut self) {
        if let Err(error) = self.down() {
            eprintln!("bench: {error}");
        }
    }
}

pub fn now_ms() -> f64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    since.as_secs_f64() * 1e3
}

pub fn sh(script: &str) -> Vec<String> {
    vec!["sh".to_owned(), "-c".to_owned(), script.to_owned()]
}

/// Nothing is held back for want of memory: what is measured is the factory, not the machine's other work.
fn config_text(setup: &Setup, ci: &str, policy: Policy) -> String {
    let mut text = format!(
        "name = \"bench\"\nbranch = \"main\"\n\n\
         [dispatch]\nparallel = {}\nmax_open_changes = 1000\n\n\
         [queue]\npolicy = \"{}\"\n\n\
         [ci]\ncommand = {}\nslots = {}\n\n\
         [guards]\nmin_free_memory_mb = 1\nmin_free_disk_mb = 1\n",
        setup.parallel,
        policy.word(),
        // A JSON string reads the same in TOML.
        Value::from(ci),
        setup.ci_slots
    );
    for (role, argv) in [("dev", &setup.dev), ("critic", &setup.critic)] {
        // A JSON list of strings reads the same in TOML.
        let argv = serde_json::to_string(argv).expect("strings are JSON");
        write!(text, "\n[agent.{role}]\nkind = \"command\"\ncommand = {argv}\n").expect("a string takes all");
    }
    text
}

fn json(call: &str, text: &str) -> Result<Value, BenchError> {
    serde_json::from_str(text)
        .map_err(|error| BenchError::Answer { call: call.to_owned(), detail: error.to_string() })
}

fn unexpected(call: &str, reply: &Value) -> BenchError {
    BenchError::Answer { call: call.to_owned(), detail: reply.to_string() }
}
