//! An agent's program below its bridge: lines in, lines out, and its end, whoever else holds its pipes.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::process::{self, ProcessId};

/// After a program's end its last lines are in the pipes already; only a process that it left behind holds them longer.
const LAST_LINES: Duration = Duration::from_millis(500);
/// No message of an agent is so long; what is longer comes in pieces that nobody understands.
const MAX_LINE: u64 = 64 << 20;
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
        let (done, all_read) = channel();
        read(child.stdout.take(), Heard::Line, &say, &done)?;
        read(child.stderr.take(), Heard::Complaint, &say, &done)?;
        drop(done);
        let (id, stdin) = (ProcessId::of(child.id().cast_signed()), child.stdin.take());
        std::thread::Builder::new().name("waits".into()).spawn(move || wait(child, &all_read, &say))?;
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

fn read(
    pipe: Option<impl Read + Send + 'static>,
    heard: fn(String) -> Heard,
    say: &Sender<Heard>,
    done: &Sender<()>,
) -> io::Result<()> {
    let (say, done) = (say.clone(), done.clone());
    let mut lines = BufReader::new(pipe.ok_or(io::ErrorKind::BrokenPipe)?);
    std::thread::Builder::new().name("reads".into()).spawn(move || {
        let mut line = Vec::new();
        while (&mut lines).take(MAX_LINE).read_until(b'\n', &mut line).is_ok_and(|bytes| bytes > 0) {
            let text = String::from_utf8_lossy(&line).trim_end().to_owned();
            line.clear();
            if say.send(heard(text)).is_err() {
                break;
            }
        }
        drop(done);
    })?;
    Ok(())
}

fn wait(mut child: Child, all_read: &Receiver<()>, say: &Sender<Heard>) {
    let Ok(status) = child.wait() else { return };
    // Never a message: it ends when both pipes are read to their end.
    let left = all_read.recv_timeout(LAST_LINES);
    debug_assert!(left.is_err(), "nothing is ever sent");
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

    #[test]
    fn one_that_does_not_want_to_end_is_made_to() {
        let program = shell("trap '' TERM; echo $$; while :; do sleep 0.05; echo not yet; done");
        let Heard::Line(pid) = program.hear().unwrap() else { panic!("a line comes first") };
        program.end().unwrap();
        assert_eq!(ProcessId::of(pid.parse().unwrap()), None);
    }
}
