//! `windlass restore`: puts a copy in the place of a damaged database.

use std::path::{Path, PathBuf};

use windlass_core::journal::{Entry, Fact, FactoryFact};
use windlass_store::{Mode, Op, SqliteStore, Store, StoreError, Write};

use crate::context::Context;
use crate::daemon::Holder;
use crate::error::{CliError, DAMAGED};
use crate::exit::Exit;
use crate::house;
use crate::project::{Project, Tolerance};
use crate::view::{Reply, Stamp};

/// Put a copy of the database in its place; what was there is moved aside and kept
#[derive(Debug, clap::Args)]
#[command(
    after_long_help = "What happened after the copy was made is not in it; git and the agents' workspaces are as they are.
`windlass up` does this by itself when it finds the database damaged and there is a copy.

Examples:
  windlass restore                      the newest copy that is whole
  windlass restore ~/backups/myrepo.db"
)]
pub struct Args {
    /// What `windlass backup` wrote; without it, the newest of the copies made by the clock
    file: Option<PathBuf>,
}

pub fn run(context: &mut Context, args: &Args) -> Result<Exit, CliError> {
    let project = Project::find_with(context, Tolerance::Any)?;
    let copies = match &args.file {
        Some(file) => vec![context.around.cwd.join(file)],
        None => house::copies(&project)?,
    };
    let Some(newest) = copies.first() else { return Err(no_copy(&project)) };
    if let Some(exit) = context.would(format!("put {} in the database's place", newest.display()), None)? {
        return Ok(exit);
    }
    let view = Reply::new(first_whole(&project, &copies)?, None);
    context.out.show(&view, |_| format!("{}\n", view.what))?;
    Ok(Exit::Ok)
}

/// Does it; should the database be found damaged, the newest whole copy is put in its place first.
pub fn mending<T>(
    context: &Context,
    project: &Project,
    does: impl Fn() -> Result<T, CliError>,
) -> Result<T, CliError> {
    does().or_else(|error| mend(context, project, error).and_then(|()| does()))
}

/// Any other error stays what it is.
fn mend(context: &Context, project: &Project, error: CliError) -> Result<(), CliError> {
    if error.code != DAMAGED {
        return Err(error);
    }
    let copies = house::copies(project)?;
    if copies.is_empty() {
        return Err(error);
    }
    let said = first_whole(project, &copies)?;
    context.out.talk(&format!("{}: {said}", error.title));
    Ok(())
}

/// The newest comes first; one that is not whole either is passed by.
fn first_whole(project: &Project, copies: &[PathBuf]) -> Result<String, CliError> {
    let state = project.layout.state();
    let now = windlass_engine::now();
    let aside = state.join(format!("damaged-{}", Stamp(now).to_string().replace(':', "")));
    let mut last = no_copy(project);
    for copy in copies {
        match SqliteStore::restore(state, copy, &aside) {
            Ok(()) => {
                write_down(state, copy, &aside)?;
                return Ok(format!(
                    "{} is in place; what was there lies in {}, and what came after the copy is only there",
                    copy.display(),
                    aside.display()
                ));
            }
            Err(error @ StoreError::Corrupt { .. }) => last = error.into(),
            Err(error) => return Err(error.into()),
        }
    }
    Err(last)
}

fn write_down(state: &Path, copy: &Path, aside: &Path) -> Result<(), CliError> {
    let now = windlass_engine::now();
    let store = SqliteStore::open(state, Mode::Daemon { holder: Holder::Restore.to_string(), now })?;
    let fact = FactoryFact::DatabaseRestored {
        copy: copy.display().to_string(),
        aside: aside.display().to_string(),
    };
    let entry = Entry { at: now, task: None, issue: None, fact: Fact::Factory(fact) };
    store.commit(Write::from(vec![Op::Log(entry)]))?;
    Ok(())
}

fn no_copy(project: &Project) -> CliError {
    let folder = project.layout.backups();
    CliError::new("no-copy", Exit::NotFound, "there is no copy of the database")
        .why(format!("`{}` has none", folder.display()))
        .next("windlass restore FILE    with a file that `windlass backup` wrote")
}
