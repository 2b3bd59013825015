//! The daemon itself: runs the factory until a signal ends it.

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1};
use signal_hook::iterator::Signals;
use tracing_subscriber::EnvFilter;
use windlass_engine::{Settings, Stop};

use super::{reload, say_note, take_mark_away};
use crate::context::Context;
use crate::daemon::Holder;
use crate::error::CliError;
use crate::exit::Exit;
use crate::opening;
use crate::project::Project;

pub fn run(context: &Context, project: &Project, settings: &Settings) -> Result<Exit, CliError> {
    start_log(context)?;
    #[cfg(feature = "crash-points")]
    crate::crash::install();
    // Before the factory opens: a signal that comes meanwhile must wait, not kill.
    let signals = Signals::new([SIGTERM, SIGINT, SIGHUP, SIGUSR1]).map_err(no_signals)?;
    take_mark_away(project)?;
    let factory = opening::open(context, project, settings, Holder::Daemon)?;
    let handle = signals.handle();
    let stop = factory.stopper();
    let listener = std::thread::Builder::new().name("signals".into()).spawn(move || listen(signals, &stop));
    let listener = listener.map_err(no_signals)?;
    let watched = reload::watch(project, factory.reloader()).map_err(no_watcher)?;
    say_note(context, project);
    context.out.talk(&format!("the factory is up (pid {})", std::process::id()));
    let done = factory.run();
    handle.close();
    watched.end();
    if listener.join().is_err() {
        tracing::error!("the thread that hears signals has panicked");
    }
    done?;
    context.out.talk("the factory has ended");
    Ok(Exit::Ok)
}

/// `windlass down` sends SIGUSR1: end every process. All others end the daemon alone.
fn listen(mut signals: Signals, stop: &Stop) {
    for signal in signals.forever() {
        if signal == SIGUSR1 {
            stop.down();
        } else {
            stop.leave();
        }
    }
}

fn start_log(context: &Context) -> Result<(), CliError> {
    let by_flag = match context.globals.verbose {
        0 => "info",
        1 => "debug",
        2.. => "trace",
    };
    let asked = context.around.log.as_deref().unwrap_or(by_flag);
    let filter = EnvFilter::try_new(asked).map_err(|error| {
        CliError::new("log", Exit::Usage, format!("`{asked}` is not a log level"))
            .because(error)
            .next("WINDLASS_LOG=debug")
    })?;
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_ansi(false).with_writer(std::io::stderr);
    log.try_init().map_err(|error| CliError::new("log", Exit::Failed, "cannot start the log").because(error))
}

fn no_watcher(source: std::io::Error) -> CliError {
    CliError::new("config-watch", Exit::Failed, "cannot watch the configuration").because(source)
}

fn no_signals(source: std::io::Error) -> CliError {
    CliError::new("signals", Exit::Failed, "cannot listen to signals").because(source)
}
