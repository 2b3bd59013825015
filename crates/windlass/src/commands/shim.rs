//! `windlass shim`: runs one program for the daemon. Found before the command line is parsed; here only for `--help`.

use std::path::PathBuf;
use std::process::ExitCode;

use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;

/// Run one program for the daemon
#[derive(Debug, clap::Args)]
#[command(hide = true)]
pub struct Args {
    folder: PathBuf,
}

pub fn run(_context: &mut Context, args: &Args) -> Result<Exit, CliError> {
    if windlass_adapters::shim::run(&args.folder) == ExitCode::SUCCESS {
        Ok(Exit::Ok)
    } else {
        Ok(Exit::Failed)
    }
}
