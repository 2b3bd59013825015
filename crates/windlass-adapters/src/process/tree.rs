//! Ending whole families of processes, also members that left the group or lost their parent.

use std::collections::BTreeSet;
use std::io;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, WaitIdStatus, WaitOptions};

use super::capture::wait_readable;
use super::ident::{ProcessId, Stat, all_processes, below};

/// How long a killed process may take to be dead.
const DEATH: Duration = Duration::from_secs(10);

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
/// Those of another user are left alone: only a control group ends them.
pub fn kill_tree(patience: Duration) -> io::Result<u32> {
    let until = Instant::now() + patience;
    let own = std::process::id().cast_signed();
    let mut killed = BTreeSet::new();
    while has_children()? {
        // Stopped first, so that nobody has a child while we walk.
        for stat in living(&below(&all_processes()?, own)) {
            send(stat.id, Signal::STOP)?;
        }
        let mut foreign = BTreeSet::new();
        let found = living(&below(&all_processes()?, own));
        for stat in &found {
            match send(stat.id, Signal::KILL)? {
                Sent::Done => drop(killed.insert(stat.id)),
                Sent::Gone => {}
                Sent::Foreign => drop(foreign.insert(stat.id)),
            }
        }
        reap_children(own, &foreign, until)?;
        if !foreign.is_empty() && foreign.len() == found.len() {
            break;
        }
        if Instant::now() > until {
            return Err(io::ErrorKind::TimedOut.into());
        }
    }
    Ok(u32::try_from(killed.len()).unwrap_or(u32::MAX))
}

/// Kills the given processes and all that descends from them, and waits until they are dead; says how many were alive.
pub fn kill_found(found: &[ProcessId]) -> io::Result<u32> {
    let all = all_processes()?;
    let mut killed = BTreeSet::new();
    for root in found.iter().filter(|root| root.is_alive()) {
        let family = living(&below(&all, root.pid)).into_iter().map(|stat| stat.id).chain([*root]);
        for id in family {
            match send(id, Signal::KILL)? {
                Sent::Done => drop(killed.insert(id)),
                Sent::Gone | Sent::Foreign => {}
            }
        }
    }
    let until = Instant::now() + DEATH;
    for id in &killed {
        wait_dead(*id, until)?;
    }
    Ok(u32::try_from(killed.len()).unwrap_or(u32::MAX))
}

/// What became of a signal.
enum Sent {
    Done,
    Gone,
    /// It belongs to another user, as whoever was started by `sudo`.
    Foreign,
}

fn send(id: ProcessId, signal: Signal) -> io::Result<Sent> {
    match id.signal(signal) {
        Ok(true) => Ok(Sent::Done),
        Ok(false) => Ok(Sent::Gone),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(Sent::Foreign),
        Err(error) => Err(error),
    }
}

/// Whoever was killed is still seen for a moment.
fn wait_dead(id: ProcessId, until: Instant) -> io::Result<()> {
    let handle =
        Pid::from_raw(id.pid).and_then(|pid| rustix::process::pidfd_open(pid, PidfdFlags::empty()).ok());
    if let Some(handle) = handle.filter(|_| id.is_alive()) {
        wait_readable(&mut [PollFd::new(&handle, PollFlags::IN)], Some(until))?;
    }
    Ok(())
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

/// Everybody but the foreign has been killed: waits for each child's end and takes its status.
fn reap_children(own: i32, foreign: &BTreeSet<ProcessId>, until: Instant) -> io::Result<()> {
    let ours = |stat: &Stat| stat.parent == own && !foreign.contains(&stat.id);
    for stat in all_processes()?.into_iter().filter(ours) {
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
