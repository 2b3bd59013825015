//! `windlass backup`: copies the database while work goes on.

use std::path::PathBuf;

use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::project::Project;
use crate::view::Reply;

/// Copy the database, tasks and issues included, while work goes on
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:\n  windlass backup ~/backups/myrepo.db")]
pub struct Args {
    /// Where the copy goes; nothing is overwritten
    file: PathBuf,
}

pub fn run(context: &mut Context, args: &Args) -> Result<Exit, CliError> {
    let project = Project::find(context)?;
    let to = context.around.cwd.join(&args.file);
    let store = project.reader()?;
    if let Some(exit) = context.would(format!("copy the database to {}", to.display()), None)? {
        return Ok(exit);
    }
    store.backup(&to)?;
    let view = Reply::new(format!("copied to {}", to.display()), None);
    context.out.show(&view, |_| format!("{}\n", view.what))?;
    Ok(Exit::Ok)
}
