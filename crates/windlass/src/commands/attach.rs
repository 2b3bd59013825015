//! `windlass attach`: watches the live agent of an issue. Nobody's keyboard goes there.

use windlass_core::id::IssueNumber;
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
  windlass attach 12          its last 1,000 lines, then as it happens; Ctrl-C lets go and ends nothing
  windlass attach --json 12   the same, a record in each line
  windlass tell 12 \"…\"        is how to speak to it")]
pub struct Args {
    /// The issue's number
    issue: u64,
    /// Type to it as well; refused, since no agent has a terminal
    #[arg(long)]
    write: bool,
}

pub fn run(context: &mut Context, args: &Args) -> Result<Exit, CliError> {
    // Before the first line: whoever has read one may let go.
    let interrupt = Interrupt::listen(context)?;
    let project = Project::find(context)?;
    let issue = IssueNumber(args.issue);
    let agent = live(&project, &project.reader()?, issue)?;
    if args.write {
        return Err(no_keyboard(&agent));
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

fn no_keyboard(agent: &AgentLine) -> CliError {
    CliError::new("headless", Exit::WorkFailed, format!("cannot type to {}", agent.name))
        .why("it runs without a terminal and reads messages only")
        .next(format!("windlass tell {} \"…\"", agent.issue))
}
