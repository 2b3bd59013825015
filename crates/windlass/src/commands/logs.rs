//! `windlass logs`: what an agent, a critic, a build or the daemon says.

mod render;
mod tail;

use std::time::Duration;

use windlass_adapters::agent::bridge::terminal::SCREEN;
use windlass_adapters::files;
use windlass_adapters::shim::{LOG, TRANSCRIPT};
use windlass_core::id::{IssueNumber, SessionId};
use windlass_core::task::Task;
use windlass_core::text::one_line;
use windlass_store::Store;

use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::interrupt::Interrupt;
use crate::out::Out;
use crate::project::{self, Project};
use render::Format;
use tail::Tail;

const PAUSE: Duration = Duration::from_millis(100);
/// More than is ever kept.
const MAX_SCREEN: u64 = 64 << 20;
/// Builds that are looked through for the newest of a task.
const BUILDS: usize = 200;

/// Print what an issue's agent says, or its critic, its build, or the daemon
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  windlass logs 12                 what the agent said and did
  windlass logs -f 12              and go on until the task ends
  windlass logs --ci 12            its newest build
  windlass logs --critic --raw 12  the critic's transcript as it is
  windlass logs --screen 12        what its terminal showed, also when it is closed
  windlass logs --tail 50          the daemon's own log")]
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
    #[arg(long, requires = "issue", conflicts_with_all = ["ci", "critic", "follow", "raw"])]
    screen: bool,
    /// Lines as they were written
    #[arg(long)]
    raw: bool,
    /// So many of the last lines
    #[arg(long, value_name = "N", default_value_t = 200)]
    tail: usize,
}

impl Args {
    /// What an issue's agent says, so many lines of the past and then as it happens.
    pub fn follow(issue: IssueNumber, tail: usize) -> Self {
        Self { issue: Some(issue.0), follow: true, ci: false, critic: false, screen: false, raw: false, tail }
    }
}

/// Something that grows line by line.
#[derive(Debug)]
struct Source {
    name: String,
    format: Format,
    tail: Tail,
}

pub fn run(context: &mut Context, args: &Args) -> Result<Exit, CliError> {
    // Before the first line: whoever has read one may let go.
    let interrupt = args.follow.then(|| Interrupt::listen(context)).transpose()?;
    let project = Project::find(context)?;
    let out = &mut context.out;
    match args.issue {
        None => of_daemon(&project, args, out, interrupt.as_ref()),
        Some(issue) if args.screen => screen(&project, IssueNumber(issue), out),
        Some(issue) => of_issue(&project, args, IssueNumber(issue), out, interrupt.as_ref()),
    }
}

fn of_daemon(
    project: &Project,
    args: &Args,
    out: &mut Out,
    interrupt: Option<&Interrupt>,
) -> Result<Exit, CliError> {
    let mut source = Source::new("daemon", Format::Plain, Tail::of(project.layout.log_file()));
    source.begin(args, out)?;
    let Some(interrupt) = interrupt else { return Ok(Exit::Ok) };
    loop {
        if let Some(exit) = interrupt.came() {
            return Ok(exit);
        }
        std::thread::sleep(PAUSE);
        source.go_on(args, out)?;
    }
}

/// The oldest first, as a terminal would draw it.
fn screen(project: &Project, issue: IssueNumber, out: &mut Out) -> Result<Exit, CliError> {
    let task = project::known_task(project, &project.reader()?, issue)?;
    let folder = project.layout.session(&task.session);
    let mut shown = Vec::new();
    for name in SCREEN.iter().rev() {
        shown.extend(files::read_head(&folder.join(name), MAX_SCREEN)?.unwrap_or_default());
    }
    if shown.is_empty() {
        let title = format!("{} has shown nothing in a terminal", task.session);
        return Err(
            CliError::new("not-found", Exit::NotFound, title).next(format!("windlass logs {}", issue.0))
        );
    }
    out.must_be_whole()?;
    out.text(&drawn(&String::from_utf8_lossy(&shown)))?;
    out.flush()?;
    Ok(Exit::Ok)
}

/// Only what draws: an agent's screen gives no orders to the terminal of whoever looks at it later, such as to fill its clipboard
/// or to answer a question.
fn drawn(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\u{1b}') {
        kept.push_str(&rest[..at]);
        let order = &rest[at + 1..];
        rest = match order.chars().next() {
            // A text to the terminal, up to a bell or the end of a string.
            Some(']' | 'P' | '_' | '^' | 'X') => {
                let end = [order.find('\u{7}').map(|at| at + 1), order.find("\u{1b}\\").map(|at| at + 2)];
                &order[end.into_iter().flatten().min().unwrap_or(order.len())..]
            }
            Some('[') => {
                let end = order
                    .find(|c: char| ('@'..='~').contains(&c) && c != '[')
                    .map_or(order.len(), |at| at + 1);
                // It asks the terminal for something, which would be typed into the shell.
                if !order[..end].ends_with(['c', 'n', 't']) {
                    kept.push('\u{1b}');
                    kept.push_str(&order[..end]);
                }
                &order[end..]
            }
            Some(_) | None => order,
        };
    }
    kept.push_str(rest);
    kept
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
    let mut source = find(project, &store, args, &task)?;
    match &mut source {
        Some(source) => source.begin(args, out)?,
        None if interrupt.is_some() => {}
        None => return Err(nothing(issue, args)),
    }
    let Some(interrupt) = interrupt else { return Ok(Exit::Ok) };
    loop {
        if let Some(exit) = interrupt.came() {
            return Ok(exit);
        }
        let Some(task) = project::task_of(&store, issue)? else { return Ok(Exit::Ok) };
        if !go_on(project, &store, args, &task, &mut source, out)? {
            return Ok(Exit::Ok);
        }
        std::thread::sleep(PAUSE);
    }
}

/// One look; says whether more may come. Another session of the task is followed from its first line.
fn go_on(
    project: &Project,
    store: &dyn Store,
    args: &Args,
    task: &Task,
    source: &mut Option<Source>,
    out: &mut Out,
) -> Result<bool, CliError> {
    let newest = find(project, store, args, task)?;
    let same = source.as_ref().map(|source| &source.name) == newest.as_ref().map(|source| &source.name);
    if !same {
        *source = newest;
    }
    let more = source.as_mut().map_or(Ok(false), |source| source.go_on(args, out))?;
    Ok(!(task.state.is_terminal() && same && !more))
}

fn find(project: &Project, store: &dyn Store, args: &Args, task: &Task) -> Result<Option<Source>, CliError> {
    let layout = &project.layout;
    if args.ci {
        let builds = store.recent_builds(BUILDS)?;
        let build = builds.iter().find(|build| build.task == task.id);
        let source = |id| Source::new(id, Format::Plain, Tail::of(layout.builds().join(id).join(LOG)));
        return Ok(build.map(|build| source(build.id.as_str())));
    }
    if args.critic {
        let review = (task.reviews > 0).then(|| SessionId::review(&task.id, task.reviews));
        return Ok(review.map(|session| transcript(project, &session)));
    }
    Ok(Some(transcript(project, &task.session)))
}

/// The last lines of an issue's agent, or of the daemon, one sentence each.
pub fn last(
    project: &Project,
    store: &dyn Store,
    issue: Option<u64>,
    lines: usize,
) -> Result<Vec<String>, CliError> {
    let task = issue.map_or(Ok(None), |issue| project::task_of(store, IssueNumber(issue)))?;
    let mut source = match (issue, task) {
        (None, _) => Source::new("daemon", Format::Plain, Tail::of(project.layout.log_file())),
        (Some(_), None) => return Ok(vec!["nobody has worked on it yet".into()]),
        (Some(_), Some(task)) => transcript(project, &task.session),
    };
    let lines = source.tail.last(lines)?;
    let said = lines.iter().flat_map(|line| render::said(source.format, line));
    Ok(said.map(|(kind, text)| format!("{kind:<6} {}", one_line(&text, 400))).collect())
}

fn transcript(project: &Project, session: &SessionId) -> Source {
    let tail = Tail::of(project.layout.session(session).join(TRANSCRIPT));
    Source::new(session.as_str(), Format::Transcript, tail)
}

fn nothing(issue: IssueNumber, args: &Args) -> CliError {
    let what = if args.ci { "build" } else { "review" };
    CliError::new("not-found", Exit::NotFound, format!("{issue} has had no {what} yet"))
        .next(format!("windlass why {}", issue.0))
}

impl Source {
    fn new(name: &str, format: Format, tail: Tail) -> Self {
        Self { name: name.to_owned(), format, tail }
    }

    fn begin(&mut self, args: &Args, out: &mut Out) -> Result<(), CliError> {
        let lines = self.tail.last(args.tail)?;
        if lines.is_empty() && args.tail > 0 {
            out.talk(&format!("{} has said nothing yet", self.name));
        }
        self.print(args, &lines, out)
    }

    /// Says whether there was more.
    fn go_on(&mut self, args: &Args, out: &mut Out) -> Result<bool, CliError> {
        let lines = self.tail.more()?;
        self.print(args, &lines, out)?;
        Ok(!lines.is_empty())
    }

    fn print(&self, args: &Args, lines: &[String], out: &mut Out) -> Result<(), CliError> {
        for line in lines {
            if args.raw {
                out.must_be_whole()?;
                out.line(line)?;
            } else {
                render::show(out, &self.name, self.format, line)?;
            }
        }
        out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_screen_that_is_shown_again_gives_no_orders() {
        for (shown, expected) in [
            ("a\u{1b}[1mb\u{1b}[0m", "a\u{1b}[1mb\u{1b}[0m"),
            ("a\u{1b}]52;c;ZXZpbA==\u{7}b", "ab"),
            ("a\u{1b}]0;title\u{1b}\\b", "ab"),
            ("a\u{1b}Pq\u{1b}\\b\u{1b}[c\u{1b}[6n", "ab"),
            ("a\u{1b}]never ends", "a"),
            ("a\u{1b}", "a"),
        ] {
            assert_eq!(drawn(shown), expected, "{shown:?}");
        }
    }
}
