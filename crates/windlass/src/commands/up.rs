//! `windlass up`: starts the factory, in the background or here.

mod background;
mod foreground;
mod house;
mod reload;

use crate::context::Context;
use crate::daemon::{self, Daemon, Holder};
use crate::error::CliError;
use crate::exit::Exit;
use crate::intake::Mains;
use crate::project::{Project, Tolerance};
use crate::view::UpReply;

/// Start the factory
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  windlass up                  in the background; survives your shell
  windlass up --foreground     here; Ctrl-C ends the daemon and leaves the agents running")]
pub struct Args {
    /// Stay here, with the log on stderr
    #[arg(long)]
    foreground: bool,
    /// Do nothing if a person took the factory down; for what starts it by itself
    #[arg(long)]
    unless_stopped: bool,
}

pub fn run(context: &mut Context, args: &Args) -> Result<Exit, CliError> {
    let project = Project::find_with(context, Tolerance::None)?;
    let settings = project.settings()?;
    if args.unless_stopped && project.layout.down_mark().exists() {
        context.out.talk("a person took the factory down; windlass up starts it again");
        return Ok(Exit::Ok);
    }
    let found = daemon::look_past(project.layout.state(), context.patience(daemon::BRIEF))?;
    let found = match found {
        Daemon::Up { pid, holder: Holder::Daemon } => Found::Up(pid),
        Daemon::Up { pid, holder } => return Err(daemon::busy(holder, pid)),
        Daemon::Down | Daemon::Unknown => Found::Down,
    };
    let what = match found {
        Found::Up(_) => "change nothing: the factory is up already",
        Found::Down => "start the factory",
    };
    if let Some(exit) = context.would(what, None)? {
        return Ok(exit);
    }
    if args.foreground {
        return match found {
            Found::Up(pid) => Err(already_running(pid)),
            Found::Down => foreground::run(context, &project, &settings),
        };
    }
    let (pid, already) = match found {
        Found::Up(pid) => {
            // A `down` that ran out of time has left it.
            take_mark_away(&project)?;
            (pid, true)
        }
        Found::Down => background::start(context, &project)?,
    };
    say_note(context, &project);
    if let Some(apart) = Mains::of(&project).apart()? {
        context.out.talk(&format!("{}: {}", apart.says, apart.pull));
    }
    let log = project.layout.log_file().display().to_string();
    let view = UpReply { schema: crate::view::UP_SCHEMA, pid, already, log };
    let word = if already { "the factory is up already" } else { "the factory is up" };
    let pid = pid.map_or_else(String::new, |pid| format!(" (pid {pid})"));
    context.out.show(&view, |_| format!("{word}{pid}\n"))?;
    Ok(Exit::Ok)
}

/// Whether there is a daemon already. One that is just starting shows when a second one cannot.
enum Found {
    Up(Option<u32>),
    Down,
}

/// How the file here stands to the one that counts.
fn say_note(context: &Context, project: &Project) {
    if let Some(note) = project.loaded.file.note() {
        context.out.talk(&note);
    }
}

/// A person wants it up: the mark that keeps it down goes.
fn take_mark_away(project: &Project) -> Result<(), CliError> {
    let mark = project.layout.down_mark();
    match std::fs::remove_file(&mark) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(source) => Err(CliError::io("remove", &mark, source)),
    }
}

fn already_running(pid: Option<u32>) -> CliError {
    let pid = pid.map_or_else(|| "unknown".into(), |pid| pid.to_string());
    CliError::new("already-running", Exit::Failed, format!("the factory is up already, with pid {pid}"))
        .next("windlass status")
        .next("windlass down")
}
