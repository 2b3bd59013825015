//! `windlass gc`: removes what has ended long ago. What lives, and what is saved nowhere else, is never touched.

use std::path::Path;

use windlass_adapters::files;
use windlass_adapters::git::{BareRepo, Expect, Git, Swap};
use windlass_adapters::shim::client;
use windlass_core::build::BuildStatus;
use windlass_core::id::{BuildId, TaskId};
use windlass_core::session::IdentityStatus;
use windlass_core::time::{Millis, Span};
use windlass_store::{Store, Which};

use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::project::Project;
use crate::text::{age, table};
use crate::view::{GC_SCHEMA, Gc, GcItem};

/// Remove transcripts, builds and rescued work that are older than you want to keep
#[derive(Debug, clap::Args)]
#[command(after_long_help = "The database keeps its record of all of them.

Examples:
  windlass gc --dry-run          what would go
  windlass gc --keep 14d
  windlass gc --rescued          also work of abandoned tasks that was saved in git")]
pub struct Args {
    /// How long ended things are kept
    #[arg(long, value_name = "TIME", default_value = "30d", value_parser = span)]
    keep: Span,
    /// Also what was saved of abandoned work below refs/windlass/rescue
    #[arg(long)]
    rescued: bool,
    /// Only say what would go
    #[arg(short = 'n', long)]
    dry_run: bool,
}

pub fn run(context: &mut Context, args: &Args) -> Result<Exit, CliError> {
    let project = Project::find(context)?;
    let store = project.reader()?;
    let now = windlass_engine::now();
    let before = Millis(now.0.saturating_sub(args.keep.0));
    let mut items = sessions(&project, &store, now, before, args.dry_run)?;
    items.extend(builds(&project, &store, now, before, args.dry_run)?);
    if args.rescued {
        items.extend(rescued(&project, &store, now, before, args.dry_run)?);
    }
    let bytes = items.iter().filter_map(|item| item.bytes).sum();
    let view = Gc { schema: GC_SCHEMA, dry_run: args.dry_run, items, bytes };
    context.out.show(&view, |_| words(&view))?;
    Ok(Exit::Ok)
}

fn sessions(
    project: &Project,
    store: &dyn Store,
    now: Millis,
    before: Millis,
    dry_run: bool,
) -> Result<Vec<GcItem>, CliError> {
    let mut items = Vec::new();
    for identity in store.identities(Which::Ended)? {
        let folder = project.layout.session(&identity.name);
        let task_ended = store.task(&identity.task)?.is_none_or(|task| task.value.state.is_terminal());
        let ended = match identity.status {
            IdentityStatus::Active => false,
            IdentityStatus::Terminated | IdentityStatus::Crashed => identity.last_seen < before,
        };
        if ended && task_ended && folder.is_dir() && !client::alive(&folder)? {
            let why = format!("ended {} ago", age(now, identity.last_seen));
            items.push(remove("session", &folder, why, dry_run)?);
        }
    }
    Ok(items)
}

fn builds(
    project: &Project,
    store: &dyn Store,
    now: Millis,
    before: Millis,
    dry_run: bool,
) -> Result<Vec<GcItem>, CliError> {
    let mut items = Vec::new();
    for entry in std::fs::read_dir(project.layout.builds()).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        // One that the database does not know is somebody's who knows why.
        let Some(build) = store.build(&BuildId::stored(&name))? else { continue };
        let over = matches!(build.status, BuildStatus::Ended { .. });
        let Some(at) = build.ended_at.filter(|at| over && *at < before) else { continue };
        if !client::alive(&entry.path())? {
            items.push(remove("build", &entry.path(), format!("ended {} ago", age(now, at)), dry_run)?);
        }
    }
    Ok(items)
}

/// Work that was saved when its task was abandoned, once the task is long over.
fn rescued(
    project: &Project,
    store: &dyn Store,
    now: Millis,
    before: Millis,
    dry_run: bool,
) -> Result<Vec<GcItem>, CliError> {
    let repo = BareRepo::open(&Git::new(project.search_path()), &project.layout.repository())?;
    let mut items = Vec::new();
    for (name, commit) in repo.list_refs("refs/windlass/rescue/")? {
        let task = name.rsplit('/').next().unwrap_or_default();
        let Some(task) = store.task(&TaskId::stored(task))? else { continue };
        if !task.value.state.is_terminal() || task.value.since >= before {
            continue;
        }
        if !dry_run && let Swap::Lost { .. } = repo.delete_ref(&name, Expect::At(&commit))? {
            continue;
        }
        let why = format!("its task ended {} ago; it was {commit}", age(now, task.value.since));
        items.push(GcItem { kind: "rescue", name, bytes: None, why });
    }
    Ok(items)
}

fn remove(kind: &'static str, folder: &Path, why: String, dry_run: bool) -> Result<GcItem, CliError> {
    let bytes = Some(size(folder));
    if !dry_run {
        files::remove_tree(folder)?;
    }
    let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    Ok(GcItem { kind, name, bytes, why })
}

/// Of all files below; what cannot be read counts nothing.
fn size(folder: &Path) -> u64 {
    let mut bytes = 0;
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.metadata() {
                Ok(found) if found.is_dir() => folders.push(entry.path()),
                Ok(found) => bytes += found.len(),
                Err(_) => {}
            }
        }
    }
    bytes
}

fn words(view: &Gc) -> String {
    let row = |item: &GcItem| {
        let bytes = item.bytes.map_or_else(|| "-".into(), |bytes| format!("{} kB", bytes / 1_000));
        vec![item.kind.to_owned(), item.name.clone(), bytes, item.why.clone()]
    };
    let done = if view.dry_run { "would be removed" } else { "removed" };
    let mut out = table("", &view.items.iter().map(row).collect::<Vec<_>>());
    out.push_str(&format!("{} {done}, {} kB\n", view.items.len(), view.bytes / 1_000));
    out
}

fn span(text: &str) -> Result<Span, String> {
    Span::parse(text).map_err(|error| error.to_string())
}
