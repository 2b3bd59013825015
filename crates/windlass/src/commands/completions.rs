//! `windlass completions`: a script that completes commands and flags in a shell.

use clap_complete::Shell;

use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;

/// Print a script that completes commands in your shell
#[derive(Debug, clap::Args)]
#[command(hide = true)]
#[command(after_long_help = "Examples:
  windlass completions bash > ~/.local/share/bash-completion/completions/windlass
  windlass completions zsh > ~/.zfunc/_windlass
  windlass completions fish > ~/.config/fish/completions/windlass.fish")]
pub struct Args {
    shell: Shell,
}

pub fn run(context: &mut Context, args: &Args) -> Result<Exit, CliError> {
    // In memory first: the generator panics when nobody reads.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut crate::cli::command(), "windlass", &mut script);
    context.out.text(&String::from_utf8_lossy(&script))?;
    context.out.flush()?;
    Ok(Exit::Ok)
}
