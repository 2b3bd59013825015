//! Clones that nobody works in any more: those of abandoned tasks, and spares.

use std::path::{Path, PathBuf};

use windlass_adapters::Remedy;
use windlass_adapters::files;
use windlass_adapters::git::{BareRepo, FetchError, Hold, RESCUE, RescueError};
use windlass_adapters::shim::client;
use windlass_core::id::TaskId;
use windlass_core::task::{State, Task};
use windlass_core::text::one_line;
use windlass_core::time::Millis;

use super::{Broom, last, size};
use crate::error::CliError;
use crate::exit::Exit;
use crate::text::age;
use crate::view::GcItem;

/// What became of workspaces that are old enough to go.
#[derive(Debug, Default)]
pub(super) struct Workspaces {
    pub gone: Vec<GcItem>,
    /// Something in them cannot be saved.
    pub kept: Vec<GcItem>,
}

impl Broom<'_> {
    /// Those of tasks that were abandoned before this time. All that is in them is saved in git first.
    pub(super) fn workspaces(&self, before: Millis) -> Result<Workspaces, CliError> {
        let mut found = Workspaces::default();
        let folder = self.project.layout.workspaces();
        if self.really {
            // What one that was killed had saved and not quite removed.
            files::remove_abandoned(&folder)?;
        }
        for clone in folders(&folder) {
            if self.abandoned(&clone, before)?.is_none() {
                continue;
            }
            // A retry that comes now waits, and one that came before is seen.
            let held = self.really.then(|| self.repo.hold_workspaces(Hold::Clearing)).transpose()?;
            if let Some(task) = self.abandoned(&clone, before)? {
                self.workspace(&task, &clone, &mut found)?;
            }
            drop(held);
        }
        Ok(found)
    }

    fn abandoned(&self, clone: &Path, before: Millis) -> Result<Option<Task>, CliError> {
        let Some(task) = self.store.task(&TaskId::stored(last(clone)))? else { return Ok(None) };
        let task = task.value;
        let over = matches!(task.state, State::Abandoned { .. }) && task.since < before;
        let left = over && !client::alive(&self.project.layout.session(&task.session))?;
        Ok(left.then_some(task))
    }

    fn workspace(&self, task: &Task, clone: &Path, found: &mut Workspaces) -> Result<(), CliError> {
        let bytes = Some(size(clone));
        let item = |why: &str| {
            let why = format!("abandoned {} ago; {why}", age(self.now, task.since));
            GcItem { kind: "workspace", name: task.id.to_string(), bytes, why }
        };
        let into = format!("{RESCUE}{}", task.id);
        let cleared = if self.really {
            clear(self.repo, clone, &task.branch, &into, self.now)?
        } else {
            judge(self.repo, clone, &task.branch)?
        };
        if let Cleared::Kept { why } = cleared {
            found.kept.push(item(&why));
            return Ok(());
        }
        found.gone.push(item(&format!("what main does not have is {into}")));
        Ok(())
    }

    /// Those that cannot be used, and more than agents can begin at once.
    pub(super) fn spares(&self) -> Result<Vec<GcItem>, CliError> {
        let mut wanted = self.project.config.dispatch.parallel;
        let mut items = Vec::new();
        for spare in self.repo.spares() {
            if spare.usable && wanted > 0 {
                wanted -= 1;
                continue;
            }
            let why =
                if spare.usable { "more than agents can begin at once" } else { "cannot be used again" };
            let bytes = Some(size(&spare.path));
            if !self.really || self.repo.remove_spare(&spare)? {
                items.push(GcItem { kind: "spare", name: spare.name(), bytes, why: why.into() });
            }
        }
        Ok(items)
    }
}

/// What became of a clone that nobody works in, or would.
#[derive(Debug, PartialEq, Eq)]
pub enum Cleared {
    Gone,
    /// Not all that is in it can be saved; a person has to look.
    Kept {
        why: String,
    },
}

/// Saves what a clone holds below this name and removes it, unless git cannot save all of it.
/// Nobody may work in it, and whoever calls holds the workspaces.
pub fn clear(
    repo: &BareRepo,
    clone: &Path,
    branch: &str,
    into: &str,
    now: Millis,
) -> Result<Cleared, CliError> {
    if let Cleared::Kept { why } = judge(repo, clone, branch)? {
        return Ok(Cleared::Kept { why });
    }
    // Removing makes do with what was fetched before when the clone cannot be read; here it must be readable.
    match repo.fetch_work(clone, branch) {
        Ok(_) | Err(FetchError::Gone | FetchError::NoBranch { .. }) => {}
        Err(error @ FetchError::Broken { .. }) => return Ok(Cleared::Kept { why: error.to_string() }),
        Err(FetchError::Git(error)) => return Err(error.into()),
    }
    match repo.remove_workspace(clone, branch, into, now) {
        Ok(_) => Ok(Cleared::Gone),
        Err(RescueError::Save { source, .. }) if source.remedy() == Remedy::AskHuman => {
            Ok(Cleared::Kept { why: source.to_string() })
        }
        Err(error) => {
            let title = format!("cannot clear `{}` away", clone.display());
            Err(CliError::new("rescue", Exit::Failed, title).because(error))
        }
    }
}

fn judge(repo: &BareRepo, clone: &Path, branch: &str) -> Result<Cleared, CliError> {
    let why = match repo.unsavable(clone, branch) {
        Ok(unsavable) if unsavable.is_empty() => return Ok(Cleared::Gone),
        Ok(unsavable) => format!("git cannot save {}", one_line(&unsavable.join(", "), 200)),
        // Also one that was tampered with may hold work.
        Err(error @ (FetchError::Gone | FetchError::NoBranch { .. } | FetchError::Broken { .. })) => {
            error.to_string()
        }
        Err(FetchError::Git(error)) => return Err(error.into()),
    };
    Ok(Cleared::Kept { why })
}

/// By name; hidden ones are on their way in or out.
fn folders(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> =
        entries.map(|entry| entry.path()).filter(|path| !last(path).starts_with('.')).collect();
    found.sort();
    found
}
