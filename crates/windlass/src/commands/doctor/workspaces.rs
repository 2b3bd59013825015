//! Workspaces that belong to no task. What they hold is saved before they go; what cannot be saved stays.

use std::path::{Path, PathBuf};

use windlass_adapters::git::{BareRepo, Git, Hold, RESCUE};
use windlass_core::id::TaskId;
use windlass_core::task::branch_of;
use windlass_store::Store;

use super::Repair;
use crate::commands::gc::{self, Cleared};
use crate::error::CliError;
use crate::project::Project;
use crate::view::Check;

const NAME: &str = "workspaces";

pub fn check(project: &Project, store: &dyn Store, repair: Repair) -> Check {
    let unowned = match unowned(project, store) {
        Ok(unowned) => unowned,
        Err(error) => return Check::fail(NAME, error.sentence(), "windlass logs"),
    };
    if unowned.is_empty() {
        return Check::ok(NAME, "0 without a task");
    }
    let list: Vec<String> = unowned.iter().map(|path| format!("`{}`", path.display())).collect();
    let says = format!("{} without a task: {}", unowned.len(), list.join(", "));
    let check = Check::warn(NAME, says, "windlass doctor --fix    saves what they hold and removes them");
    match repair {
        Repair::No => check,
        Repair::Safe => match clear(project, store, &unowned) {
            Ok(kept) if kept.is_empty() => check.put_in_order(format!("saved below {RESCUE} and removed")),
            Ok(kept) => Check::warn(NAME, stay(&kept), "take out what you need, then remove them by hand"),
            Err(error) => Check::fail(NAME, error.sentence(), "nothing was lost; look into it by hand"),
        },
    }
}

fn unowned(project: &Project, store: &dyn Store) -> Result<Vec<PathBuf>, CliError> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(project.layout.workspaces()).into_iter().flatten().flatten() {
        // Hidden ones are spares, and workspaces on their way out.
        if !gc::last(&entry.path()).starts_with('.') && is_unowned(store, &entry.path())? {
            found.push(entry.path());
        }
    }
    found.sort();
    Ok(found)
}

fn is_unowned(store: &dyn Store, path: &Path) -> Result<bool, CliError> {
    Ok(store.task(&TaskId::stored(gc::last(path)))?.is_none())
}

/// Those that stay, each with the reason.
fn clear(
    project: &Project,
    store: &dyn Store,
    unowned: &[PathBuf],
) -> Result<Vec<(PathBuf, String)>, CliError> {
    let repo = BareRepo::open(&Git::new(project.search_path()), &project.layout.repository())?;
    let mut kept = Vec::new();
    for path in unowned {
        // A factory that starts now waits, and a task that it took before is seen.
        let held = repo.hold_workspaces(Hold::Clearing)?;
        if is_unowned(store, path)? {
            let name = gc::last(path);
            // No task says on which branch it worked, only its name.
            let prefix = &project.config.dispatch.branch_prefix;
            let branch = TaskId::stored(&name).parts().map(|(issue, nth)| branch_of(prefix, issue, nth));
            let branch = branch.unwrap_or_else(|| format!("{prefix}{name}"));
            let into = format!("{RESCUE}{name}");
            match gc::clear(&repo, path, &branch, &into, windlass_engine::now())? {
                Cleared::Gone => {}
                Cleared::Kept { why } => kept.push((path.clone(), why)),
            }
        }
        drop(held);
    }
    Ok(kept)
}

fn stay(kept: &[(PathBuf, String)]) -> String {
    let list: Vec<String> = kept.iter().map(|(path, why)| format!("`{}`: {why}", path.display())).collect();
    format!("{} without a task cannot be saved and stay: {}", kept.len(), list.join("; "))
}
