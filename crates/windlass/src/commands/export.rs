//! `windlass export`: writes everything as lines of JSON.

use std::fs::OpenOptions;
use std::io::{BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;
use windlass_adapters::files;
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
    if to.symlink_metadata().is_ok() {
        return Err(exists(to));
    }
    let beside = files::beside(to, "part");
    let written = fill(store, &beside).and_then(|()| put(&beside, to));
    if written.is_err() {
        // What went wrong before says more than that the rest cannot be removed.
        drop(std::fs::remove_file(&beside));
    }
    written
}

fn fill(store: &SqliteStore, part: &Path) -> Result<(), CliError> {
    let cannot = |source| CliError::io("write", part, source);
    // One of the same pid was cut off.
    let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(part);
    let mut out = BufWriter::new(file.map_err(cannot)?);
    store.export(&mut out)?;
    out.flush().and_then(|()| out.get_ref().sync_all()).map_err(cannot)
}

/// In one step, and never over what somebody has written there meanwhile.
fn put(part: &Path, to: &Path) -> Result<(), CliError> {
    match renameat_with(CWD, part, CWD, to, RenameFlags::NOREPLACE) {
        Ok(()) => Ok(()),
        Err(Errno::EXIST) => Err(exists(to)),
        Err(error) => Err(CliError::io("write", to, error.into())),
    }
}

fn exists(to: &Path) -> CliError {
    CliError::new("exists", Exit::Failed, format!("`{}` is already there", to.display()))
        .next("choose another name")
}
