//! `windlass man`: the manual, a page for each command.

use std::path::{Path, PathBuf};

use clap_mangen::Man;

use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::view::Reply;

/// Print a page of the manual, or write all of them
#[derive(Debug, clap::Args)]
#[command(hide = true)]
#[command(after_long_help = "Examples:
  windlass man | man -l -
  windlass man status | man -l -
  windlass man --dir ~/.local/share/man/man1")]
pub struct Args {
    /// The command; without it the program itself
    name: Option<String>,
    /// Write every page into this folder
    #[arg(long, value_name = "DIR", conflicts_with = "name")]
    dir: Option<PathBuf>,
}

pub fn run(context: &mut Context, args: &Args) -> Result<Exit, CliError> {
    let mut program = crate::cli::command();
    program.build();
    if let Some(dir) = &args.dir {
        return write_all(context, &program, &context.around.cwd.join(dir));
    }
    let command = match &args.name {
        None => program,
        Some(name) => program.find_subcommand(name).cloned().ok_or_else(|| {
            CliError::new("not-found", Exit::NotFound, format!("there is no command `{name}`"))
                .next("windlass --help")
        })?,
    };
    let page = page(&command)?;
    context.out.text(&page)?;
    context.out.flush()?;
    Ok(Exit::Ok)
}

fn write_all(context: &mut Context, program: &clap::Command, dir: &Path) -> Result<Exit, CliError> {
    if let Some(exit) = context.would(format!("write pages into {}", dir.display()), None)? {
        return Ok(exit);
    }
    std::fs::create_dir_all(dir).map_err(|source| CliError::io("make", dir, source))?;
    let shown = |command: &&clap::Command| !command.is_hide_set() && command.get_name() != "help";
    let mut written = 0;
    for command in std::iter::once(program).chain(program.get_subcommands().filter(shown)) {
        let name = command.get_display_name().unwrap_or(command.get_name()).to_owned();
        let path = dir.join(format!("{name}.1"));
        std::fs::write(&path, page(command)?).map_err(|source| CliError::io("write", &path, source))?;
        written += 1;
    }
    let view = Reply::new(format!("{written} pages in {}", dir.display()), None);
    context.out.show(&view, |_| format!("{}\n", view.what))?;
    Ok(Exit::Ok)
}

fn page(command: &clap::Command) -> Result<String, CliError> {
    let mut page = Vec::new();
    Man::new(command.clone())
        .render(&mut page)
        .map_err(|source| CliError::new("output", Exit::Failed, "cannot write the page").because(source))?;
    Ok(String::from_utf8_lossy(&page).into_owned())
}
