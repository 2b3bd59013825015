//! `windlass hook`: called by an agent's program when one of its hooks fires. It never holds the agent up.

use std::io::{self, Read};
use std::path::PathBuf;

use windlass_adapters::agent;
use windlass_adapters::shim::SESSION_DIR;

use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;

/// More than any hook says; what is longer is cut and then not understood.
const MAX_BYTES: u64 = 16 << 20;

/// Note that a hook of an agent fired
#[derive(Debug, clap::Args)]
#[command(hide = true)]
pub struct Args {}

pub fn run(context: &mut Context, _args: &Args) -> Result<Exit, CliError> {
    match note() {
        Ok(Some(answer)) => context.out.line(&answer)?,
        Ok(None) => {}
        // What is not noted here is seen in the transcript; the agent must not fail for it.
        Err(error) => context.out.talk(&format!("cannot note a hook: {error}")),
    }
    Ok(Exit::Ok)
}

fn note() -> io::Result<Option<String>> {
    let folder = std::env::var_os(SESSION_DIR).map(PathBuf::from);
    let folder = folder.ok_or_else(|| io::Error::other(format!("{SESSION_DIR} is not set")))?;
    let mut input = Vec::new();
    io::stdin().lock().take(MAX_BYTES).read_to_end(&mut input)?;
    agent::fired(&folder, &input, windlass_engine::now())
}
