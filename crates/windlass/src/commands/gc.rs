//! `windlass gc`: removes what has ended long ago. What lives, and what is saved nowhere else, is never touched.

mod places;

use std::path::Path;

use windlass_adapters::files;
use windlass_adapters::git::{BareRepo, Expect, Git, RESCUE, Swap};
use windlass_adapters::shim::client;
use windlass_core::build::BuildStatus;
use windlass_core::id::{BuildId, TaskId};
use windlass_core::time::{Millis, Span};
use windlass_store::{Store, Which};

use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::out::Style;
use crate::project::Project;
use crate::text::{age, fold, table};
use crate::view::{GC_SCHEMA, Gc, GcItem};
pub use places::{Cleared, clear};

/// Remove transcripts, builds and workspaces that are older than you want to keep
#[derive(Debug, clap::Args)]
#[command(
    after_long_help = "The database keeps its record of all of them. The workspace of an abandoned task is saved in git before
it goes, and a retry gets it back; what cannot be saved stays, and is named. Spare clones that no agent can need go, too, and the packs of the
repository are joined so that git stays fast.

Examples:
  windlass gc --dry-run          what would go
  windlass gc --keep 14d
  windlass gc --rescued          also work of abandoned tasks that was saved in git"
)]
pub struct Args {
    /// How long ended things are kept; `keep.ended` and `keep.workspaces` of the configuration if not given
    #[arg(long, value_name = "TIME", value_parser = Span::parse)]
    keep: Option<Span>,
    /// Also what was saved of abandoned work below refs/windlass/rescue
    #[arg(long)]
    rescued: bool,
}

pub fn run(context: &mut Context, args: &Args) -> Result<Exit, CliError> {
    let project = Project::find(context)?;
    let keep = &project.config.keep;
    let times = Times {
        ended: args.keep.unwrap_or(keep.ended.0),
        workspaces: args.keep.unwrap_or(keep.workspaces.0),
    };
    let rescued = if args.rescued { Rescued::Removed } else { Rescued::Kept };
    let view = sweep(&project, times, rescued, !context.globals.dry_run)?;
    context.out.show(&view, |style| fold(style, &words(style, &view)))?;
    Ok(Exit::Ok)
}

/// How long what is kept.
#[derive(Debug, Clone, Copy)]
pub struct Times {
    pub ended: Span,
    pub workspaces: Span,
}

/// What becomes of work that was saved in git.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rescued {
    Kept,
    Removed,
}

/// Removes what has ended longer ago than it is kept, and joins the packs of the repository; or, if not `really`, only says
/// what would go.
pub fn sweep(project: &Project, keep: Times, rescued: Rescued, really: bool) -> Result<Gc, CliError> {
    let store = project.reader()?;
    let now = windlass_engine::now();
    let repo = BareRepo::open(&Git::new(project.search_path()), &project.layout.repository())?;
    let before = Millis(now.0.saturating_sub(keep.ended.0));
    let broom = Broom { before, now, really, project, store: &store, repo: &repo };
    let mut items = broom.sessions()?;
    items.extend(broom.builds()?);
    // Before the workspaces: what is saved of them now is not what was asked for.
    if rescued == Rescued::Removed {
        items.extend(broom.rescued()?);
    }
    let workspaces = broom.workspaces(Millis(now.0.saturating_sub(keep.workspaces.0)))?;
    items.extend(workspaces.gone);
    items.extend(broom.spares()?);
    if really {
        repo.maintain()?;
    }
    let bytes = items.iter().filter_map(|item| item.bytes).sum();
    Ok(Gc { schema: GC_SCHEMA, dry_run: !really, items, kept: workspaces.kept, bytes })
}

struct Broom<'a> {
    project: &'a Project,
    store: &'a dyn Store,
    repo: &'a BareRepo,
    now: Millis,
    /// What ended later is kept.
    before: Millis,
    /// Or only said.
    really: bool,
}

impl Broom<'_> {
    fn sessions(&self) -> Result<Vec<GcItem>, CliError> {
        let mut items = Vec::new();
        for identity in self.store.identities(Which::Ended)? {
            let task = self.store.task(&identity.task)?;
            if task.is_none_or(|task| task.value.state.is_terminal()) && identity.last_seen < self.before {
                let folder = self.project.layout.session(&identity.name);
                items.extend(self.remove("session", &folder, identity.last_seen)?);
            }
        }
        Ok(items)
    }

    fn builds(&self) -> Result<Vec<GcItem>, CliError> {
        let mut items = Vec::new();
        for entry in std::fs::read_dir(self.project.layout.builds()).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            // One that the database does not know is somebody's who knows why.
            let Some(build) = self.store.build(&BuildId::stored(&name))? else { continue };
            let over = matches!(build.status, BuildStatus::Ended { .. });
            if let Some(at) = build.ended_at.filter(|at| over && *at < self.before) {
                items.extend(self.remove("build", &entry.path(), at)?);
            }
        }
        Ok(items)
    }

    /// Work that was saved when its task was abandoned, once the task is long over.
    fn rescued(&self) -> Result<Vec<GcItem>, CliError> {
        let mut items = Vec::new();
        for (name, commit) in self.repo.list_refs(RESCUE)? {
            let task = name.rsplit('/').next().unwrap_or_default();
            let Some(task) = self.store.task(&TaskId::stored(task))? else { continue };
            if !task.value.state.is_terminal() || task.value.since >= self.before {
                continue;
            }
            if self.really
                && let Swap::Lost { .. } = self.repo.delete_ref(&name, Expect::At(&commit))?
            {
                continue;
            }
            let why = format!("its task ended {} ago; it was {commit}", age(self.now, task.value.since));
            items.push(GcItem { kind: "rescue", name, bytes: None, why });
        }
        Ok(items)
    }

    /// Nothing for a folder that is gone, or in which somebody lives after all.
    fn remove(&self, kind: &'static str, folder: &Path, ended: Millis) -> Result<Option<GcItem>, CliError> {
        if !folder.is_dir() || client::alive(folder)? {
            return Ok(None);
        }
        let bytes = Some(size(folder));
        if self.really {
            files::remove_tree(folder)?;
        }
        Ok(Some(GcItem {
            kind,
            name: last(folder),
            bytes,
            why: format!("ended {} ago", age(self.now, ended)),
        }))
    }
}

/// The last part of a path.
pub fn last(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
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

fn words(style: Style, view: &Gc) -> String {
    let row = |item: &GcItem| {
        let bytes = item.bytes.map_or_else(|| "-".into(), |bytes| format!("{} kB", bytes / 1_000));
        vec![item.kind.to_owned(), item.name.clone(), bytes, item.why.clone()]
    };
    let mut out = table(style, "", &view.items.iter().map(row).collect::<Vec<_>>());
    out.push_str(&format!("{}\n", sum(view)));
    if !view.kept.is_empty() {
        out.push_str(&table(style, "kept", &view.kept.iter().map(row).collect::<Vec<_>>()));
    }
    out
}

/// All of it in one line.
pub fn sum(view: &Gc) -> String {
    let done = if view.dry_run { "would be removed" } else { "removed" };
    format!("{} {done}, {} kB", view.items.len(), view.bytes / 1_000)
}
