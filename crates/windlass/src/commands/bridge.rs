//! `windlass bridge`: stands between the shim and an agent that does not speak stream-json.

use windlass_adapters::agent::bridge::Bridge;
use windlass_core::text::causes;

use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;

/// Speak for an agent of another kind
#[derive(Debug, clap::Args)]
#[command(hide = true)]
pub struct Args {
    /// Which bridge to be, as JSON
    told: String,
}

pub fn run(context: &mut Context, args: &Args) -> Result<Exit, CliError> {
    let bridge: Bridge = serde_json::from_str(&args.told)
        .map_err(|error| CliError::new("usage", Exit::Usage, format!("no such bridge: {error}")))?;
    match bridge.run() {
        Ok(()) => Ok(Exit::Ok),
        Err(error) => {
            context.out.talk(&format!("bridge: {}", causes(&error)));
            Ok(Exit::Failed)
        }
    }
}
