//! `windlass run`: has one issue worked on next, and shows how it goes.

mod follow;
mod held;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::SIGUSR1;
use windlass_adapters::forge::Forge;
use windlass_core::forge::Issue;
use windlass_core::id::IssueNumber;
use windlass_core::task::{AbandonReason, State};

use super::why;
use crate::context::Context;
use crate::daemon::{self, Daemon, Holder};
use crate::error::CliError;
use crate::exit::Exit;
use crate::interrupt::{self, Interrupt};
use crate::opening;
use crate::project::{self, Project};
use crate::view::{RUN_SCHEMA, Reply, Run};
use follow::{Ended, Follower};
use held::Standing;

/// Have one issue worked on next, and watch it
#[derive(Debug, clap::Args)]
#[command(
    after_long_help = "With the factory down, --watch runs it here for this issue alone, until the issue has ended.
Ends with 0 when it is merged, 6 when it asks a person, 7 when it is abandoned, 8 when the time is over,
10 when it was stopped by its budget, 130 at Ctrl-C; the work itself goes on.
When it cannot start, or cannot go on, this says why and ends: with 10 for a pause, a guard or the day's budget, 8 for
another issue that must be closed first or that has the factory to itself, and 6 for a label or a dependency that only a
person can put right.

Examples:
  windlass run 12                        before all others
  windlass run 12 --watch                in front of you
  windlass run 12 --watch --timeout 30m
  windlass run 12 --ignore-deps          before what it depends on"
)]
pub struct Args {
    /// The issue's number
    issue: u64,
    /// Show how it goes until it has ended
    #[arg(long)]
    watch: bool,
    /// Also if issues that it depends on are open
    #[arg(long)]
    ignore_deps: bool,
}

pub fn run(context: &mut Context, args: &Args) -> Result<Exit, CliError> {
    let interrupt = args.watch.then(|| Interrupt::listen(context)).transpose()?;
    if interrupt.is_none() && context.globals.timeout.is_some() {
        return Err(CliError::new("usage", Exit::Usage, "without --watch there is nothing to wait for")
            .next(format!("windlass run {} --watch --timeout 30m", args.issue)));
    }
    let project = Project::find(context)?;
    let number = IssueNumber(args.issue);
    let issue = project.forge()?.issue(number)?;
    let missing = unmarked(&project, &issue, args.ignore_deps)?;
    let labels = if missing.is_empty() { String::new() } else { format!(", with {}", missing.join(", ")) };
    if let Some(exit) = context.would(format!("have {number} worked on next{labels}"), Some(args.issue))? {
        return Ok(exit);
    }
    mark(&project, number, &missing)?;
    let seen = daemon::look_past(project.layout.state(), context.patience(daemon::BRIEF))?;
    let only = only(seen, number);
    let Some(interrupt) = interrupt else { return leave(context, &project, number, seen) };
    if let Daemon::Up { pid, holder } = seen
        && only.is_some_and(|only| only != number)
    {
        return Err(daemon::busy(holder, pid));
    }
    if let Standing::Held(held) = held::look(&project, &project.reader()?, number, only)? {
        return Err(held.error(&project, number));
    }
    let follower = Follower::new(&project, number, only)?;
    let ended = match seen {
        Daemon::Up { .. } | Daemon::Unknown => follower.follow(context, &interrupt, || false)?,
        Daemon::Down => alone(context, &project, follower, &interrupt)?,
    };
    if let Ended::Held(held) = &ended {
        return Err(held.error(&project, number));
    }
    say(context, &project, number)?;
    Ok(exit(&ended))
}

/// The one issue that is worked on, if others are not.
fn only(seen: Daemon, number: IssueNumber) -> Option<IssueNumber> {
    match seen {
        Daemon::Down => Some(number),
        Daemon::Up { holder: Holder::Run(other), .. } => Some(other),
        Daemon::Up { holder: Holder::Daemon | Holder::Tick | Holder::Restore | Holder::Import, .. }
        | Daemon::Unknown => None,
    }
}

/// The labels that it lacks to be work that comes first.
fn unmarked(project: &Project, issue: &Issue, ignore_deps: bool) -> Result<Vec<String>, CliError> {
    let number = issue.number;
    let task = project::task_of(&project.reader()?, number)?;
    if let Some(task) = task.filter(|task| task.state.is_terminal()) {
        let title = format!("{number} has ended as {}", task.state.name());
        let mut error = CliError::new("ended", Exit::WorkFailed, title);
        error.next = why::of_task(&task, issue.open);
        return Err(error);
    }
    if !issue.open {
        return Err(CliError::new("closed", Exit::WorkFailed, format!("{number} is closed"))
            .next(format!("windlass show {}", number.0)));
    }
    let labels = &project.config.labels;
    let wanted = [labels.backlog.as_str(), labels.priority.as_str()];
    let alone = ignore_deps.then_some(labels.ignore_deps.as_str());
    Ok(wanted.into_iter().chain(alone).filter(|label| !issue.has_label(label)).map(str::to_owned).collect())
}

/// What holds it back otherwise stays, and is said by `why`.
fn mark(project: &Project, number: IssueNumber, missing: &[String]) -> Result<(), CliError> {
    if !missing.is_empty() {
        let labels: Vec<&str> = missing.iter().map(String::as_str).collect();
        project.forge()?.add_labels(number, &labels, windlass_engine::now())?;
    }
    project.knock()
}

/// The wish is written down all the same: the work begins when nothing stands in its way any more.
fn leave(
    context: &mut Context,
    project: &Project,
    number: IssueNumber,
    seen: Daemon,
) -> Result<Exit, CliError> {
    let view = Reply::new(format!("{number} comes next"), Some(number.0));
    context.out.show(&view, |_| format!("{}\n", view.what))?;
    let held = match held::look(project, &project.reader()?, number, None)? {
        Standing::Held(held) => Some(held),
        Standing::Waits(_) | Standing::Goes => None,
    };
    if let Some(held) = &held {
        context.out.talk(&format!("it cannot start now: {}", held.why));
        for way in held.ways(project, number) {
            context.out.talk(&format!("next  {way}"));
        }
    }
    match seen {
        Daemon::Up { holder: Holder::Run(other), .. } if other != number => {
            context.out.talk(&format!("only {other} is worked on now; when it has ended: windlass up"));
            Ok(Exit::NotRunning)
        }
        Daemon::Up { .. } | Daemon::Unknown => Ok(held.map_or(Exit::Ok, |held| held.exit)),
        Daemon::Down => {
            context.out.talk("the factory is down: windlass up, or windlass run --watch");
            Ok(Exit::NotRunning)
        }
    }
}

/// The factory in this process, for one issue.
fn alone(
    context: &mut Context,
    project: &Project,
    follower: Follower<'_>,
    interrupt: &Interrupt,
) -> Result<Ended, CliError> {
    let mut settings = project.settings()?;
    settings.only = Some(follower.issue());
    // Before the factory opens: from then on `windlass down` sends this signal.
    let down = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(SIGUSR1, Arc::clone(&down)).map_err(interrupt::cannot_listen)?;
    let factory = opening::open(context, project, &settings, Holder::Run(follower.issue()))?;
    let stop = factory.stopper();
    let daemon = std::thread::spawn(move || factory.run());
    let is_down = || down.load(Ordering::Relaxed);
    let ended = follower.follow(context, interrupt, || daemon.is_finished() || is_down());
    if is_down() {
        context.out.talk("windlass down has ended it");
        stop.down();
    } else {
        stop.leave();
    }
    let stopped = daemon.join().map_err(|_| CliError::new("engine", Exit::Failed, "the factory panicked"))?;
    let ended = ended?;
    stopped?;
    if matches!(ended, Ended::LetGo(_) | Ended::Asks | Ended::Held(_)) {
        context.out.talk("its work is kept; windlass up goes on with it");
    }
    Ok(ended)
}

fn say(context: &mut Context, project: &Project, number: IssueNumber) -> Result<(), CliError> {
    let task = project::task_of(&project.reader()?, number)?;
    let view = Run {
        schema: RUN_SCHEMA,
        issue: number.0,
        task: task.as_ref().map(|task| task.id.to_string()),
        state: task.as_ref().map(|task| task.state.name().to_owned()),
        says: task.as_ref().map_or_else(|| "nobody has taken it".into(), windlass_core::message::state_line),
        cost_micro_usd: task.as_ref().map_or(0, |task| task.tally.cost_micro_usd),
    };
    context
        .out
        .show(&view, |_| format!("{number} {}: {}\n", view.state.as_deref().unwrap_or("waits"), view.says))
}

fn exit(ended: &Ended) -> Exit {
    match ended {
        Ended::LetGo(exit) => *exit,
        Ended::FactoryGone => Exit::NotRunning,
        Ended::Asks => Exit::NeedsHuman,
        Ended::Held(held) => held.exit,
        Ended::Done(state) => match abandoned(state) {
            Some(AbandonReason::Budget) => Exit::Limit,
            Some(_) => Exit::WorkFailed,
            None => Exit::Ok,
        },
    }
}

fn abandoned(state: &State) -> Option<&AbandonReason> {
    if let State::Abandoned { reason } = state { Some(reason) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exit_code_says_how_it_ended() {
        let over = |reason| Ended::Done(Box::new(State::Abandoned { reason }));
        for (ended, code) in [
            (over(AbandonReason::Budget), 10),
            (over(AbandonReason::CiExhausted), 7),
            (Ended::Asks, 6),
            (Ended::LetGo(Exit::Pending), 8),
            (Ended::FactoryGone, 5),
            (Ended::LetGo(Exit::Interrupted), 130),
        ] {
            assert_eq!(exit(&ended).code(), code, "{ended:?}");
        }
    }
}
