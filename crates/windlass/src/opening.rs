//! Opens the factory in this process, as everybody does who works on a project.

use windlass_engine::{Factory, Settings};

use crate::commands::restore;
use crate::context::Context;
use crate::daemon::Holder;
use crate::error::CliError;
use crate::intake::Mains;
use crate::project::Project;

/// On a whole database, and with what a person has committed on main meanwhile.
pub fn open(
    context: &Context,
    project: &Project,
    settings: &Settings,
    holder: Holder,
) -> Result<Factory, CliError> {
    let open = || Ok(Factory::open(settings.clone(), project.layout.clone(), holder.to_string())?);
    let factory = restore::mending(context, project, open)?;
    // One that cannot be read now is looked at again while the factory runs.
    if let Some(note) = Mains::of(project).take().unwrap_or_else(Some) {
        context.out.talk(&note);
    }
    Ok(factory)
}
