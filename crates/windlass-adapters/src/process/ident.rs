//! Who a process is: its number alone is not enough, numbers come round again.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags};
use rustix::process::{Pid, PidfdFlags, Signal};
use serde::{Deserialize, Serialize};

use super::capture::wait_readable;
use super::given::{Given, given};

/// The kernel's mark on a process that was forked and has not started a program since.
const FORKED: u64 = 0x40;
/// And on one of its own threads, which never has a program.
const KERNEL: u64 = 0x0020_0000;

/// A process number together with its start time (in clock ticks since boot): names one process until reboot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ProcessId {
    pub pid: i32,
    pub start_time: u64,
}

impl ProcessId {
    /// The process that has this number now.
    pub fn of(pid: i32) -> Option<Self> {
        Stat::read(pid).map(|stat| stat.id)
    }

    /// Runs (a zombie does not).
    pub fn is_alive(self) -> bool {
        Stat::read(self.pid).is_some_and(|stat| stat.id == self && !stat.is_dead())
    }

    /// Sleeps until this process has ended; one that is gone already is not waited for.
    pub fn wait_gone(self) -> io::Result<()> {
        let Some(handle) = self.pinned()? else { return Ok(()) };
        wait_readable(&mut [PollFd::new(&handle, PollFlags::IN)], None).map(drop)
    }

    /// A handle on this process and no other; `None` when it is gone.
    fn pinned(self) -> io::Result<Option<OwnedFd>> {
        let Some(pid) = Pid::from_raw(self.pid) else { return Ok(None) };
        let handle = match rustix::process::pidfd_open(pid, PidfdFlags::empty()) {
            Ok(handle) => handle,
            Err(rustix::io::Errno::SRCH) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        // The handle pins whoever has the number now; only then is it worth asking who that is.
        Ok((Self::of(self.pid) == Some(self)).then_some(handle))
    }

    /// Signals this process and no other; `false` when it is gone.
    pub fn signal(self, signal: Signal) -> io::Result<bool> {
        let Some(handle) = self.pinned()? else { return Ok(false) };
        match rustix::process::pidfd_send_signal(handle, signal) {
            Ok(()) => Ok(true),
            Err(rustix::io::Errno::SRCH) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

/// The name of this boot of the machine: process ids of another boot mean nothing.
pub fn boot_id() -> io::Result<String> {
    Ok(std::fs::read_to_string("/proc/sys/kernel/random/boot_id")?.trim().to_owned())
}

/// Processes of our own user whose environment held `key=value` when they were started. Not ourselves.
pub fn find_by_env(key: &str, value: &str) -> io::Result<Vec<ProcessId>> {
    let wanted = format!("{key}={value}");
    find(|given| parts(&given.environment).any(|part| part == wanted.as_bytes()))
}

/// Processes of our own user that were started with exactly these arguments, whatever the program. Not ourselves.
pub fn find_by_args(args: &[&str]) -> io::Result<Vec<ProcessId>> {
    let wanted = || args.iter().map(|arg| arg.as_bytes());
    // Behind the last zero byte there is one more part, which is empty.
    find(|given| parts(&given.args).skip(1).eq(wanted().chain([&b""[..]])))
}

fn find(fits: impl Fn(&Given) -> bool) -> io::Result<Vec<ProcessId>> {
    let found = given()?.into_iter().filter(fits);
    Ok(found.filter_map(|given| ProcessId::of(given.pid)).collect())
}

fn parts(all: &[u8]) -> impl Iterator<Item = &[u8]> {
    all.split(|byte| *byte == 0)
}

/// Processor time used by a process, its ended children and all living descendants; `None` when it is gone.
pub fn cpu_time(root: ProcessId) -> io::Result<Option<Duration>> {
    if ProcessId::of(root.pid) != Some(root) {
        return Ok(None);
    }
    let all = all_processes()?;
    let mut ticks = 0;
    for stat in all.iter().filter(|stat| stat.id == root) {
        ticks += stat.cpu_ticks;
    }
    for stat in below(&all, root.pid) {
        ticks += stat.cpu_ticks;
    }
    // Linux shows a hundred ticks a second to every program, whatever the kernel uses itself.
    Ok(Some(Duration::from_millis(ticks.saturating_mul(10))))
}

/// One line of the process table.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stat {
    pub id: ProcessId,
    pub parent: i32,
    /// It runs what its parent ran when it was forked.
    pub forked: bool,
    /// Where its arguments begin and its environment ends; another program has them elsewhere, one that is just
    /// starting has no end yet.
    pub stack: Option<(u64, u64)>,
    kernel: bool,
    state: u8,
    cpu_ticks: u64,
}

impl Stat {
    pub fn read(pid: i32) -> Option<Self> {
        Self::parse(pid, &std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }

    pub fn is_dead(&self) -> bool {
        matches!(self.state, b'Z' | b'X')
    }

    /// It was given arguments and an environment, or is about to be.
    pub fn has_program(&self) -> bool {
        !self.is_dead() && !self.kernel
    }

    /// The second field is the program's name in brackets and may hold anything, brackets included.
    fn parse(pid: i32, text: &str) -> Option<Self> {
        let fields: Vec<&str> = text[text.rfind(')')? + 1..].split_ascii_whitespace().collect();
        let number = |nth: usize| fields.get(nth - 3)?.parse::<u64>().ok();
        let cpu_ticks = (14..=17).filter_map(number).sum();
        Some(Self {
            id: ProcessId { pid, start_time: number(22)? },
            parent: fields.get(1)?.parse().ok()?,
            forked: number(9)? & FORKED != 0,
            stack: number(48).zip(number(51)),
            kernel: number(9)? & KERNEL != 0,
            state: *fields.first()?.as_bytes().first()?,
            cpu_ticks,
        })
    }
}

pub(super) fn all_processes() -> io::Result<Vec<Stat>> {
    Ok(pids()?.into_iter().filter_map(Stat::read).collect())
}

/// Everything that descends from `root`, parents before children.
pub(super) fn below(all: &[Stat], root: i32) -> Vec<Stat> {
    let mut found: Vec<Stat> = Vec::new();
    let mut parents = vec![root];
    while let Some(parent) = parents.pop() {
        for stat in all.iter().filter(|stat| stat.parent == parent && stat.id.pid != parent) {
            if !found.iter().any(|known| known.id == stat.id) {
                found.push(*stat);
                parents.push(stat.id.pid);
            }
        }
    }
    found
}

pub(super) fn pids() -> io::Result<Vec<i32>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc")? {
        found.extend(entry?.file_name().to_str().and_then(|name| name.parse::<i32>().ok()));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_does_not_shift_the_fields() {
        let line = "7 (a) b) S 3 7 7 0 -1 4 5 0 0 0 10 20 1 2 20 0 1 0 4242 0 0";
        let stat = Stat::parse(7, line).unwrap();
        assert_eq!((stat.parent, stat.id.start_time, stat.cpu_ticks), (3, 4242, 33));
    }

    /// It is root's like much of ours, and some kernels show its arguments and environment as empty.
    #[test]
    fn a_thread_of_the_kernel_has_no_program() {
        let line = |flags: u32| format!("2 (kthreadd) S 0 0 0 0 -1 {flags} 0 0 0 0 0 2 0 0 20 0 1 0 20 0 0");
        assert!(!Stat::parse(2, &line(2_129_984)).unwrap().has_program());
        assert!(Stat::parse(2, &line(4_194_560)).unwrap().has_program());
        assert!(Stat::read(std::process::id().cast_signed()).unwrap().has_program());
    }

    #[test]
    fn a_recycled_number_is_never_signalled() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let real = ProcessId::of(child.id().cast_signed()).unwrap();
        let former = ProcessId { start_time: real.start_time - 1, ..real };
        assert!(!former.signal(Signal::KILL).unwrap());
        assert!(!former.is_alive() && real.is_alive());
        assert!(real.signal(Signal::KILL).unwrap());
        child.wait().unwrap();
        assert!(!real.is_alive() && !real.signal(Signal::KILL).unwrap());
    }
}
