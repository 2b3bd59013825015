//! What a child gets from us and does between fork and exec: the only unsafe code of the project.
#![expect(
    unsafe_code,
    reason = "`pre_exec` wants an async-signal-safe closure; descriptors come as bare numbers"
)]

use std::fs::File;
use std::io;
use std::os::fd::BorrowedFd;
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::fs::{Mode, OFlags};
use rustix::io::FdFlags;
use rustix::process::{Resource, Rlimit, Signal};

/// On the kernel's scale from -1000 (never) to 1000 (always first).
const FIRST_TO_GO: &[u8] = b"800";

/// The child leads its own session and process group, so a signal to our group or terminal does not reach it.
pub fn new_session(command: &mut Command) {
    // SAFETY: one system call, no allocation, no lock.
    unsafe {
        command.pre_exec(|| rustix::process::setsid().map(drop).map_err(io::Error::from));
    }
}

/// The child is killed when the *thread* that started it ends: start it from one that lives long enough.
pub fn die_with_parent(command: &mut Command) {
    end_with_parent(command, Signal::KILL);
}

/// The same, but the child may first put a terminal back in order.
pub fn hang_up_with_parent(command: &mut Command) {
    end_with_parent(command, Signal::HUP);
}

fn end_with_parent(command: &mut Command, signal: Signal) {
    let parent = rustix::process::getpid();
    // SAFETY: two system calls, no allocation, no lock; `io::Error::from(ErrorKind)` does not allocate.
    unsafe {
        command.pre_exec(move || {
            rustix::process::set_parent_process_death_signal(Some(signal))?;
            // The parent may have died before the line above could count.
            if rustix::process::getppid() != Some(parent) {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
            Ok(())
        });
    }
}

/// No file that the child or its children write grows beyond `bytes`; the writer is killed instead.
pub fn limit_file_size(command: &mut Command, bytes: u64) {
    let limit = Rlimit { current: Some(bytes), maximum: Some(bytes) };
    // SAFETY: one system call, no allocation, no lock.
    unsafe {
        command.pre_exec(move || rustix::process::setrlimit(Resource::Fsize, limit).map_err(io::Error::from));
    }
}

/// Where memory ends, the kernel ends the child before us. Where it may not be said, it is not.
pub fn first_to_go(command: &mut Command) {
    // SAFETY: three system calls, no allocation, no lock.
    unsafe {
        command.pre_exec(|| {
            let flags = OFlags::WRONLY | OFlags::CLOEXEC;
            let score = rustix::fs::open(c"/proc/self/oom_score_adj", flags, Mode::empty());
            match score.and_then(|score| rustix::io::write(score, FIRST_TO_GO)) {
                Ok(_) | Err(_) => Ok(()),
            }
        });
    }
}

/// The child goes through these doors into its control group before it is anything. A door that does not open is passed by:
/// the program runs without a group then.
pub fn join(command: &mut Command, doors: Vec<File>) {
    // SAFETY: one system call each, no allocation, no lock.
    unsafe {
        command.pre_exec(move || {
            for door in &doors {
                if rustix::io::write(door, b"0").is_err() {
                    continue;
                }
            }
            Ok(())
        });
    }
}

/// Whatever our own starter left open is not handed on to our children. For the start of a program,
/// before there are other threads.
pub fn keep_descriptors_private() -> io::Result<()> {
    let mut open = Vec::new();
    for entry in std::fs::read_dir("/proc/self/fd")? {
        open.extend(
            entry?.file_name().to_str().and_then(|name| name.parse::<i32>().ok()).filter(|fd| *fd > 2),
        );
    }
    for fd in open {
        // SAFETY: borrowed for one system call, which fails harmlessly if the number is closed by now.
        let fd = unsafe { BorrowedFd::borrow_raw(fd) };
        match rustix::io::fcntl_setfd(fd, FdFlags::CLOEXEC) {
            Ok(()) | Err(rustix::io::Errno::BADF) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
