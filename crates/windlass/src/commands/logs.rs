//! `windlass logs`: what an agent, a critic, a build or the daemon says.

mod places;
mod render;
mod screen;
mod source;
mod tail;

use std::time::Duration;

use windlass_core::id::IssueNumber;
use windlass_core::text::one_line;
use windlass_store::Store;

use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::interrupt::Interrupt;
use crate::out::Out;
use crate::project::{self, Project};
use places::{Place, Since};
use source::Source;
use tail::Tail;

const PAUSE: Duration = Duration::from_millis(100);

/// Print what an issue's agent says, or its critic, its build, or the daemon
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  windlass logs 12                 what the agent said and did
  windlass logs -f 12              and go on until the task ends
  windlass logs --ci 12            its newest build
  windlass logs --critic --raw 12  the critic's transcript as it is
  windlass logs --screen 12        what its terminal showed, also when it is closed
  windlass logs --tail 50          the daemon's own log
  windlass logs 12 --ci --grep failed
                                   the lines of its newest build that have this text
  windlass logs -f 12 --json --since dev-12.1-1:5120
                                   on from the last line that was read, also into sessions that came later")]
pub struct Args {
    /// The issue's number; without it, the daemon's log
    issue: Option<u64>,
    /// Go on as it happens, until the task ends
    #[arg(short, long)]
    follow: bool,
    /// The newest build
    #[arg(long, requires = "issue", conflicts_with = "critic")]
    ci: bool,
    /// The newest review
    #[arg(long, requires = "issue")]
    critic: bool,
    /// What the agent's terminal showed, as it was drawn; for one that has a terminal
    #[arg(long, requires = "issue", conflicts_with_all = ["ci", "critic", "follow", "raw", "since", "grep"])]
    screen: bool,
    /// Lines as they were written
    #[arg(long)]
    raw: bool,
    /// So many of the last lines
    #[arg(long, value_name = "N", default_value_t = 200, conflicts_with = "since")]
    tail: usize,
    /// Only what was said after this line of --json, by its source and seq; SEQ alone is one of the newest source
    #[arg(long, value_name = "[SOURCE:]SEQ")]
    since: Option<Since>,
    /// Only what has this text in it, in capitals or not; --tail counts these alone
    #[arg(long, value_name = "TEXT", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    grep: Option<String>,
}

impl Args {
    /// What an issue's agent says, so many lines of the past and then as it happens.
    pub fn follow(issue: IssueNumber, tail: usize) -> Self {
        Self {
            issue: Some(issue.0),
            follow: true,
            ci: false,
            critic: false,
            screen: false,
            raw: false,
            tail,
            since: None,
            grep: None,
        }
    }
}

pub fn run(context: &mut Context, args: &Args) -> Result<Exit, CliError> {
    // Before the first line: whoever has read one may let go.
    let interrupt = args.follow.then(|| Interrupt::listen(context)).transpose()?;
    let project = Project::find(context)?;
    let out = &mut context.out;
    match args.issue {
        None => of_daemon(&project, args, out, interrupt.as_ref()),
        Some(issue) if args.screen => screen::show(&project, IssueNumber(issue), out),
        Some(issue) => of_issue(&project, args, IssueNumber(issue), out, interrupt.as_ref()),
    }
}

/// What there is to read, and whether nothing more will come.
struct Look {
    places: Vec<Place>,
    over: bool,
}

fn of_daemon(
    project: &Project,
    args: &Args,
    out: &mut Out,
    interrupt: Option<&Interrupt>,
) -> Result<Exit, CliError> {
    let look = || Ok(Look { places: vec![places::of_daemon(project)], over: false });
    read(args, &look, out, interrupt)
}

/// What an issue's agent, critic or build says; with an interrupt until the task ends or it comes.
pub fn of_issue(
    project: &Project,
    args: &Args,
    issue: IssueNumber,
    out: &mut Out,
    interrupt: Option<&Interrupt>,
) -> Result<Exit, CliError> {
    let store = project.reader()?;
    let task = project::known_task(project, &store, issue)?;
    if interrupt.is_none() && places::of_task(project, &store, args, &task)?.is_empty() {
        return Err(nothing(issue, args));
    }
    let look = || match project::task_of(&store, issue)? {
        None => Ok(Look { places: Vec::new(), over: true }),
        Some(task) => {
            let places = places::of_task(project, &store, args, &task)?;
            Ok(Look { places, over: task.state.is_terminal() })
        }
    };
    read(args, &look, out, interrupt)
}

/// Until all is read; with an interrupt until it comes or nothing more will.
fn read(
    args: &Args,
    look: &dyn Fn() -> Result<Look, CliError>,
    out: &mut Out,
    interrupt: Option<&Interrupt>,
) -> Result<Exit, CliError> {
    let mut source = begin(args, look()?.places, out)?;
    if interrupt.is_none() && args.since.is_none() {
        return Ok(Exit::Ok);
    }
    loop {
        if let Some(exit) = interrupt.and_then(Interrupt::came) {
            return Ok(exit);
        }
        let Look { places, over } = look()?;
        let more = match &mut source {
            Some(source) => source.go_on(args, places, out)?,
            None => {
                source = places.into_iter().next().map(Source::new);
                source.is_some()
            }
        };
        if !more && (over || interrupt.is_none()) {
            return Ok(Exit::Ok);
        }
        if !more {
            std::thread::sleep(PAUSE);
        }
    }
}

/// The last lines of the newest source, or nothing yet of the one that somebody has read before.
fn begin(args: &Args, mut places: Vec<Place>, out: &mut Out) -> Result<Option<Source>, CliError> {
    if let Some(since) = &args.since {
        return since.find(places)?.map(|place| Source::since(place, since)).transpose();
    }
    let mut source = places.pop().map(Source::new);
    if let Some(source) = &mut source {
        source.begin(args, out)?;
    }
    Ok(source)
}

/// The last lines of an issue's agent, or of the daemon, one sentence each.
pub fn last(
    project: &Project,
    store: &dyn Store,
    issue: Option<u64>,
    lines: usize,
) -> Result<Vec<String>, CliError> {
    let task = issue.map_or(Ok(None), |issue| project::task_of(store, IssueNumber(issue)))?;
    let place = match (issue, task) {
        (None, _) => places::of_daemon(project),
        (Some(_), None) => return Ok(vec!["nobody has worked on it yet".into()]),
        (Some(_), Some(task)) => places::of_session(project, &task.session),
    };
    let lines = Tail::of(place.path).last(lines)?;
    let said = lines.iter().flat_map(|line| render::said(place.format, line));
    Ok(said.map(|said| format!("{:<6} {}", said.kind, one_line(&said.text, 400))).collect())
}

fn nothing(issue: IssueNumber, args: &Args) -> CliError {
    let what = if args.ci { "build" } else { "review" };
    CliError::new("not-found", Exit::NotFound, format!("{issue} has had no {what} yet"))
        .next(format!("windlass why {}", issue.0))
}
