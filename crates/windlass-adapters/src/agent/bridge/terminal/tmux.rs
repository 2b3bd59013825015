//! A tmux server that belongs to one session: its socket lies in the session's folder and is named from there, since the name of
//! a socket may have no more than 107 bytes.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use windlass_core::text::one_line;
use windlass_core::time::{Millis, Span};

use super::TerminalError;
use crate::process::{self, Full, Limits, capture};

/// Without a key.
const AWAY: Span = Span::mins(5);
const SOCKET: &str = "tmux";
const SESSION: &str = "windlass";
/// Wide enough for what the program draws.
const SIZE: [&str; 4] = ["-x", "160", "-y", "50"];
const ANSWERS: Limits = Limits { time: Duration::from_secs(20), stdout: 1 << 20, when_full: Full::Cut };
const STARTS: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(10);
/// More lines than an unsent text has; each takes one to be emptied and one to be left.
const CLEARS: &str = "60";

/// The server of a session, whether it runs or not.
#[derive(Debug, Clone)]
pub struct Tmux {
    folder: PathBuf,
}

/// Whether one who attaches may type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keyboard {
    Off,
    On,
}

/// A person who looks at the terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Viewer {
    pub pid: u32,
    pub keyboard: Keyboard,
    client: String,
    /// The last key, in seconds since 1970.
    typed_at: i64,
}

impl Viewer {
    /// Who has typed nothing for so long has gone away, and the keyboard goes back.
    pub fn is_away(&self, now: Millis) -> bool {
        now.since(Millis(self.typed_at * 1000)) > AWAY
    }
}

/// What the server did when asked for a window.
#[derive(Debug)]
pub(super) struct Opened {
    pub pane: String,
    pub pid: i32,
}

impl Tmux {
    pub fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned() }
    }

    pub fn socket(&self) -> PathBuf {
        self.folder.join(SOCKET)
    }

    /// Whether there is a terminal to attach to.
    pub fn is_open(&self) -> bool {
        self.socket().exists() && self.run(&["has-session", "-t", SESSION]).is_ok()
    }

    /// The command that shows the terminal to a person, whose own environment it takes.
    pub fn attach(&self, keyboard: Keyboard) -> Command {
        let mut command = self.command();
        command.args(["attach-session", "-t", SESSION]).env_remove("TMUX").env_remove("TMUX_PANE");
        match keyboard {
            Keyboard::Off => command.arg("-r"),
            Keyboard::On => &mut command,
        };
        command
    }

    /// People who look at it now.
    pub fn viewers(&self) -> Result<Vec<Viewer>, TerminalError> {
        let form = "#{client_readonly}#{client_control_mode} #{client_activity} #{client_pid} #{client_name}";
        let said = self.run(&["list-clients", "-t", SESSION, "-F", form])?;
        Ok(said.lines().filter_map(viewer).collect())
    }

    /// Sends one who looks away, and with them their keyboard.
    pub fn detach(&self, viewer: &Viewer) -> Result<(), TerminalError> {
        self.run(&["detach-client", "-t", &viewer.client]).map(drop)
    }

    /// Starts the server as a child that dies with us.
    pub(super) fn start(&self) -> Result<Child, TerminalError> {
        crate::files::remove_tree(&self.socket())?;
        let mut command = Command::new("tmux");
        command.args(["-S", SOCKET, "-f", "/dev/null", "-D"]).current_dir(&self.folder);
        command.env("TMUX_TMPDIR", &self.folder).stdin(Stdio::null()).stdout(Stdio::null());
        process::die_with_parent(&mut command);
        let mut child = command.spawn()?;
        let until = Instant::now() + STARTS;
        while let Err(error) = self.run(&options()) {
            if child.try_wait()?.is_some() {
                return Err(error);
            }
            if Instant::now() > until {
                return Err(TerminalError::NotUp);
            }
            std::thread::sleep(PAUSE);
        }
        Ok(child)
    }

    pub(super) fn open(&self, workspace: &Path, argv: &[String]) -> Result<Opened, TerminalError> {
        let workspace = workspace.to_string_lossy();
        let mut args = vec!["new-session", "-d", "-s", SESSION, "-c", &workspace];
        args.extend(SIZE);
        // Inside tmux the program would speak to the server itself.
        args.extend(["-P", "-F", "#{pane_id} #{pane_pid}", "env", "-u", "TMUX", "-u", "TMUX_PANE"]);
        args.extend(argv.iter().map(String::as_str));
        let said = self.run(&args)?;
        let opened = said
            .trim()
            .split_once(' ')
            .and_then(|(pane, pid)| Some(Opened { pane: pane.to_owned(), pid: pid.parse().ok()? }));
        opened.ok_or_else(|| refused("new-session", &said))
    }

    /// A client that is told all that the terminal shows, for as long as its input stays open.
    pub(super) fn listen(&self) -> Result<Child, TerminalError> {
        let mut command = self.command();
        command.args(["-C", "attach-session", "-t", SESSION, "-f", "read-only,ignore-size"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        process::die_with_parent(&mut command);
        Ok(command.spawn()?)
    }

    /// Empties the input box, pastes the text and sends it.
    pub(super) fn send(&self, pane: &str, text: &str) -> Result<(), TerminalError> {
        let clear = ["send-keys", "-t", pane, "-N", CLEARS, "C-u", ";"];
        // With `-p` the program is told that it is a paste: new lines in it send nothing.
        let paste = [
            "load-buffer",
            "-b",
            SESSION,
            "-",
            ";",
            "paste-buffer",
            "-d",
            "-p",
            "-b",
            SESSION,
            "-t",
            pane,
            ";",
        ];
        let enter = ["send-keys", "-t", pane, "Enter"];
        let args: Vec<&str> = clear.into_iter().chain(paste).chain(enter).collect();
        self.run_with(&args, Some(text.as_bytes())).map(drop)
    }

    pub(super) fn end(&self) -> Result<(), TerminalError> {
        self.run(&["kill-server"]).map(drop)
    }

    fn run(&self, args: &[&str]) -> Result<String, TerminalError> {
        self.run_with(args, None)
    }

    fn run_with(&self, args: &[&str], stdin: Option<&[u8]>) -> Result<String, TerminalError> {
        let what = args.first().copied().unwrap_or_default();
        let mut command = self.command();
        command.args(args.iter().map(OsStr::new)).stdin(Stdio::null());
        let done = capture(&mut command, stdin, &ANSWERS)
            .map_err(|source| TerminalError::Run { what: what.to_owned(), source })?;
        if done.code() == 0 {
            return Ok(String::from_utf8_lossy(&done.stdout).into_owned());
        }
        Err(refused(what, &String::from_utf8_lossy(&done.stderr)))
    }

    /// Never starts a server of its own.
    fn command(&self) -> Command {
        let mut command = Command::new("tmux");
        command.args(["-N", "-S", SOCKET]).current_dir(&self.folder);
        command
    }
}

fn refused(what: &str, said: &str) -> TerminalError {
    TerminalError::Refused { what: what.to_owned(), said: one_line(said, 300) }
}

/// A window that is closed with its program, and keys with which nobody ends that program by accident.
fn options() -> Vec<&'static str> {
    let settings = [
        ("default-terminal", "tmux-256color"),
        ("history-limit", "20000"),
        ("update-environment", ""),
        ("set-clipboard", "off"),
        ("remain-on-exit", "off"),
        // Or keys that come fast are taken for a paste, and Ctrl-C would reach the program.
        ("assume-paste-time", "0"),
        ("status-right", ""),
        ("status-left-length", "80"),
        ("status-left", "windlass: Ctrl-C lets go, the agent goes on "),
        ("window-status-current-format", ""),
    ];
    let mut args = Vec::new();
    for (name, value) in settings {
        args.extend(["set-option", "-g", name, value, ";"]);
    }
    args.extend([
        "unbind-key",
        "-a",
        "-T",
        "prefix",
        ";",
        "bind-key",
        "-T",
        "prefix",
        "d",
        "detach-client",
        ";",
    ]);
    args.extend(["bind-key", "-T", "prefix", "[", "copy-mode", ";"]);
    // They would end or stop the program.
    for key in ["C-c", "C-d", "C-z"] {
        args.extend(["bind-key", "-n", key, "detach-client", ";"]);
    }
    args
}

/// One line of `list-clients`; nothing for one that only listens.
fn viewer(line: &str) -> Option<Viewer> {
    let (kind, rest) = line.split_once(' ')?;
    let (typed, rest) = rest.split_once(' ')?;
    let (pid, client) = rest.split_once(' ')?;
    let (typed_at, pid) = (typed.parse().ok()?, pid.parse().ok()?);
    let keyboard = match kind {
        "00" => Keyboard::On,
        "10" => Keyboard::Off,
        _ => return None,
    };
    Some(Viewer { pid, keyboard, client: client.to_owned(), typed_at })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The path of a socket has 107 bytes at most, and state folders may lie deep.
    #[test]
    fn a_server_runs_in_a_folder_with_a_long_name() {
        if Command::new("tmux").arg("-V").output().is_err() {
            let ci = std::env::var("CI").is_ok_and(|ci| ci == "true");
            assert!(!ci, "tmux is missing, and nothing is skipped with CI=true");
            println!("SKIPPED a_server_runs_in_a_folder_with_a_long_name: there is no tmux");
            return;
        }
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("d".repeat(120));
        crate::files::private_dir(&folder).unwrap();
        let tmux = Tmux::new(&folder);
        assert!(!tmux.is_open());
        let mut server = tmux.start().unwrap();
        let opened = tmux.open(place.path(), &["cat".to_owned()]).unwrap();
        assert!(tmux.is_open() && opened.pid > 0);
        assert_eq!(tmux.viewers().unwrap(), []);
        tmux.end().unwrap();
        server.wait().unwrap();
        assert!(!tmux.is_open());
    }

    #[test]
    fn one_who_looks_may_type_or_not_and_may_have_gone_away() {
        let person = viewer("00 1700000000 7 /dev/pts/3").unwrap();
        assert_eq!((person.pid, person.client.as_str(), person.keyboard), (7, "/dev/pts/3", Keyboard::On));
        let after = |seconds: i64| person.is_away(Millis((1_700_000_000 + seconds) * 1000));
        assert!(!after(300) && after(301));
        assert_eq!(viewer("10 1700000000 7 /dev/pts/4").unwrap().keyboard, Keyboard::Off);
        assert_eq!(viewer("11 1700000000 7 client-9"), None);
    }
}
