//! A program under watch: its pipes, its end, and whatever happens in the folder meanwhile.

use std::io::{self, PipeReader, PipeWriter, Write};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Instant;

use rustix::event::{PollFd, PollFlags};
use rustix::fs::inotify;
use rustix::process::{Pid, PidfdFlags};

use super::life::{Life, now};
use super::output::Sink;
use super::protocol::{Fact, INBOX, SESSION_DIR, TurnResult};
use crate::process::{self, Flow, ProcessId};

/// More than a pipe holds: after a program's end there is nothing more to read than this.
const LAST_READS: usize = 4;

/// Where the program's standard streams go.
pub(super) struct Streams {
    pub stdin: bool,
    pub stdout: Sink,
    /// `None`: into the same pipe as stdout.
    pub stderr: Option<Sink>,
}

pub(super) struct Running {
    child: Child,
    handle: OwnedFd,
    stdin: Option<PipeWriter>,
    unsent: Vec<u8>,
    close_when_sent: bool,
    streams: Vec<(PipeReader, Sink)>,
}

/// What one wait brought.
#[derive(Debug, Default)]
pub(super) struct Wake {
    pub folder: bool,
    pub results: Vec<TurnResult>,
    pub ended: Option<ExitStatus>,
}

impl Running {
    /// Starts a program as the launch says, with `extra` in its environment. `Err` is the program's own failure to start.
    pub fn start(
        life: &Life,
        argv: &[String],
        extra: &[(&str, String)],
        streams: Streams,
    ) -> io::Result<Result<Self, io::Error>> {
        let (mut command, stdin, streams) = prepare(life, argv, extra, streams)?;
        let child = match command.spawn() {
            Ok(child) => child,
            Err(error) => return Ok(Err(error)),
        };
        // The command holds the child's ends of the pipes; without this we would never see their end.
        drop(command);
        let pid = Pid::from_raw(child.id().cast_signed()).expect("a child has a positive number");
        let handle = rustix::process::pidfd_open(pid, PidfdFlags::empty())?;
        Ok(Ok(Self { child, handle, stdin, unsent: Vec::new(), close_when_sent: false, streams }))
    }

    pub fn pid(&self) -> i32 {
        self.child.id().cast_signed()
    }

    pub fn started(&self) -> Fact {
        let start_time = ProcessId::of(self.pid()).map_or(0, |id| id.start_time);
        Fact::Started { pid: self.pid(), start_time, at: now() }
    }

    /// Hands text to the program as fast as it reads.
    pub fn send(&mut self, text: &[u8]) {
        self.unsent.extend_from_slice(text);
    }

    /// The program sees the end of its input after what was sent.
    pub fn close_stdin(&mut self) {
        self.close_when_sent = true;
        if self.unsent.is_empty() {
            self.stdin = None;
        }
    }

    /// Waits for something to happen and takes care of the pipes.
    pub fn wait(&mut self, watch: &Watch, until: Option<Instant>) -> io::Result<Wake> {
        let mut wake = Wake::default();
        let (folder, ended) = self.poll(watch, until)?;
        if folder {
            wake.folder = watch.drain()?;
        }
        self.feed()?;
        self.read(&mut wake.results)?;
        if ended {
            for _ in 0..LAST_READS {
                self.read(&mut wake.results)?;
            }
            wake.ended = Some(self.child.wait()?);
        } else {
            process::reap_orphans(self.pid())?;
        }
        Ok(wake)
    }

    /// Takes what is left in the pipes once nobody writes any more.
    pub fn finish(mut self) -> io::Result<Vec<TurnResult>> {
        let mut results = Vec::new();
        for _ in 0..LAST_READS {
            self.read(&mut results)?;
        }
        for (_, sink) in &mut self.streams {
            sink.finish(&mut results);
        }
        Ok(results)
    }

    fn poll(&self, watch: &Watch, until: Option<Instant>) -> io::Result<(bool, bool)> {
        let mut fds = vec![PollFd::new(&watch.0, PollFlags::IN), PollFd::new(&self.handle, PollFlags::IN)];
        fds.extend(self.streams.iter().map(|(pipe, _)| PollFd::new(pipe, PollFlags::IN)));
        if let Some(stdin) = self.stdin.as_ref().filter(|_| !self.unsent.is_empty()) {
            fds.push(PollFd::new(stdin, PollFlags::OUT));
        }
        process::wait_readable(&mut fds, until)?;
        Ok((!fds[0].revents().is_empty(), !fds[1].revents().is_empty()))
    }

    fn feed(&mut self) -> io::Result<()> {
        let Some(stdin) = self.stdin.as_mut().filter(|_| !self.unsent.is_empty()) else { return Ok(()) };
        match stdin.write(&self.unsent) {
            Ok(n) => drop(self.unsent.drain(..n)),
            Err(error) => match error.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => {}
                // It does not want to hear us; its end will tell the rest.
                io::ErrorKind::BrokenPipe => {
                    self.unsent.clear();
                    self.stdin = None;
                }
                _ => return Err(error),
            },
        }
        if self.unsent.is_empty() && self.close_when_sent {
            self.stdin = None;
        }
        Ok(())
    }

    fn read(&mut self, results: &mut Vec<TurnResult>) -> io::Result<()> {
        let mut still_open = Vec::with_capacity(self.streams.len());
        for (mut pipe, mut sink) in self.streams.drain(..) {
            match process::read_ready(&mut pipe, |bytes| sink.take(bytes, results))? {
                Flow::Ended => sink.finish(results),
                Flow::Empty | Flow::More => still_open.push((pipe, sink)),
            }
        }
        self.streams = still_open;
        Ok(())
    }
}

/// Tells when the inbox grows or a file appears in the folder.
#[derive(Debug)]
pub(super) struct Watch(OwnedFd);

impl Watch {
    pub fn new(folder: &Path) -> io::Result<Self> {
        let fd = inotify::init(inotify::CreateFlags::CLOEXEC | inotify::CreateFlags::NONBLOCK)?;
        // Not every change in the folder: our own transcript grows in it.
        inotify::add_watch(&fd, folder, inotify::WatchFlags::CREATE | inotify::WatchFlags::MOVED_TO)?;
        let inbox = folder.join(INBOX);
        if inbox.exists() {
            inotify::add_watch(&fd, &inbox, inotify::WatchFlags::MODIFY)?;
        }
        Ok(Self(fd))
    }

    /// Takes all events; `true` if there were any.
    fn drain(&self) -> io::Result<bool> {
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut reader = inotify::Reader::new(&self.0, &mut buffer);
        let mut any = false;
        loop {
            match reader.next() {
                Ok(_) => any = true,
                Err(rustix::io::Errno::AGAIN) => return Ok(any),
                Err(error) => return Err(error.into()),
            }
        }
    }
}

type Prepared = (Command, Option<PipeWriter>, Vec<(PipeReader, Sink)>);

fn prepare(life: &Life, argv: &[String], extra: &[(&str, String)], streams: Streams) -> io::Result<Prepared> {
    let (program, args) = argv.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let mut command = Command::new(program);
    // What the launch says comes later: it is not to be overruled.
    command.args(args).env_clear().envs(&life.given).envs(&life.launch.env);
    command.envs(extra.iter().map(|(key, value)| (key, value)));
    command.env(SESSION_DIR, &life.folder).current_dir(&life.launch.cwd);
    process::new_session(&mut command);
    process::die_with_parent(&mut command);
    process::first_to_go(&mut command);
    // Each run of a program has a new one; where we may make none, it runs without.
    if let Some(group) = life.group.as_ref().filter(|group| group.make(life.launch.limits).is_ok()) {
        process::join(&mut command, group.doors());
    }
    let stdin = if streams.stdin {
        let (reader, writer) = io::pipe()?;
        process::nonblocking(&writer)?;
        command.stdin(reader);
        Some(writer)
    } else {
        command.stdin(Stdio::null());
        None
    };
    let (out, out_end) = io::pipe()?;
    process::nonblocking(&out)?;
    let mut sinks = vec![(out, streams.stdout)];
    match streams.stderr {
        None => drop(command.stderr(out_end.try_clone()?)),
        Some(sink) => {
            let (err, err_end) = io::pipe()?;
            process::nonblocking(&err)?;
            command.stderr(err_end);
            sinks.push((err, sink));
        }
    }
    command.stdout(out_end);
    Ok((command, stdin, sinks))
}
