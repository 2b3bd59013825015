//! `windlass demo`: the whole way from issue to main, without any set-up.

use std::path::{Path, PathBuf};
use std::time::Duration;

use windlass_adapters::forge::{Forge, NewIssue};
use windlass_engine::Factory;

use crate::context::Context;
use crate::daemon::Holder;
use crate::demo::issues::{DemoIssue, ISSUES};
use crate::demo::watch::{Watcher, Wishes};
use crate::demo::{check, project as sample};
use crate::error::CliError;
use crate::exit::Exit;
use crate::project::{Project, state_root};
use crate::text::counted;

/// Longer than it takes on a slow machine.
const PATIENCE: Duration = Duration::from_secs(300);

/// What the configuration of every demo begins with, and of nothing else.
const MARK: &str = "# The demo's own settings";

/// Watch real issues become real merges on a sample repository, without any set-up
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  windlass demo              asks you the one question that comes up
  windlass demo --yes        answers it itself
  windlass demo --yes --json ends with one object for programs
  windlass demo --in todo    makes the project in the folder todo
  windlass demo --clean      removes what earlier demos left
  windlass demo --clean --in todo    removes the one in the folder todo

Kill it at any moment and go on with `windlass up` in its folder.")]
pub struct Args {
    /// Answer the question that comes up
    #[arg(long)]
    yes: bool,
    /// Where to make the project; a new folder below the state folder if not given
    #[arg(long = "in", value_name = "FOLDER")]
    folder: Option<PathBuf>,
    /// Remove the projects and states of earlier demos; with --in, only the one there
    #[arg(long, conflicts_with = "yes")]
    clean: bool,
    /// Milliseconds between two acts of the scripted agent
    #[arg(long, value_name = "MS", default_value_t = 60)]
    pace: u64,
}

pub fn run(context: &mut Context, args: &Args) -> Result<Exit, CliError> {
    if args.clean {
        return clean(context, args.folder.as_deref());
    }
    let folder = folder(context, args)?;
    let project = prepare(context, &folder, args.pace, &ISSUES)?;
    let factory = Factory::open(project.settings()?, project.layout.clone(), Holder::Daemon.to_string())?;
    context.out.talk(&format!(
        "repo   {}  (POSIX sh)   forge embedded · CI embedded · agent demo\nstop   Ctrl-C; then `windlass up` there goes on and `windlass down` ends everything",
        project.root.display()
    ));
    let stop = factory.stopper();
    let daemon = std::thread::spawn(move || factory.run());
    let wishes = Wishes { answer: args.yes, patience: context.patience(PATIENCE) };
    let watched = Watcher::new(&project)?.follow(context, wishes, || daemon.is_finished());
    stop.down();
    let ended = daemon.join().unwrap_or(Ok(()));
    let watched = watched?;
    ended?;
    let away = match &args.folder {
        Some(_) => format!("windlass demo --clean --in {}", project.root.display()),
        None => "windlass demo --clean".into(),
    };
    let report = check::report(&project, &watched, away)?;
    context.out.show(&report, |style| report.words(style))?;
    Ok(report.exit())
}

/// A folder that no earlier demo has used.
fn folder(context: &Context, args: &Args) -> Result<PathBuf, CliError> {
    let folder = match &args.folder {
        Some(folder) => context.around.cwd.join(folder),
        None => demos(context)?.join(windlass_engine::now().0.to_string()).join("todo"),
    };
    if folder.exists() {
        return Err(CliError::new("exists", Exit::Usage, format!("`{}` is already there", folder.display()))
            .next("choose another folder"));
    }
    std::fs::create_dir_all(&folder).map_err(|source| CliError::io("make", &folder, source))?;
    folder.canonicalize().map_err(|source| CliError::io("find", &folder, source))
}

fn demos(context: &Context) -> Result<PathBuf, CliError> {
    Ok(state_root(context)?.join("demo"))
}

/// Project, state and issues.
pub fn prepare(
    context: &mut Context,
    folder: &Path,
    pace: u64,
    issues: &[DemoIssue],
) -> Result<Project, CliError> {
    sample::create(folder, &config(pace), &context.around.search_path).map_err(|source| {
        CliError::new("demo", Exit::Failed, "cannot make the sample project")
            .because(source)
            .next("check that git is installed: git --version")
    })?;
    context.globals.dir = Some(folder.to_owned());
    let project = Project::find(context)?;
    project.make_state()?;
    let forge = project.forge()?;
    for issue in issues {
        let new = NewIssue {
            title: issue.title.to_owned(),
            body: issue.body.to_owned(),
            labels: vec![project.config.labels.backlog.clone()],
            author: project.user().to_owned(),
            key: None,
        };
        forge.create_issue(&new, windlass_engine::now())?;
    }
    Ok(project)
}

fn config(pace: u64) -> String {
    format!(
        "{MARK}; a project of yours needs the same three sections.\n\
         name = \"todo\"\nbranch = \"main\"\n\n\
         [ci]\ncommand = \"sh tests/run.sh\"\n\n\
         [agent.dev]\nkind = \"demo\"\nenv = {{ WINDLASS_DEMO_PACE_MS = \"{pace}\" }}\n\n\
         [guards]\nmin_free_memory_mb = 200\nmin_free_disk_mb = 200\n"
    )
}

fn clean(context: &mut Context, given: Option<&Path>) -> Result<Exit, CliError> {
    let removed = match given {
        Some(folder) => {
            clean_one(context, &context.around.cwd.join(folder))?;
            1
        }
        None => clean_all(context)?,
    };
    let view = crate::view::Reply::new(format!("removed {}", counted(removed, "demo", "demos")), None);
    context.out.show(&view, |_| format!("{}\n", view.what))?;
    Ok(Exit::Ok)
}

fn clean_all(context: &mut Context) -> Result<usize, CliError> {
    let mut removed = 0;
    for entry in std::fs::read_dir(demos(context)?).into_iter().flatten().flatten() {
        context.globals.dir = Some(entry.path().join("todo"));
        if let Ok(project) = Project::find(context) {
            super::down::end(&project, super::down::PATIENCE)?;
            remove(project.layout.state())?;
        }
        remove(&entry.path())?;
        removed += 1;
    }
    Ok(removed)
}

/// A folder that a person has named is removed only if a demo has made it.
fn clean_one(context: &mut Context, folder: &Path) -> Result<(), CliError> {
    let config = std::fs::read_to_string(folder.join(crate::config::FILE)).unwrap_or_default();
    if !config.starts_with(MARK) {
        let title = format!("`{}` is no demo", folder.display());
        return Err(CliError::new("not-a-demo", Exit::Usage, title)
            .next("windlass demo --clean    removes the demos that chose their own folder"));
    }
    context.globals.dir = Some(folder.to_owned());
    let project = Project::find(context)?;
    super::down::end(&project, super::down::PATIENCE)?;
    remove(project.layout.state())?;
    remove(&project.root)
}

fn remove(path: &Path) -> Result<(), CliError> {
    Ok(windlass_adapters::files::remove_tree(path)?)
}
