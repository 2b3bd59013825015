//! Ending whole families of processes, also members that left the group or lost their parent.

use std::io;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, WaitIdStatus, WaitOptions};

use super::capture::wait_readable;
use super::ident::{ProcessId, Stat, all_processes, below};

/// From now on, orphans among our descendants become our own children instead of init's.
pub fn become_subreaper() -> io::Result<()> {
    Ok(rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?)
}

/// Signals a whole process group; `false` when nobody is in it.
pub fn kill_group(leader: i32, signal: Signal) -> io::Result<bool> {
    let Some(leader) = Pid::from_raw(leader) else { return Ok(false) };
    match rustix::process::kill_process_group(leader, signal) {
        Ok(()) => Ok(true),
        Err(Errno::SRCH) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Kills and reaps everything that descends from us; says how many living processes there were.
/// For a subreaper this is complete: whoever loses its parent comes back to us and is met in the next round.
pub fn kill_tree(patience: Duration) -> io::Result<u32> {
    let until = Instant::now() + patience;
    let own = std::process::id().cast_signed();
    let mut killed = std::collections::BTreeSet::new();
    while has_children()? {
        // Stopped first, so that nobody has a child while we walk.
        for stat in living(&below(&all_processes()?, own)) {
            stat.id.signal(Signal::STOP)?;
        }
        for stat in living(&below(&all_processes()?, own)) {
            stat.id.signal(Signal::KILL)?;
            killed.insert(stat.id);
        }
        reap_children(own, until)?;
        if Instant::now() > until {
            return Err(io::ErrorKind::TimedOut.into());
        }
    }
    Ok(u32::try_from(killed.len()).unwrap_or(u32::MAX))
}

/// Kills the given processes and all that descends from them; says how many were alive.
pub fn kill_found(found: &[ProcessId]) -> io::Result<u32> {
    let all = all_processes()?;
    let mut killed = 0;
    for root in found {
        for stat in below(&all, root.pid) {
            killed += u32::from(!stat.is_dead() && stat.id.signal(Signal::KILL)?);
        }
        killed += u32::from(root.is_alive() && root.signal(Signal::KILL)?);
    }
    Ok(killed)
}

/// Takes the exit status of ended orphans that became ours, and leaves that of `spare` to its owner.
pub fn reap_orphans(spare: i32) -> io::Result<()> {
    if !matches!(peek(), Ok(Some(_))) {
        return Ok(());
    }
    let own = std::process::id().cast_signed();
    for stat in all_processes()? {
        if stat.parent == own && stat.is_dead() && stat.id.pid != spare {
            rustix::process::waitpid(Pid::from_raw(stat.id.pid), WaitOptions::NOHANG)?;
        }
    }
    Ok(())
}

fn living(all: &[Stat]) -> Vec<Stat> {
    all.iter().filter(|stat| !stat.is_dead()).copied().collect()
}

fn has_children() -> io::Result<bool> {
    match peek() {
        Ok(_) => Ok(true),
        Err(Errno::CHILD) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Whether a child of ours has ended, without taking its status; `CHILD` when we have none at all.
fn peek() -> Result<Option<WaitIdStatus>, Errno> {
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    rustix::process::waitid(WaitId::All, look)
}

/// Everybody has been killed: waits for each child's end and takes its status.
fn reap_children(own: i32, until: Instant) -> io::Result<()> {
    for stat in all_processes()?.into_iter().filter(|stat| stat.parent == own) {
        let pid = Pid::from_raw(stat.id.pid);
        let Some(handle) = pid.and_then(|pid| rustix::process::pidfd_open(pid, PidfdFlags::empty()).ok())
        else {
            continue;
        };
        wait_readable(&mut [PollFd::new(&handle, PollFlags::IN)], Some(until))?;
        rustix::process::waitpid(pid, WaitOptions::NOHANG)?;
    }
    Ok(())
}
