//! Leaves a command for the daemon and waits for its answer.

use std::time::{Duration, Instant};

use windlass_adapters::forge::Forge;
use windlass_core::command::{Answer, Command, cannot_retry};
use windlass_core::id::IssueNumber;
use windlass_store::Store;

use crate::context::Context;
use crate::daemon::{self, Daemon};
use crate::error::CliError;
use crate::exit::Exit;
use crate::project::{self, Project};
use crate::view::Answered;

/// How long an answer is waited for.
pub const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(25);

pub fn ask(context: &mut Context, command: &Command) -> Result<Exit, CliError> {
    let project = Project::find(context)?;
    if let Some(issue) = command.issue() {
        project.forge()?.issue(issue)?;
    }
    let issue = command.issue().map(|issue| issue.0);
    if let Some(exit) = context.would(format!("ask the factory to {}", wish(command)), issue)? {
        return Ok(exit);
    }
    match leave(&project, command, context.patience(PATIENCE))? {
        Left::Waits { id } => {
            let text = "will be carried out when the factory is up".to_owned();
            said(context, id, "waiting", text)?;
            context.out.talk("the factory is down: windlass up");
            Ok(Exit::NotRunning)
        }
        Left::Done { id, what } => {
            said(context, id, "done", what)?;
            Ok(Exit::Ok)
        }
    }
}

/// What became of a command that was not refused.
#[derive(Debug)]
pub enum Left {
    Done {
        id: i64,
        what: String,
    },
    /// The factory is down.
    Waits {
        id: i64,
    },
}

/// Leaves a command, and waits for the answer of a factory that is up.
pub fn leave(project: &Project, command: &Command, patience: Duration) -> Result<Left, CliError> {
    let store = project.client()?;
    if daemon::look(project.layout.state())? == Daemon::Down
        && let Some(why) = never(&store, command)?
    {
        return Err(refused(&store, command.issue(), why)?);
    }
    let id = store.post_command(command, project.user(), windlass_engine::now())?;
    project.knock()?;
    match daemon::look(project.layout.state())? {
        Daemon::Down => Ok(Left::Waits { id }),
        Daemon::Up { .. } | Daemon::Unknown => match wait(&store, id, patience)? {
            Some(Answer::Done { what }) => Ok(Left::Done { id, what }),
            Some(Answer::Refused { why }) => Err(refused(&store, command.issue(), why)?),
            None => Err(no_answer(id, patience)),
        },
    }
}

/// Why the factory will refuse it whenever it comes up; what was left for it before may still change things.
fn never(store: &dyn Store, command: &Command) -> Result<Option<String>, CliError> {
    let Command::Retry { issue } = command else { return Ok(None) };
    let waiting = store.waiting_commands()?;
    if waiting.iter().any(|posted| posted.command.issue() == Some(*issue)) {
        return Ok(None);
    }
    let task = project::task_of(store, *issue)?;
    let why = cannot_retry(task.as_ref().map(|task| &task.state));
    Ok(why.map(|why| format!("{issue}: {why}")))
}

/// In words, as after "to".
fn wish(command: &Command) -> String {
    match command {
        Command::Tell { issue, .. } => format!("tell the agent of {issue} this"),
        Command::Retry { issue } => format!("try {issue} again"),
        Command::Abandon { issue } => format!("abandon {issue}"),
        Command::Pause { .. } => "start nothing new".into(),
        Command::Resume => "take work again".into(),
        Command::QueuePause { .. } => "land nothing".into(),
        Command::QueueResume => "land again".into(),
        Command::QueueFront { issue } => format!("land {issue} before its turn"),
        Command::QueueDrop { issue } => format!("take {issue} out of the queue"),
        Command::TakeKeyboard { issue, .. } => format!("give you the keyboard of {issue}"),
        Command::ReturnKeyboard { issue, .. } => format!("take the keyboard of {issue} back"),
    }
}

fn said(context: &mut Context, command: i64, status: &'static str, text: String) -> Result<(), CliError> {
    let view = Answered { schema: crate::view::ANSWER_SCHEMA, command, status, text };
    context.out.show(&view, |_| format!("{}\n", view.text))
}

fn wait(store: &dyn Store, id: i64, patience: Duration) -> Result<Option<Answer>, CliError> {
    let until = Instant::now() + patience;
    loop {
        let answer = store.command(id)?.and_then(|posted| posted.answer);
        if answer.is_some() || Instant::now() >= until {
            return Ok(answer);
        }
        std::thread::sleep(PAUSE);
    }
}

/// What was never there is not found; what is there and says no has refused.
fn refused(store: &dyn Store, issue: Option<IssueNumber>, why: String) -> Result<CliError, CliError> {
    let missing = match issue {
        Some(issue) => project::task_of(store, issue)?.is_none(),
        None => false,
    };
    let (code, exit) = if missing { ("no-task", Exit::NotFound) } else { ("refused", Exit::WorkFailed) };
    let error = CliError::new(code, exit, "the factory refuses").why(why);
    Ok(match issue {
        Some(issue) => error.next(format!("windlass why {}", issue.0)),
        None => error.next("windlass status"),
    })
}

fn no_answer(id: i64, patience: Duration) -> CliError {
    CliError::new("no-answer", Exit::Pending, "the factory has not answered yet")
        .why(format!("command {id} is stored and still waits after {} s", patience.as_secs()))
        .next("windlass events -f --kind command_taken")
        .next("windlass logs    shows the daemon's own log")
}
