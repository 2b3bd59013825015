//! Starts the daemon as a process of its own, and waits until it says that it is up.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use windlass_adapters::process;
use windlass_core::journal::{Fact, FactoryFact};
use windlass_core::text::clean;
use windlass_store::{EventQuery, Store};

use super::take_mark_away;
use crate::commands::restore;
use crate::context::Context;
use crate::daemon::{self, Daemon, Holder};
use crate::error::{CliError, DAMAGED};
use crate::exit::Exit;
use crate::project::{self, Project};

const PATIENCE: Duration = Duration::from_secs(15);
const PAUSE: Duration = Duration::from_millis(20);
/// As much of the log as is looked through for the reason of a failure.
const MAX_LOG: u64 = 64 * 1024;

/// The daemon's pid, and whether it was up before.
pub fn start(context: &Context, project: &Project) -> Result<(Option<u32>, bool), CliError> {
    // Makes or migrates the database here, where a person reads the error.
    let before = restore::mending(context, project, || last_seq(project))?;
    take_mark_away(project)?;
    let (path, log) = open_log(project)?;
    let from = log.metadata().map_err(|source| CliError::io("read", &path, source))?.len();
    let mut child = spawn(context, project, log)?;
    let patience = context.patience(PATIENCE);
    let until = Instant::now() + patience;
    while Instant::now() < until {
        if has_started(project, before, child.id())? {
            return Ok((Some(child.id()), false));
        }
        let ended =
            child.try_wait().map_err(|source| CliError::io("wait for", Path::new("the daemon"), source))?;
        if let Some(status) = ended {
            // Two who start it at once: one of them wins, and both have what they want.
            return match daemon::look(project.layout.state())? {
                Daemon::Up { pid, holder: Holder::Daemon } => Ok((pid, true)),
                Daemon::Up { pid, holder } => Err(daemon::busy(holder, pid)),
                Daemon::Down | Daemon::Unknown => Err(failed(&path, from, status)),
            };
        }
        std::thread::sleep(PAUSE);
    }
    Err(late(&child, patience))
}

fn spawn(context: &Context, project: &Project, log: File) -> Result<Child, CliError> {
    let cannot = |source| CliError::new("spawn", Exit::Failed, "cannot start the daemon").because(source);
    let mut command = Command::new(project::own_program()?);
    command.arg("-C").arg(&project.root).arg("--state").arg(project.layout.state());
    for _ in 0..context.globals.verbose {
        command.arg("-v");
    }
    for set in &context.globals.set {
        command.args(["--set", set]);
    }
    command.args(["up", "--foreground"]).current_dir("/").stdin(Stdio::null());
    command.stdout(log.try_clone().map_err(cannot)?).stderr(log);
    process::new_session(&mut command);
    command.spawn().map_err(cannot)
}

fn open_log(project: &Project) -> Result<(std::path::PathBuf, File), CliError> {
    let path = project.layout.log_file();
    let opened = OpenOptions::new().append(true).create(true).mode(0o600).open(&path);
    match opened {
        Ok(file) => Ok((path, file)),
        Err(source) => Err(CliError::io("open", &path, source)),
    }
}

fn last_seq(project: &Project) -> Result<i64, CliError> {
    Ok(project.client()?.last_seq()?)
}

/// The daemon may have put a copy in place of what we looked at: it is opened anew, and its numbers may be lower.
fn has_started(project: &Project, before: i64, pid: u32) -> Result<bool, CliError> {
    let store = match project.reader() {
        Err(error) if error.code == DAMAGED => return Ok(false),
        opened => opened?,
    };
    let since = if store.last_seq()? < before { 0 } else { before };
    let query = EventQuery { since, kinds: vec!["daemon_started".into()], ..EventQuery::default() };
    let ours = |fact: &Fact| match fact {
        Fact::Factory(FactoryFact::DaemonStarted { pid: started, .. }) => *started == pid,
        Fact::Factory(_) | Fact::Task(_) => false,
    };
    Ok(store.events(&query)?.iter().any(|event| ours(&event.entry.fact)))
}

fn failed(log: &Path, from: u64, status: ExitStatus) -> CliError {
    let said = windlass_adapters::files::read_from(log, from, MAX_LOG).ok().flatten();
    let said = said.map(|part| String::from_utf8_lossy(&part.bytes).into_owned()).unwrap_or_default();
    // The daemon prints its own error last.
    let reason = said.rfind("error[").map_or(said.as_str(), |at| &said[at..]);
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    let exit = Exit::ALL.into_iter().find(|exit| Some(exit.code()) == code && *exit != Exit::Ok);
    let error = CliError::new("up-failed", exit.unwrap_or(Exit::Failed), "the daemon ended at once");
    let error = if reason.trim().is_empty() {
        error.why(status.to_string())
    } else {
        error.why(clean(reason).trim())
    };
    error.next(format!("windlass logs    shows `{}`", log.display()))
}

fn late(child: &Child, patience: Duration) -> CliError {
    CliError::new("up-late", Exit::Pending, "the daemon has not said that it is up")
        .why(format!("it runs with pid {}, and {} s have passed", child.id(), patience.as_secs()))
        .next("windlass logs")
        .next("windlass status")
}
