//! The terminal while it is open: its server, its program, and whoever holds its keyboard.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::process::{Child, ChildStdin};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};
use rustix::process::{Pid, PidfdFlags};

use super::tmux::{Keyboard, Opened, Tmux};
use super::{TerminalError, record};
use crate::process::wait_readable;
use crate::shim::now;

/// The program writes its last lines.
const LEAVES: Duration = Duration::from_secs(3);

pub(super) struct Pane {
    tmux: Tmux,
    server: Child,
    server_handle: OwnedFd,
    agent: OwnedFd,
    listener: Child,
    /// Open for as long as we listen.
    listening: Option<ChildStdin>,
    id: String,
    pub pid: i32,
}

/// How a wait for the shim ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wait {
    /// It has something to say, or will say nothing more.
    Spoken,
    Gone,
}

/// Whether the shim is still there after a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tick {
    GoOn,
    LetGo,
}

impl Pane {
    pub fn open(folder: &Path, workspace: &Path, argv: &[String]) -> Result<Self, TerminalError> {
        let tmux = Tmux::new(folder);
        let server = tmux.start()?;
        let server_handle = handle(server.id().cast_signed())?;
        let Opened { pane: id, pid } = tmux.open(workspace, argv)?;
        let agent = handle(pid).map_err(|_| TerminalError::AgentGone)?;
        let mut listener = tmux.listen()?;
        let listening = listener.stdin.take();
        let shows = listener.stdout.take().expect("it was asked for");
        record::keep(shows, folder)?;
        Ok(Self { tmux, server, server_handle, agent, listener, listening, id, pid })
    }

    /// Sleeps until the shim says something or has gone; that server or program are gone is an error.
    pub fn wait_spoken(&self) -> Result<Wait, TerminalError> {
        let shim = io::stdin();
        let mut fds = self.watched();
        fds.push(PollFd::from_borrowed_fd(shim.as_fd(), PollFlags::IN));
        wait_readable(&mut fds, None)?;
        gone(&fds)?;
        Ok(if fds[2].revents().contains(PollFlags::IN) { Wait::Spoken } else { Wait::Gone })
    }

    /// Lets some time pass; that server or program are gone ends it at once.
    pub fn rest(&self, time: Duration) -> Result<Tick, TerminalError> {
        let shim = io::stdin();
        let mut fds = self.watched();
        // Only its end: the next message is none of our business yet.
        fds.push(PollFd::from_borrowed_fd(shim.as_fd(), PollFlags::empty()));
        wait_readable(&mut fds, Some(Instant::now() + time))?;
        gone(&fds)?;
        Ok(if fds[2].revents().is_empty() { Tick::GoOn } else { Tick::LetGo })
    }

    /// Whether a person has the keyboard. One who has gone away loses it.
    pub fn is_taken(&self) -> Result<bool, TerminalError> {
        let mut taken = false;
        for viewer in self.tmux.viewers()?.iter().filter(|viewer| viewer.keyboard == Keyboard::On) {
            if viewer.is_away(now()) {
                self.tmux.detach(viewer)?;
            } else {
                taken = true;
            }
        }
        Ok(taken)
    }

    pub fn send(&self, text: &str) -> Result<(), TerminalError> {
        let mut fds = self.watched();
        wait_readable(&mut fds, Some(Instant::now()))?;
        // To paste into a window whose program has ended kills tmux 3.3a.
        gone(&fds)?;
        self.tmux.send(&self.id, text)
    }

    /// Ends the program and its server, and leaves nothing behind.
    pub fn end(mut self) -> Result<(), TerminalError> {
        self.listening = None;
        self.tmux.end()?;
        wait_readable(&mut [PollFd::new(&self.agent, PollFlags::IN)], Some(Instant::now() + LEAVES))?;
        self.server.wait()?;
        self.listener.wait()?;
        Ok(crate::files::remove_tree(&self.tmux.socket())?)
    }

    fn watched(&self) -> Vec<PollFd<'_>> {
        vec![PollFd::new(&self.server_handle, PollFlags::IN), PollFd::new(&self.agent, PollFlags::IN)]
    }
}

fn gone(fds: &[PollFd<'_>]) -> Result<(), TerminalError> {
    // The program first: a server ends with its last window.
    if !fds[1].revents().is_empty() {
        return Err(TerminalError::AgentGone);
    }
    if !fds[0].revents().is_empty() {
        return Err(TerminalError::ServerGone);
    }
    Ok(())
}

fn handle(pid: i32) -> io::Result<OwnedFd> {
    let pid = Pid::from_raw(pid).ok_or(io::ErrorKind::InvalidData)?;
    Ok(rustix::process::pidfd_open(pid, PidfdFlags::empty())?)
}
