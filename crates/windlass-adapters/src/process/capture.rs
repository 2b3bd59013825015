//! Runs a program to its end with bounded time and bounded output.

use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::process::Signal;

use super::tree::kill_group;

/// What a run may use up.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    pub time: Duration,
    pub stdout: usize,
    pub when_full: Full,
}

/// What happens when more than `Limits::stdout` bytes come out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Full {
    /// The run is an error.
    Fail,
    /// The program is stopped; what came out so far is the answer.
    Cut,
}

#[derive(Debug)]
pub struct Captured {
    pub status: ExitStatus,
    pub stdout: Vec<u8>,
    /// The beginning of it.
    pub stderr: Vec<u8>,
    pub cut: bool,
}

impl Captured {
    /// The exit code, or 128 + n for signal n, as a shell says it.
    pub fn code(&self) -> i32 {
        self.status.code().or_else(|| self.status.signal().map(|n| 128 + n)).unwrap_or(-1)
    }
}

#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error("cannot start the program")]
    Spawn { source: io::Error },
    #[error("not finished after {after:?}")]
    TimedOut { after: Duration },
    #[error("more than {max} bytes of output")]
    TooMuch { max: usize },
    #[error("lost the connection to the program")]
    Pipe { source: io::Error },
}

const STDERR_KEPT: usize = 64 * 1024;

/// Runs `command` in its own process group. `stdin` is written to it; `None` leaves the command's own setting.
pub fn capture(command: &mut Command, stdin: Option<&[u8]>, limits: &Limits) -> Result<Captured, RunError> {
    if stdin.is_some() {
        command.stdin(Stdio::piped());
    }
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let until = Instant::now() + limits.time;
    let mut child = command.spawn().map_err(|source| RunError::Spawn { source })?;
    let drained = drain(&mut child, stdin.unwrap_or_default(), limits, until);
    let stop = !matches!(&drained, Ok(drained) if !drained.cut);
    if stop {
        kill_group(child.id().cast_signed(), Signal::KILL).map_err(|source| RunError::Pipe { source })?;
    }
    let status = child.wait().map_err(|source| RunError::Pipe { source })?;
    let Drained { stdout, stderr, cut } = drained?;
    Ok(Captured { status, stdout, stderr, cut })
}

/// Blocks until one of `fds` is ready or `until` has come; says how many are ready.
pub(crate) fn wait_readable(fds: &mut [PollFd<'_>], until: Option<Instant>) -> io::Result<usize> {
    loop {
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        let left = left.map(|left| Timespec::try_from(left).expect("a time limit fits into a timespec"));
        match rustix::event::poll(fds, left.as_ref()) {
            Err(Errno::INTR) => {}
            other => return Ok(other?),
        }
    }
}

/// How a stream stands after a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flow {
    Ended,
    Empty,
    /// There is more; we stopped so that others get their turn.
    More,
}

/// Reads what is there now, up to a megabyte.
pub(crate) fn read_ready(mut from: impl Read, mut sink: impl FnMut(&[u8])) -> io::Result<Flow> {
    let mut buffer = [0; 64 * 1024];
    for _ in 0..16 {
        match from.read(&mut buffer) {
            Ok(0) => return Ok(Flow::Ended),
            Ok(n) => sink(&buffer[..n]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(Flow::Empty),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(Flow::More)
}

pub(crate) fn nonblocking(fd: impl AsFd) -> io::Result<()> {
    Ok(rustix::io::ioctl_fionbio(fd, true)?)
}

#[derive(Default)]
struct Drained {
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    cut: bool,
}

fn drain(child: &mut Child, input: &[u8], limits: &Limits, until: Instant) -> Result<Drained, RunError> {
    let broken = |source| RunError::Pipe { source };
    let mut pipes = Pipes::of(child, input).map_err(broken)?;
    let mut all = Drained::default();
    while pipes.stdout.is_some() || pipes.stderr.is_some() {
        if !pipes.wait(until).map_err(broken)? {
            return Err(RunError::TimedOut { after: limits.time });
        }
        pipes.pass(&mut all, limits.stdout + 1).map_err(broken)?;
        if all.stdout.len() > limits.stdout {
            if limits.when_full == Full::Fail {
                return Err(RunError::TooMuch { max: limits.stdout });
            }
            all.stdout.truncate(limits.stdout);
            return Ok(Drained { cut: true, ..all });
        }
    }
    Ok(all)
}

/// Our ends of a child's pipes; each goes when it has served.
struct Pipes<'a> {
    stdin: Option<ChildStdin>,
    stdout: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
    unsent: &'a [u8],
}

impl<'a> Pipes<'a> {
    fn of(child: &mut Child, input: &'a [u8]) -> io::Result<Self> {
        let stdin = child.stdin.take().filter(|_| !input.is_empty());
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        stdin.as_ref().map_or(Ok(()), nonblocking)?;
        stdout.as_ref().map_or(Ok(()), nonblocking)?;
        stderr.as_ref().map_or(Ok(()), nonblocking)?;
        Ok(Self { stdin, stdout, stderr, unsent: input })
    }

    /// `false` when the time is over.
    fn wait(&self, until: Instant) -> io::Result<bool> {
        let mut fds = Vec::with_capacity(3);
        fds.extend(self.stdin.as_ref().map(|pipe| PollFd::new(pipe, PollFlags::OUT)));
        fds.extend(self.stdout.as_ref().map(|pipe| PollFd::new(pipe, PollFlags::IN)));
        fds.extend(self.stderr.as_ref().map(|pipe| PollFd::new(pipe, PollFlags::IN)));
        Ok(wait_readable(&mut fds, Some(until))? > 0)
    }

    fn pass(&mut self, all: &mut Drained, max_stdout: usize) -> io::Result<()> {
        if let Some(pipe) = &mut self.stdin
            && !feed(pipe, &mut self.unsent)?
        {
            self.stdin = None;
        }
        if let Some(pipe) = &mut self.stdout
            && Flow::Ended == read_ready(pipe, |new| keep(&mut all.stdout, new, max_stdout))?
        {
            self.stdout = None;
        }
        if let Some(pipe) = &mut self.stderr
            && Flow::Ended == read_ready(pipe, |new| keep(&mut all.stderr, new, STDERR_KEPT))?
        {
            self.stderr = None;
        }
        Ok(())
    }
}

/// Writes what fits now; `false` when all is written or nobody reads any more.
fn feed(pipe: &mut ChildStdin, left: &mut &[u8]) -> io::Result<bool> {
    match pipe.write(left) {
        Ok(n) => *left = &left[n..],
        Err(error) => match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => {}
            io::ErrorKind::BrokenPipe => return Ok(false),
            _ => return Err(error),
        },
    }
    Ok(!left.is_empty())
}

fn keep(into: &mut Vec<u8>, bytes: &[u8], max: usize) {
    into.extend_from_slice(&bytes[..bytes.len().min(max.saturating_sub(into.len()))]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str, stdin: Option<&[u8]>, limits: Limits) -> Result<Captured, RunError> {
        capture(Command::new("sh").args(["-c", script]), stdin, &limits)
    }

    const LIMITS: Limits = Limits { time: Duration::from_secs(20), stdout: 1 << 20, when_full: Full::Fail };

    #[test]
    fn more_input_and_output_than_a_pipe_holds_pass_through() {
        let input = vec![b'x'; 1 << 20];
        let done = sh("cat; echo no >&2; exit 3", Some(&input), LIMITS).unwrap();
        assert_eq!(
            (done.code(), done.stdout.len(), done.stderr.as_slice()),
            (3, 1 << 20, b"no\n".as_slice())
        );
    }

    #[test]
    fn a_late_program_is_killed_with_its_children() {
        let folder = tempfile::tempdir().unwrap();
        let pid_file = folder.path().join("pid");
        let script = format!("sleep 300 & echo $! > {}; wait", pid_file.display());
        let limits = Limits { time: Duration::from_millis(300), ..LIMITS };
        assert!(matches!(sh(&script, None, limits), Err(RunError::TimedOut { .. })));
        let pid: i32 = std::fs::read_to_string(pid_file).unwrap().trim().parse().unwrap();
        let until = Instant::now() + Duration::from_secs(5);
        while super::super::ProcessId::of(pid).is_some_and(super::super::ProcessId::is_alive) {
            assert!(Instant::now() < until, "the child is still alive");
            std::thread::yield_now();
        }
    }

    #[test]
    fn too_much_output_fails_or_is_cut() {
        let limits = Limits { stdout: 1000, ..LIMITS };
        assert!(matches!(sh("yes", None, limits), Err(RunError::TooMuch { max: 1000 })));
        let cut = sh("yes", None, Limits { when_full: Full::Cut, ..limits }).unwrap();
        assert!(cut.cut && cut.stdout.len() == 1000);
    }
}
