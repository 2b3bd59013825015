//! `windlass config`: shows every key with its default, and checks the project's file.

use crate::config::{DEFAULTS, FILE};
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::project::Project;
use crate::view::Checked;

/// Show every key of windlass.toml, or check the file
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:\n  windlass config defaults\n  windlass config check && windlass up")]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Every key with its default and what it means
    Defaults,
    /// Whether the factory could start with the project's file
    Check,
}

pub fn run(context: &mut Context, args: &Args) -> Result<Exit, CliError> {
    match args.what {
        What::Defaults => {
            context.out.text(DEFAULTS)?;
            context.out.flush()?;
        }
        What::Check => {
            let project = Project::find(context)?;
            project.settings()?;
            let file = project.root.join(FILE).display().to_string();
            let view = Checked { schema: crate::view::CONFIG_SCHEMA, file, valid: true };
            context.out.show(&view, |_| format!("{} is valid\n", view.file))?;
        }
    }
    Ok(Exit::Ok)
}
