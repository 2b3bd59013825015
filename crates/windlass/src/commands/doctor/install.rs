//! Installs Claude Code where the configuration asks for it and the machine has none.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use windlass_adapters::agent::ClaudeOptions;
use windlass_adapters::files;
use windlass_adapters::process::{Full, Limits, capture};
use windlass_core::text::one_line;

use super::Repair;
use crate::config::{Agent, Kind};
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::program;
use crate::project::Project;
use crate::tools::{self, CLAUDE_IN_FOLDER, CLAUDE_VERSION};
use crate::view::Check;

const PACKAGE: &str = "@anthropic-ai/claude-code";
const SIZE: &str = "350 MB";
/// A slow line needs a while for that much.
const INSTALLS: Limits = Limits { time: Duration::from_secs(1800), stdout: 1 << 16, when_full: Full::Cut };
const ANSWERS: Limits = Limits { time: Duration::from_secs(60), stdout: 1 << 12, when_full: Full::Cut };

/// The way to a Claude Code that is not there.
pub fn remedy() -> String {
    format!("windlass doctor --fix    installs it with npm ({SIZE}), or put your own on the PATH")
}

/// What was done about a missing Claude Code; nothing where none is missing, or nobody asked.
pub fn claude(context: &Context, project: &Project, repair: Repair) -> Option<Check> {
    let agents = &project.config.agent;
    let wanted = [&agents.dev, &agents.critic].into_iter().flatten().any(by_usual_name);
    let found = tools::claude(project.search_path(), project.tools()).is_some();
    if !wanted || found || repair == Repair::No {
        return None;
    }
    let says = "there was no Claude Code on the PATH";
    let folder = match project.tools() {
        Some(tools) => tools::claude_folder(tools),
        None => return Some(Check::fail("tool", says, "set HOME, so that it has a place to go to")),
    };
    let Some(npm) = program::find(project.search_path(), "npm") else {
        let remedy = "install Node.js 22 or newer with npm (https://nodejs.org), then: windlass doctor --fix";
        return Some(Check::fail("tool", format!("{says}, and no npm to install it with"), remedy));
    };
    let shown = folder.display();
    context.out.talk(&format!("installing Claude Code {CLAUDE_VERSION} into `{shown}` with npm ({SIZE}) …"));
    Some(match install(&npm, &folder, project.search_path()) {
        Ok(()) => {
            let fixed = format!("Claude Code {CLAUDE_VERSION} is installed in `{shown}`");
            Check::fail("tool", says, remedy()).put_in_order(fixed)
        }
        Err(error) => {
            let remedy = format!("npm install -g {PACKAGE}@{CLAUDE_VERSION}    by hand");
            Check::fail("tool", error.sentence(), remedy)
        }
    })
}

/// A program that was named otherwise is not ours to install.
fn by_usual_name(agent: &Agent) -> bool {
    let usual = ClaudeOptions::default().binary;
    agent.kind == Kind::ClaudeCode && agent.binary.as_ref().is_none_or(|binary| *binary == usual)
}

/// Under another name until it answers: what is found in its place is whole, whenever we are killed.
fn install(npm: &Path, folder: &Path, search_path: &str) -> Result<(), CliError> {
    if let Some(tools) = folder.parent() {
        files::private_dir(tools)?;
        files::remove_abandoned(tools)?;
    }
    let fresh = files::beside(folder, "new");
    files::private_dir(&fresh)?;
    let installed = fill(npm, &fresh, search_path).and_then(|()| {
        // A folder without its program may be in the way.
        files::remove_tree(folder)?;
        std::fs::rename(&fresh, folder).map_err(|source| CliError::io("make", folder, source))
    });
    if installed.is_err() {
        files::remove_tree(&fresh)?;
    }
    installed
}

fn fill(npm: &Path, folder: &Path, search_path: &str) -> Result<(), CliError> {
    let mut command = Command::new(npm);
    command.args(["install", "--prefix"]).arg(folder).args(["--no-save", "--no-audit", "--no-fund"]);
    command.args(["--loglevel", "error"]).arg(format!("{PACKAGE}@{CLAUDE_VERSION}"));
    // Not in the checkout, whose `.npmrc` could send us to another registry.
    run("npm", command.current_dir(folder), &INSTALLS)?;
    let mut asked = Command::new(folder.join(CLAUDE_IN_FOLDER));
    asked.arg("--version").env_clear().env("PATH", search_path);
    run("the installed program", &mut asked, &ANSWERS)
}

fn run(name: &str, command: &mut Command, limits: &Limits) -> Result<(), CliError> {
    let title = "cannot install Claude Code";
    let done = capture(command, None, limits)
        .map_err(|error| CliError::new("install", Exit::Failed, title).why(name.to_owned()).because(error))?;
    if done.code() == 0 {
        return Ok(());
    }
    let said = one_line(&String::from_utf8_lossy(&done.stderr), 300);
    let why = format!("{name} ends with {}: {said}", done.code());
    Err(CliError::new("install", Exit::Failed, title).why(why))
}
