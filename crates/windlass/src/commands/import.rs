//! `windlass import`: reads back what `export` wrote, into a new state.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use windlass_store::SqliteStore;

use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::project::{Project, Tolerance};
use crate::view::Reply;

/// Read back what `export` wrote, into a state without records
#[derive(Debug, clap::Args)]
#[command(
    after_long_help = "Issues, tasks, events and all other records; the commits stay in git. All of it or nothing.

Examples:
  windlass export everything.jsonl
  windlass import everything.jsonl      in a checkout that was just made a project"
)]
pub struct Args {
    /// What to read; - means stdin
    file: PathBuf,
}

pub fn run(context: &mut Context, args: &Args) -> Result<Exit, CliError> {
    let project = Project::find_with(context, Tolerance::Any)?;
    // Only to say so if there is no state at all.
    drop(project.reader()?);
    let mut from: Box<dyn BufRead> = if args.file == Path::new("-") {
        Box::new(BufReader::new(std::io::stdin()))
    } else {
        let path = context.around.cwd.join(&args.file);
        Box::new(BufReader::new(File::open(&path).map_err(|source| cannot_open(&path, source))?))
    };
    if let Some(exit) = context.would(format!("read {}", args.file.display()), None)? {
        return Ok(exit);
    }
    let rows = SqliteStore::import(project.layout.state(), &mut from)?;
    project.knock()?;
    let view = Reply::new(format!("{rows} records were read"), None);
    context.out.show(&view, |_| format!("{}\n", view.what))?;
    Ok(Exit::Ok)
}

fn cannot_open(path: &Path, source: std::io::Error) -> CliError {
    let missing = source.kind() == std::io::ErrorKind::NotFound;
    let mut error = CliError::io("open", path, source);
    if missing {
        (error.code, error.exit) = ("not-found", Exit::NotFound);
    }
    error.next("windlass export FILE    in the other project writes one")
}
