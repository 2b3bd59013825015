//! `windlass config`: what is in force and who said so, every key with its default, and whether the files are good.

mod set;
mod show;

use crate::config::{DEFAULTS, FILE, file_schema};
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::project::{Project, Tolerance};
use crate::view::{self, Checked};

/// Show what is in force and who said so, set it for this machine, check it, or print its schema
#[derive(Debug, clap::Args)]
#[command(
    after_long_help = "Heard in this order: --set KEY=VALUE, WINDLASS__SECTION__KEY, windlass.local.toml, \
windlass.toml as it is on the main branch, ~/.config/windlass/config.toml, the built-in defaults. What the user's file \
says of [budget], [guards], parallel and slots is a limit that the project may tighten and never loosen.

Examples:
  windlass config show --origin                      every value, and who said it
  windlass config get dispatch.parallel
  windlass config set dispatch.parallel 1            for this machine alone
  windlass config check && windlass up
  windlass config schema > .windlass/windlass.schema.json
  windlass config schema --output status             what `windlass status --json` prints
  WINDLASS__DISPATCH__PARALLEL=1 windlass up"
)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Every value in force
    Show {
        /// And who said it
        #[arg(long)]
        origin: bool,
    },
    /// One value in force
    Get {
        /// With its table, such as dispatch.parallel
        key: String,
    },
    /// Set one value for this machine, in windlass.local.toml
    Set {
        /// With its table, such as dispatch.parallel
        key: String,
        /// A text as it is; a list or a table as TOML writes it
        value: String,
    },
    /// Every key with its default and what it means
    Defaults,
    /// Whether the factory could start with what is set
    Check,
    /// The JSON Schema of windlass.toml, or of what a command prints
    Schema {
        /// The output of a command: status, queue, event and so on
        #[arg(long, value_name = "NAME")]
        output: Option<String>,
    },
}

pub fn run(context: &mut Context, args: &Args) -> Result<Exit, CliError> {
    match &args.what {
        What::Show { origin } => show::all(context, *origin)?,
        What::Get { key } => show::one(context, key)?,
        What::Set { key, value } => set::run(context, key, value)?,
        What::Defaults => context.out.show(&show::defaults(), |_| DEFAULTS.to_owned())?,
        What::Check => check(context)?,
        What::Schema { output } => schema(context, output.as_deref())?,
    }
    Ok(Exit::Ok)
}

/// What is in force, and the file here if it is another one.
fn check(context: &mut Context) -> Result<(), CliError> {
    let project = Project::find_with(context, Tolerance::None)?;
    project.sources.check_here()?;
    project.settings()?;
    let file = project.root.join(FILE).display().to_string();
    let note = project.loaded.file.note();
    let view = Checked { schema: view::CONFIG_SCHEMA, file, valid: true, note };
    context.out.show(&view, |_| format!("{} is valid\n", view.file))?;
    if let Some(note) = &view.note {
        context.out.talk(note);
    }
    Ok(())
}

fn schema(context: &mut Context, output: Option<&str>) -> Result<(), CliError> {
    let schema = match output {
        None => file_schema(),
        Some(name) => of_output(name)?,
    };
    context.out.must_be_whole()?;
    let text = serde_json::to_string_pretty(&schema).expect("a schema is plain data");
    context.out.line(&text)?;
    context.out.flush()
}

/// `status`, or the whole `windlass.status/1`.
fn of_output(name: &str) -> Result<serde_json::Value, CliError> {
    let all = view::schemas();
    let found = all.iter().find(|(full, _)| **full == name || short(full) == name);
    if let Some((_, schema)) = found {
        return Ok(schema.as_value().clone());
    }
    let names: Vec<&str> = all.keys().map(|full| short(full)).collect();
    Err(CliError::new("not-found", Exit::NotFound, format!("there is no output `{name}`"))
        .why(format!("known are {}", names.join(", ")))
        .next("windlass config schema --output status"))
}

fn short(full: &str) -> &str {
    full.trim_start_matches("windlass.").split('/').next().unwrap_or(full)
}
