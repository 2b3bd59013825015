//! `windlass tick`: one round of the factory without a daemon, for those who start it from a timer.

use crate::context::Context;
use crate::daemon::{self, Daemon, Holder};
use crate::error::CliError;
use crate::exit::Exit;
use crate::house;
use crate::opening;
use crate::project::{Project, Tolerance};
use crate::view::Reply;

/// Do one round without a daemon: look, decide, start what is to start, do what is due, and end
#[derive(Debug, clap::Args)]
#[command(
    after_long_help = "Agents and builds that it starts go on by themselves; the next round hears of them.

Examples:
  windlass tick
  * * * * * cd ~/src/myrepo && windlass tick --quiet"
)]
pub struct Args {}

pub fn run(context: &mut Context, _args: &Args) -> Result<Exit, CliError> {
    let project = Project::find_with(context, Tolerance::None)?;
    let settings = project.settings()?;
    if project.layout.down_mark().exists() {
        context.out.talk("a person took the factory down; windlass up starts it again");
        return Ok(Exit::NotRunning);
    }
    let does_it = match daemon::look_twice(project.layout.state())? {
        Daemon::Up { holder: Holder::Daemon, .. } => Some("a daemon is up and does this all the time"),
        Daemon::Up { holder: Holder::Tick, .. } => Some("another round is being done"),
        Daemon::Up { pid, holder: holder @ (Holder::Run(_) | Holder::Restore | Holder::Import) } => {
            return Err(daemon::busy(holder, pid));
        }
        Daemon::Down | Daemon::Unknown => None,
    };
    if let Some(does_it) = does_it {
        let view = Reply::new(does_it, None);
        context.out.show(&view, |_| format!("{}\n", view.what))?;
        return Ok(Exit::Ok);
    }
    opening::open(context, &project, &settings, Holder::Tick)?.tick()?;
    house::run_due(&project)?;
    let view = Reply::new("one round is done", None);
    context.out.show(&view, |_| format!("{}\n", view.what))?;
    Ok(Exit::Ok)
}
