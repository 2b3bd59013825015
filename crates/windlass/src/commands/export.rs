//! `windlass export`: writes everything as lines of JSON.

use std::fs::OpenOptions;
use std::io::{BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use windlass_store::SqliteStore;

use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::project::Project;
use crate::view::Reply;

/// Write every record as a line of JSON
#[derive(Debug, clap::Args)]
#[command(
    after_long_help = "Examples:\n  windlass export everything.jsonl\n  windlass export - | grep '\"table\":\"event\"'"
)]
pub struct Args {
    /// Where to write; - or nothing means stdout. Nothing is overwritten
    file: Option<PathBuf>,
}

pub fn run(context: &mut Context, args: &Args) -> Result<Exit, CliError> {
    let store = Project::find(context)?.reader()?;
    match args.file.as_deref().filter(|file| *file != Path::new("-")) {
        None => {
            context.out.must_be_whole()?;
            store.export(context.out.raw())?;
            context.out.flush()?;
        }
        Some(file) => {
            let to = context.around.cwd.join(file);
            if let Some(exit) = context.would(format!("write {}", to.display()), None)? {
                return Ok(exit);
            }
            write(&store, &to)?;
            let view = Reply::new(format!("written to {}", to.display()), None);
            context.out.show(&view, |_| format!("{}\n", view.what))?;
        }
    }
    Ok(Exit::Ok)
}

fn write(store: &SqliteStore, to: &Path) -> Result<(), CliError> {
    let file = match OpenOptions::new().write(true).create_new(true).mode(0o600).open(to) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            return Err(CliError::new(
                "exists",
                Exit::Failed,
                format!("`{}` is already there", to.display()),
            )
            .next("choose another name"));
        }
        Err(source) => return Err(CliError::io("write", to, source)),
    };
    let mut out = BufWriter::new(file);
    store.export(&mut out)?;
    let synced = out.flush().and_then(|()| out.get_ref().sync_all());
    synced.map_err(|source| CliError::io("write", to, source))
}
