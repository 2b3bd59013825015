//! An agent's program below its bridge: lines in, lines out, and its end, whoever else holds its pipes.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};
use rustix::process::{Pid, PidfdFlags, Signal};

use crate::process::{self, ProcessId};

/// No message of an agent is so long; what is longer comes in pieces that nobody understands.
const MAX_LINE: usize = 64 << 20;
/// Between one way to ask for the end and the next.
const GRACE: Duration = Duration::from_secs(1);

/// What came from the program.
#[derive(Debug)]
pub(super) enum Heard {
    Line(String),
    /// A line on its standard error.
    Complaint(String),
    /// Nothing comes after this.
    Ended(ExitStatus),
}

#[derive(Debug)]
pub(super) struct Program {
    id: Option<ProcessId>,
    stdin: Option<ChildStdin>,
    heard: Receiver<Heard>,
}

impl Program {
    /// Starts it with our own environment and folder. It dies with the calling thread.
    pub fn start(argv: &[String]) -> io::Result<Self> {
        let (program, args) = argv.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        let mut command = Command::new(program);
        command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        process::die_with_parent(&mut command);
        let cannot =
            |error: io::Error| io::Error::new(error.kind(), format!("cannot start `{program}`: {error}"));
        let mut child = command.spawn().map_err(cannot)?;
        let (say, heard) = channel();
        let ended = handle(&child)?;
        let readers = [
            read(child.stdout.take(), ended.try_clone()?, Heard::Line, &say)?,
            read(child.stderr.take(), ended, Heard::Complaint, &say)?,
        ];
        let (id, stdin) = (ProcessId::of(child.id().cast_signed()), child.stdin.take());
        thread::Builder::new().name("waits".into()).spawn(move || wait(child, readers, &say))?;
        Ok(Self { id, stdin, heard })
    }

    /// Hands over text. One that does not listen any more is about to end, and its end says the rest.
    pub fn say(&mut self, text: &str) -> io::Result<()> {
        let Some(stdin) = &mut self.stdin else { return Ok(()) };
        match stdin.write_all(text.as_bytes()).and_then(|()| stdin.flush()) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            done => done,
        }
    }

    pub fn close_stdin(&mut self) {
        self.stdin = None;
    }

    pub fn hear(&self) -> io::Result<Heard> {
        self.heard.recv().map_err(|_| io::Error::other("nobody waits for the program"))
    }

    /// Has it end: by itself, or else by force. What it forked is its shim's to clear away.
    pub fn end(mut self) -> io::Result<()> {
        self.close_stdin();
        for signal in [Signal::TERM, Signal::KILL] {
            if self.ends_in_time() {
                return Ok(());
            }
            if let Some(id) = self.id {
                id.signal(signal)?;
            }
        }
        while !matches!(self.hear()?, Heard::Ended(_)) {}
        Ok(())
    }

    fn ends_in_time(&self) -> bool {
        let until = Instant::now() + GRACE;
        loop {
            match self.heard.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(Heard::Line(_) | Heard::Complaint(_)) => {}
                Ok(Heard::Ended(_)) | Err(RecvTimeoutError::Disconnected) => return true,
                Err(RecvTimeoutError::Timeout) => return false,
            }
        }
    }
}

/// Can be read from when the process has ended.
fn handle(child: &Child) -> io::Result<OwnedFd> {
    let pid = Pid::from_raw(child.id().cast_signed()).expect("a child has a positive number");
    Ok(rustix::process::pidfd_open(pid, PidfdFlags::empty())?)
}

fn read(
    pipe: Option<impl Read + AsFd + Send + 'static>,
    ended: OwnedFd,
    heard: fn(String) -> Heard,
    say: &Sender<Heard>,
) -> io::Result<JoinHandle<()>> {
    let pipe = pipe.ok_or(io::ErrorKind::BrokenPipe)?;
    let say = say.clone();
    thread::Builder::new().name("reads".into()).spawn(move || {
        let each = |line: &[u8]| {
            let text = String::from_utf8_lossy(line).trim_end().to_owned();
            say.send(heard(text)).map_err(|_| io::ErrorKind::BrokenPipe.into())
        };
        // It could not be read, or nobody listens any more: the end of the program says the rest.
        drop(read_lines(pipe, &ended, each));
    })
}

/// To the end of the pipe, or to the last that was in it when its program had ended: a process that it left behind may hold
/// the pipe for ever.
fn read_lines(
    mut pipe: impl Read + AsFd,
    ended: &OwnedFd,
    mut each: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<()> {
    let (mut bytes, mut line) = (vec![0; 64 << 10], Vec::new());
    loop {
        let mut ready = [PollFd::new(&pipe, PollFlags::IN), PollFd::new(ended, PollFlags::IN)];
        process::wait_readable(&mut ready, None)?;
        let is_last = !ready[1].revents().is_empty();
        if is_last {
            bytes.resize(usize::try_from(rustix::io::ioctl_fionread(&pipe)?).unwrap_or(usize::MAX), 0);
        }
        let count = match pipe.read(&mut bytes) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read?,
        };
        for piece in bytes[..count].split_inclusive(|byte| *byte == b'\n') {
            line.extend_from_slice(piece);
            if line.ends_with(b"\n") || line.len() >= MAX_LINE {
                each(&line)?;
                line.clear();
            }
        }
        if is_last || count == 0 {
            break;
        }
    }
    if line.is_empty() { Ok(()) } else { each(&line) }
}

fn wait(mut child: Child, readers: [JoinHandle<()>; 2], say: &Sender<Heard>) {
    let Ok(status) = child.wait() else { return };
    for reader in readers {
        // One that panicked has read all it could.
        drop(reader.join());
    }
    // Nobody listens any more when the bridge has what it wants.
    drop(say.send(Heard::Ended(status)));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(line: &str) -> Program {
        Program::start(&["sh".into(), "-c".into(), line.into()]).unwrap()
    }

    fn all(program: &Program) -> (Vec<String>, ExitStatus) {
        let mut lines = Vec::new();
        loop {
            match program.hear().unwrap() {
                Heard::Line(line) => lines.push(line),
                Heard::Complaint(line) => lines.push(format!("! {line}")),
                Heard::Ended(status) => return (lines, status),
            }
        }
    }

    #[test]
    fn what_is_said_is_heard_and_the_end_comes_last() {
        let mut program = shell("read line; echo got $line; exit 3");
        program.say("words\n").unwrap();
        let (lines, status) = all(&program);
        assert_eq!((lines, status.code()), (vec!["got words".to_owned()], Some(3)));
        let (lines, _) = all(&shell("echo wrong >&2"));
        assert_eq!(lines, ["! wrong"]);
    }

    #[test]
    fn an_end_is_heard_of_though_somebody_else_holds_the_pipe() {
        let program = shell("sleep 60 & echo $!; kill -KILL $$");
        let (lines, status) = all(&program);
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(9));
        let left = ProcessId::of(lines[0].parse().unwrap()).unwrap();
        assert!(left.signal(Signal::KILL).unwrap(), "it was there all the time");
    }

    /// However late we come to read, and whoever else holds the pipe.
    #[test]
    fn all_that_was_said_before_the_end_is_heard() {
        let mut child = Command::new("true").spawn().unwrap();
        let ended = handle(&child).unwrap();
        child.wait().unwrap();
        let (pipe, mut held) = io::pipe().unwrap();
        let mut said: Vec<String> = (0..5_000).map(|n| format!("line {n}\n")).collect();
        said.push("without an end".into());
        held.write_all(said.concat().as_bytes()).unwrap();
        let mut heard = Vec::new();
        read_lines(pipe, &ended, |line| {
            heard.push(String::from_utf8_lossy(line).into_owned());
            Ok(())
        })
        .unwrap();
        assert_eq!(heard, said);
        let (pipe, held) = io::pipe().unwrap();
        read_lines(pipe, &ended, |_| panic!("nothing was said")).unwrap();
        drop(held);
    }

    #[test]
    fn one_that_does_not_want_to_end_is_made_to() {
        let program = shell("trap '' TERM; echo $$; while :; do sleep 0.05; echo not yet; done");
        let Heard::Line(pid) = program.hear().unwrap() else { panic!("a line comes first") };
        program.end().unwrap();
        assert_eq!(ProcessId::of(pid.parse().unwrap()), None);
    }
}
