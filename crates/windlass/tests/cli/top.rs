//! `windlass top` in a real terminal: keys are typed and the screen is read.

use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use crate::common::{Machine, search_path};

static STARTED: AtomicU32 = AtomicU32::new(0);

/// A terminal of our own: a tmux server with its own socket and an empty environment.
pub struct Terminal {
    socket: PathBuf,
}

impl Terminal {
    /// With `windlass ARGS` in it; its exit code is shown when it ends. None without tmux.
    pub fn start(machine: &Machine, args: &str, columns: u32) -> Option<Self> {
        if Command::new("tmux").arg("-V").output().is_err() {
            assert!(std::env::var("CI").is_err(), "tmux is missing, and nothing may be skipped");
            println!("SKIPPED: tmux is missing; ./check installs it");
            return None;
        }
        let (windlass, home) = (env!("CARGO_BIN_EXE_windlass"), machine.path("home"));
        let state = machine.path("state");
        let line = format!(
            "cd '{}' && env -i PATH=\"$PATH\" TERM=\"$TERM\" HOME='{}' XDG_STATE_HOME='{}' '{windlass}' {args}; echo \"ended with $?\"; cat",
            machine.repo().display(),
            home.display(),
            state.display()
        );
        // A server that was told to go may still be there when the next one starts.
        let nth = STARTED.fetch_add(1, Ordering::Relaxed);
        Some(Self::open(machine.path(&format!("tmux-{nth}")), "0", &line, columns))
    }

    /// With this line for the shell in a session of this name.
    pub fn open(socket: PathBuf, name: &str, line: &str, columns: u32) -> Self {
        let terminal = Self { socket };
        let columns = columns.to_string();
        let window = ["new-session", "-d", "-s", name, "-x", &columns, "-y", "30", "sh", "-c", line];
        terminal.tmux(&[&["-f", "/dev/null"], &window[..]].concat());
        terminal
    }

    pub fn tmux(&self, args: &[&str]) -> String {
        let mut command = Command::new("tmux");
        command.arg("-S").arg(&self.socket).args(args).env_clear().env("PATH", search_path());
        let done = command.env("LANG", "C.UTF-8").env("TERM", "xterm").output().unwrap();
        assert!(done.status.success(), "tmux {args:?}: {}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap()
    }

    pub fn press(&self, key: &str) {
        self.tmux(&["send-keys", key]);
    }

    fn write(&self, text: &str) {
        self.tmux(&["send-keys", "-l", text]);
    }

    /// The screen as soon as it says so.
    pub fn shows(&self, wanted: &str) -> String {
        self.wait(wanted, |screen| screen.contains(wanted))
    }

    fn hides(&self, unwanted: &str) -> String {
        self.wait(unwanted, |screen| !screen.contains(unwanted))
    }

    fn wait(&self, what: &str, is_so: impl Fn(&str) -> bool) -> String {
        let until = Instant::now() + Duration::from_secs(60);
        loop {
            let screen = self.tmux(&["capture-pane", "-p"]);
            if is_so(&screen) {
                return screen;
            }
            assert!(Instant::now() < until, "waiting for {what:?}, the screen is\n{screen}");
            std::thread::park_timeout(Duration::from_millis(20));
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let mut command = Command::new("tmux");
        drop(command.arg("-S").arg(&self.socket).arg("kill-server").output());
    }
}

fn machine_with_issues() -> Machine {
    let machine = Machine::with_project();
    for title in ["paint the door", "oil the hinge"] {
        assert_eq!(machine.run(&["new", title]).code, 0);
    }
    machine
}

#[test]
fn keys_lead_through_the_panes() {
    let machine = machine_with_issues();
    let Some(terminal) = Terminal::start(&machine, "top", 110) else { return };
    terminal.shows("[1 work]");
    terminal.shows("nothing here");
    terminal.press("4");
    let screen = terminal.shows("paint the door");
    assert!(screen.contains("oil the hinge") && screen.contains("[4 issues]"), "{screen}");
    terminal.press("/");
    terminal.write("hinge");
    terminal.shows("/hinge");
    terminal.hides("paint the door");
    terminal.press("Enter");
    terminal.shows("filter: hinge");
    terminal.press("w");
    let why = terminal.shows("windlass up");
    assert!(why.contains("oil the hinge"), "{why}");
    terminal.press("q");
    terminal.shows("[4 issues]");
    terminal.press("Escape");
    terminal.shows("paint the door");
    terminal.press("?");
    terminal.shows("any key closes this");
    terminal.press("x");
    terminal.hides("any key closes this");
    terminal.press("l");
    terminal.shows("nobody has worked on it yet");
    terminal.press("5");
    terminal.shows("[5 events]");
    terminal.press("q");
    terminal.shows("ended with 0");
}

#[test]
fn p_leaves_a_command_and_an_interrupt_ends_nothing_but_the_view() {
    let machine = machine_with_issues();
    let Some(terminal) = Terminal::start(&machine, "top", 110) else { return };
    terminal.shows("[1 work]");
    terminal.press("p");
    terminal.shows("asked the factory to start nothing new; it is down now");
    assert_eq!(machine.json(&["status"])["commands_waiting"], 1);
    terminal.press("C-c");
    terminal.shows("ended with 130");
    assert_eq!(machine.json(&["status"])["commands_waiting"], 1);
}

#[test]
fn twenty_columns_are_enough() {
    let machine = machine_with_issues();
    let Some(terminal) = Terminal::start(&machine, "top", 20) else { return };
    terminal.shows("[1 work]");
    terminal.press("4");
    terminal.shows("#1");
    terminal.press("q");
    terminal.shows("ended with 0");
}

#[test]
fn it_ends_with_its_terminal() {
    let machine = machine_with_issues();
    let Some(terminal) = Terminal::start(&machine, "top", 110) else { return };
    terminal.shows("[1 work]");
    let state = machine.path("state").display().to_string();
    assert_eq!(viewers(&state), 1);
    drop(terminal);
    let until = Instant::now() + Duration::from_secs(60);
    while viewers(&state) > 0 {
        assert!(Instant::now() < until, "it goes on without a terminal");
        std::thread::park_timeout(Duration::from_millis(20));
    }
}

/// Processes of `windlass top` that were given this state.
fn viewers(state: &str) -> usize {
    let all = std::fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    let read = |path: PathBuf| String::from_utf8_lossy(&std::fs::read(path).unwrap_or_default()).into_owned();
    let is_ours = |process: &PathBuf| {
        read(process.join("cmdline")).ends_with("windlass\0top\0")
            && read(process.join("environ")).contains(state)
    };
    all.filter(is_ours).count()
}

#[test]
fn without_a_terminal_it_says_what_else_there_is() {
    let machine = machine_with_issues();
    let ran = machine.fails(&["top"], "no-terminal", 2);
    assert!(ran.err.contains("windlass status"), "{}", ran.err);
}
