//! One made-up issue from end to end, in a project and a state of its own: the proof that all of it works here.

use std::ffi::OsStr;
use std::path::Path;
use std::time::{Duration, Instant};

use windlass_adapters::process::ProcessId;
use windlass_core::id::IssueNumber;
use windlass_core::task::State;
use windlass_engine::Factory;

use crate::commands::{demo, down};
use crate::context::Context;
use crate::daemon::Holder;
use crate::demo::issues::ISSUES;
use crate::error::CliError;
use crate::exit::Exit;
use crate::project::{self, Project};
use crate::view::Check;

/// Far above what it takes; it only ends a trial that would hang.
const PATIENCE: Duration = Duration::from_secs(120);
const PAUSE: Duration = Duration::from_millis(50);
/// Of the folder of a trial; the pid of who runs it follows.
const PREFIX: &str = "doctor-";
const TODO: &str = "todo";
const STATE: &str = "state";

pub fn check(context: &mut Context) -> Check {
    let begun = Instant::now();
    let remedy = "windlass demo    shows every step";
    match run(context) {
        Ok(State::Merged { .. }) => {
            let ms = begun.elapsed().as_millis();
            Check::ok(
                "trial",
                format!("a made-up issue was worked on, tested, reviewed and merged in {ms} ms"),
            )
        }
        Ok(state) => Check::fail("trial", format!("a made-up issue ended as {}", state.name()), remedy),
        Err(error) => Check::fail("trial", error.sentence(), remedy),
    }
}

fn run(context: &mut Context) -> Result<State, CliError> {
    let root = project::state_root(context)?;
    sweep(&root)?;
    let folder = root.join(format!("{PREFIX}{}-{}", std::process::id(), windlass_engine::now().0));
    std::fs::create_dir_all(folder.join(TODO)).map_err(|source| CliError::io("make", &folder, source))?;
    let before =
        (context.globals.dir.take(), context.globals.state.take(), std::mem::take(&mut context.globals.set));
    context.globals.state = Some(folder.join(STATE));
    let done = work(context, &folder.join(TODO));
    (context.globals.dir, context.globals.state, context.globals.set) = before;
    windlass_adapters::files::remove_tree(&folder)?;
    done
}

/// Ends and removes what trials left that were killed on their way.
fn sweep(root: &Path) -> Result<(), CliError> {
    for entry in std::fs::read_dir(root).into_iter().flatten().flatten() {
        let folder = entry.path();
        let Some(pid) = pid_of(&folder) else { continue };
        if ProcessId::of(pid).is_some_and(ProcessId::is_alive) || !is_of_a_trial(&folder) {
            continue;
        }
        if folder.join(STATE).is_dir() {
            down::end_leftovers(&folder.join(STATE))?;
        }
        windlass_adapters::files::remove_tree(&folder)?;
    }
    Ok(())
}

fn pid_of(folder: &Path) -> Option<i32> {
    let (pid, at) = folder.file_name()?.to_str()?.strip_prefix(PREFIX)?.split_once('-')?;
    at.bytes().all(|byte| byte.is_ascii_digit()).then(|| pid.parse().ok())?
}

/// A project may be called like this, too; its state has other things in it.
fn is_of_a_trial(folder: &Path) -> bool {
    let mut entries = std::fs::read_dir(folder).into_iter().flatten();
    entries.all(|entry| entry.is_ok_and(|entry| [TODO, STATE].map(OsStr::new).contains(&&*entry.file_name())))
}

fn work(context: &mut Context, folder: &Path) -> Result<State, CliError> {
    let project = demo::prepare(context, folder, 1, &ISSUES[..1])?;
    let factory = Factory::open(project.settings()?, project.layout.clone(), Holder::Daemon.to_string())?;
    let stop = factory.stopper();
    let daemon = std::thread::spawn(move || factory.run());
    let ended = wait(&project);
    stop.down();
    let stopped = daemon.join().map_err(|_| CliError::new("trial", Exit::Failed, "the factory panicked"))?;
    let ended = ended?;
    stopped?;
    Ok(ended)
}

fn wait(project: &Project) -> Result<State, CliError> {
    let store = project.reader()?;
    let until = Instant::now() + PATIENCE;
    while Instant::now() < until {
        let task = project::task_of(&store, IssueNumber(1))?;
        if let Some(task) = task.filter(|task| task.state.is_terminal()) {
            return Ok(task.state);
        }
        std::thread::sleep(PAUSE);
    }
    Err(CliError::new("timeout", Exit::Pending, "the made-up issue has not ended in time"))
}
