//! `windlass down`: ends the factory with all its processes, and proves that none is left.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use windlass_adapters::files;
use windlass_adapters::process::ProcessId;
use windlass_adapters::shim::client;

use crate::context::Context;
use crate::daemon::{self, Daemon, Holder};
use crate::error::CliError;
use crate::exit::Exit;
use crate::leftovers::{self, Leftover};
use crate::project::{Project, Tolerance};
use crate::view::{DownReply, Stamp};

/// Agents may take a minute to save their work.
pub const PATIENCE: Duration = Duration::from_secs(90);
/// How long an ended process may take to be gone.
const GONE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(20);

/// Stop the factory, agents and builds included; it stays down until `up`
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:\n  windlass down")]
pub struct Args {}

pub fn run(context: &mut Context, _args: &Args) -> Result<Exit, CliError> {
    let project = Project::find_with(context, Tolerance::Any)?;
    // Only to say so if there is no state at all.
    drop(project.reader()?);
    if context.globals.dry_run {
        return foresee(context, &project);
    }
    let was_running = end(&project, context.patience(PATIENCE))?;
    if !was_running {
        context.out.talk("the factory was not running");
    }
    let view = DownReply { schema: crate::view::DOWN_SCHEMA, was_running, processes_left: 0 };
    context.out.show(&view, |_| "the factory is down, 0 processes left\n".into())?;
    Ok(Exit::Ok)
}

fn foresee(context: &mut Context, project: &Project) -> Result<Exit, CliError> {
    let state = project.layout.state();
    let processes = find(state)?.len();
    let what = match daemon::look(state)? {
        Daemon::Down => format!("keep the factory down, and end {processes} processes"),
        Daemon::Up { .. } | Daemon::Unknown => format!("end the daemon and {processes} processes"),
    };
    Ok(context.would(what, None)?.unwrap_or(Exit::Ok))
}

/// Ends the daemon if there is one, then all that it left; fails unless nothing is left. Says whether there was one.
pub fn end(project: &Project, patience: Duration) -> Result<bool, CliError> {
    let state = project.layout.state();
    write_mark(project)?;
    let was_running = daemon::look(state)? != Daemon::Down;
    if was_running {
        end_daemon(state, patience)?;
    }
    end_leftovers(state)?;
    Ok(was_running)
}

/// Written first: whatever starts the factory by itself must find it.
fn write_mark(project: &Project) -> Result<(), CliError> {
    let text = format!("{} at {}\n", project.user(), Stamp(windlass_engine::now()));
    Ok(files::write_atomic(&project.layout.down_mark(), text.as_bytes())?)
}

fn end_daemon(state: &Path, patience: Duration) -> Result<(), CliError> {
    let until = Instant::now() + patience;
    // One that is only starting is met when it has started.
    let seen = daemon::wait(state, patience, |seen| seen != Daemon::Unknown)?;
    // Only they hear the signal; the others end by themselves.
    if let Daemon::Up { pid, holder: Holder::Daemon | Holder::Run(_) } = seen {
        let pid = pid.and_then(|pid| i32::try_from(pid).ok()).and_then(ProcessId::of);
        let sent = pid.map_or(Ok(false), |pid| pid.signal(Signal::USR1));
        sent.map_err(|source| {
            CliError::new("signal", Exit::Failed, "cannot reach the daemon").because(source)
        })?;
    }
    match daemon::wait(state, until.saturating_duration_since(Instant::now()), |seen| seen == Daemon::Down)? {
        Daemon::Down => Ok(()),
        Daemon::Up { pid, holder } => {
            let pid = pid.map_or_else(|| "unknown".into(), |pid| pid.to_string());
            let title = format!("the {holder} with pid {pid} has not ended");
            Err(CliError::new("still-up", Exit::Pending, title)
                .why(format!("{} s have passed", patience.as_secs()))
                .next("windlass logs"))
        }
        Daemon::Unknown => {
            Err(CliError::new("still-up", Exit::Pending, "somebody keeps opening the database"))
        }
    }
}

/// Ends what a daemon left, and fails unless nothing is left.
pub fn end_leftovers(state: &Path) -> Result<(), CliError> {
    end_orphans(state)?;
    let left = wait_gone(state)?;
    if left.is_empty() { Ok(()) } else { Err(still_there(&left)) }
}

/// Ends what a daemon left running that was killed, or told to leave its agents alone.
fn end_orphans(state: &Path) -> Result<(), CliError> {
    let folders: BTreeSet<PathBuf> = find(state)?.into_iter().filter_map(|left| left.folder).collect();
    for folder in folders.iter().filter(|folder| folder.is_dir()) {
        client::request_stop(folder)?;
    }
    for folder in folders.iter().filter(|folder| folder.is_dir()) {
        let until = Instant::now() + GONE;
        while client::alive(folder)? && Instant::now() < until {
            std::thread::sleep(PAUSE);
        }
        client::kill_leftovers(folder)?;
    }
    Ok(())
}

fn wait_gone(state: &Path) -> Result<Vec<Leftover>, CliError> {
    let until = Instant::now() + GONE;
    loop {
        let left = find(state)?;
        if left.is_empty() || Instant::now() >= until {
            return Ok(left);
        }
        std::thread::sleep(PAUSE);
    }
}

fn find(state: &Path) -> Result<Vec<Leftover>, CliError> {
    leftovers::find(state).map_err(|source| CliError::io("look through", Path::new("/proc"), source))
}

fn still_there(left: &[Leftover]) -> CliError {
    let list: Vec<String> = left.iter().map(|left| format!("{} {}", left.pid, left.command)).collect();
    CliError::new("processes-left", Exit::Failed, format!("{} processes are still there", left.len()))
        .why(list.join("\n"))
        .next("kill them by their number, then: windlass down")
}
