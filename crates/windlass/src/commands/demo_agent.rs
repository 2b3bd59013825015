//! `windlass demo-agent`: the scripted agent that a session of kind `demo` runs.

use std::path::PathBuf;
use std::time::Duration;

use crate::context::Context;
use crate::demo::agent::{self, Role, Surroundings};
use crate::error::CliError;
use crate::exit::Exit;

/// The scripted agent of the demo
#[derive(Debug, clap::Args)]
#[command(hide = true)]
pub struct Args {
    /// dev or review
    #[arg(long)]
    role: String,
}

/// Between two acts, so that a person can follow.
const PACE: Duration = Duration::from_millis(60);

pub fn run(context: &mut Context, args: &Args) -> Result<Exit, CliError> {
    let role = match args.role.as_str() {
        "dev" => Role::Dev,
        "review" => Role::Review,
        other => {
            return Err(CliError::new("usage", Exit::Usage, format!("the demo agent has no role `{other}`")));
        }
    };
    let around = Surroundings {
        workspace: context.around.cwd.clone(),
        session: wanted("WINDLASS_SESSION")?,
        session_dir: PathBuf::from(wanted("WINDLASS_SESSION_DIR")?),
        phase_file: PathBuf::from(wanted("WINDLASS_PHASE_FILE")?),
        verdict_file: given("WINDLASS_VERDICT_FILE").map(PathBuf::from),
        pace: given("WINDLASS_DEMO_PACE_MS")
            .and_then(|text| text.parse().ok())
            .map_or(PACE, Duration::from_millis),
    };
    agent::serve(role, &around).map_err(|source| {
        CliError::new("demo-agent", Exit::Failed, "the demo agent cannot go on").because(source)
    })?;
    Ok(Exit::Ok)
}

fn given(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|text| !text.is_empty())
}

fn wanted(name: &str) -> Result<String, CliError> {
    given(name).ok_or_else(|| {
        CliError::new("demo-agent", Exit::Usage, format!("`{name}` is not set"))
            .why("the demo agent is started by Windlass, not by hand")
    })
}
