//! `windlass attach`: shows the live agent of an issue, in its own terminal where it has one.

mod screen;

use std::io::IsTerminal;

use windlass_adapters::agent::bridge::terminal::{SCREEN, Tmux};
use windlass_core::id::{IssueNumber, SessionId};
use windlass_store::{Store, Which};

use super::{agents, logs};
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::interrupt::Interrupt;
use crate::project::{self, Project};
use crate::text::age;
use crate::view::AgentLine;

/// Lines of the past that are shown first.
const HISTORY: usize = 1_000;

/// Watch the live agent of an issue until its task ends
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  windlass attach 12          its terminal, to look at; without one its last 1,000 lines, then as it happens
  windlass attach --write 12  its terminal with the keyboard, until Ctrl-C or five minutes without a key
  windlass attach --json 12   the same, a record in each line
  windlass attach --timeout 10m 12   until ten minutes are over; the exit code is 8 then
  windlass tell 12 \"…\"        is how to speak to it otherwise

Ctrl-C lets go and never ends the agent.")]
pub struct Args {
    /// The issue's number
    issue: u64,
    /// Type to it as well, where it has a terminal; the log says who did, and until when
    #[arg(long)]
    write: bool,
}

pub fn run(context: &mut Context, args: &Args) -> Result<Exit, CliError> {
    // Before the first line: whoever has read one may let go.
    let interrupt = Interrupt::listen(context)?;
    let project = Project::find(context)?;
    let issue = IssueNumber(args.issue);
    let agent = live(&project, &project.reader()?, issue)?;
    let folder = project.layout.session(&SessionId::stored(&agent.name));
    let tmux = Tmux::new(&folder);
    let at_terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    match (args.write, tmux.is_open()) {
        (true, true) if at_terminal => {
            let dry = context.would(format!("take the keyboard of {}", agent.name), Some(issue.0))?;
            return dry.map_or_else(|| screen::take_over(&project, issue, &tmux, &interrupt), Ok);
        }
        (true, true) => return Err(no_terminal(&agent)),
        (true, false) if folder.join(SCREEN[0]).exists() => return Err(closed(&agent)),
        (true, false) => return Err(no_keyboard(&agent)),
        (false, true) if at_terminal && !context.out.is_json() => return screen::show(&tmux, &interrupt),
        (false, true | false) => {}
    }
    let light = agents::named(context.out.style, agent.light);
    let seen = age(windlass_engine::now(), agent.last_seen_at.0);
    let name = &agent.name;
    context.out.talk(&format!("watching {name} ({issue}), {light}, seen {seen} ago; Ctrl-C lets go"));
    logs::of_issue(&project, &logs::Args::follow(issue, HISTORY), issue, &mut context.out, Some(&interrupt))
}

/// The session that works on the issue, or waits for its turn to go on.
fn live(project: &Project, store: &dyn Store, issue: IssueNumber) -> Result<AgentLine, CliError> {
    let task = project::known_task(project, store, issue)?;
    let sessions = agents::list(project, store, Which::Live, windlass_engine::now())?;
    let found = sessions.into_iter().find(|agent| agent.name == task.session.as_str());
    found.filter(|_| !task.state.is_terminal()).ok_or_else(|| {
        CliError::new("not-found", Exit::NotFound, format!("nobody works on {issue} now"))
            .why(format!("its task is {}", task.state.name()))
            .next(format!("windlass why {}", issue.0))
            .next(format!("windlass logs {}    what was said before", issue.0))
    })
}

fn no_terminal(agent: &AgentLine) -> CliError {
    CliError::new("no-terminal", Exit::WorkFailed, format!("cannot type to {}", agent.name))
        .why("you are not at a terminal yourself")
        .next(format!("windlass tell {} \"…\"", agent.issue))
}

fn closed(agent: &AgentLine) -> CliError {
    CliError::new("closed", Exit::WorkFailed, format!("cannot type to {}", agent.name))
        .why("its terminal is closed until it has something to do")
        .next(format!("windlass tell {} \"…\"", agent.issue))
}

fn no_keyboard(agent: &AgentLine) -> CliError {
    CliError::new("headless", Exit::WorkFailed, format!("cannot type to {}", agent.name))
        .why("it runs without a terminal and reads messages only")
        .next(format!("windlass tell {} \"…\"", agent.issue))
}
