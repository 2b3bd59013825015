//! Those who act on the factory from outside: each does one thing, once, when its moment has come.

use windlass_core::command::Command;
use windlass_core::id::IssueNumber;
use windlass_core::time::Millis;
use windlass_store::{Mode, SqliteStore, Store};

use super::stage::{Stage, now_ms};

/// What somebody waits for and what they do then.
pub struct Wish {
    pub when: fn(&Stage) -> bool,
    pub then: fn(&Stage),
}

impl std::fmt::Debug for Wish {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Wish").finish_non_exhaustive()
    }
}

#[derive(Debug)]
pub struct Person {
    wish: &'static Wish,
    done: bool,
}

impl Person {
    pub fn new(wish: &'static Wish) -> Self {
        Self { wish, done: false }
    }
}

impl Stage {
    pub(super) fn let_people_act(&mut self) {
        for nth in 0..self.people.len() {
            if !self.people[nth].done && (self.people[nth].wish.when)(self) {
                (self.people[nth].wish.then)(self);
                self.people[nth].done = true;
            }
        }
    }

    /// The test has done it for them.
    pub fn people_have_acted(&mut self) {
        for person in &mut self.people {
            person.done = true;
        }
    }

    /// The state of an issue's task; nothing before it has one.
    pub fn is(&self, issue: u64, state: &str) -> bool {
        // A database that is busy for a moment is looked at again.
        let found = self.store().newest_task_of(IssueNumber(issue)).ok().flatten();
        found.is_some_and(|task| task.value.state.name() == state)
    }

    /// A script wrote this file beside the checkout.
    pub fn noted(&self, name: &str) -> bool {
        self.path(name).exists()
    }

    /// Tells a script that waits for this file.
    pub fn note(&self, name: &str) {
        std::fs::write(self.path(name), "").expect("a note can be written");
    }

    /// As the command line does it: the command is stored and the daemon is woken.
    pub fn ask(&self, command: &Command) {
        let client = SqliteStore::open(&self.state(), Mode::Client).expect("the store takes commands");
        client.post_command(command, "operator", Millis(now_ms())).expect("the store takes commands");
        let wake = self.state().join("inbox/wake");
        std::fs::write(wake, now_ms().to_string()).expect("the daemon can be woken");
    }

    /// Somebody's own commit, straight to main.
    pub fn push_by_hand(&self, name: &str) {
        let repo = self.repo().to_string_lossy().into_owned();
        self.git(&["fetch", "-q", &repo, "main"]);
        self.git(&["reset", "-q", "--hard", "FETCH_HEAD"]);
        std::fs::write(self.path("repo").join(name), "by hand\n").expect("a file can be written");
        self.git(&["add", name]);
        self.git(&["commit", "-q", "-m", &format!("{name} by hand")]);
        self.git(&["push", "-q", &repo, "HEAD:main"]);
    }

    /// SIGKILL for the process whose number a script wrote down.
    pub fn kill_noted(&self, name: &str) {
        let text = std::fs::read_to_string(self.path(name)).expect("a note");
        let pid = text.trim().parse().ok().and_then(rustix::process::Pid::from_raw).expect("a process");
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).expect("it can be killed");
    }
}
