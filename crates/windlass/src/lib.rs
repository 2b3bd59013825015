//! The face: command line, configuration, errors, and the start of the daemon.
//!
//! `cli` names the commands, `commands` has one file for each, `view` what they print for programs, `project` finds
//! the checkout and its state folder, `config` reads `windlass.toml`, `backlog` what would be taken
//! `needs` what waits for a person and `train` the merge queue. Results go to stdout, talk and errors to stderr.

mod around;
mod backlog;
mod checkout;
mod cli;
mod commands;
mod config;
mod context;
#[cfg(feature = "crash-points")]
mod crash;
mod daemon;
mod demo;
mod error;
mod exit;
mod house;
mod intake;
mod interrupt;
mod jq;
mod leftovers;
mod needs;
mod opening;
mod out;
mod program;
mod project;
mod redact;
mod text;
mod tools;
mod train;
mod view;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

pub use exit::Exit;
pub use view::schemas;

use context::Context;
use error::Report;

/// Whether a text is a configuration; else what is wrong with it.
pub fn check_config(text: &str) -> Result<(), String> {
    config::Config::check(text)
}

/// Runs the program with the arguments and the environment of this process.
pub fn main() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().collect();
    // Before anything else: one shim runs for each agent and each build, and has no use for the rest.
    if let [_, first, folder] = args.as_slice()
        && first == "shim"
    {
        return windlass_adapters::shim::run(Path::new(folder));
    }
    let cli = match cli::parse(&args) {
        Ok(cli) => cli,
        Err(shown) => return shown,
    };
    let report = Report { json: cli.globals.for_programs() };
    let done = Context::new(cli.globals).and_then(|mut context| commands::run(&mut context, cli.command));
    match done {
        Ok(exit) => exit.into(),
        Err(error) => report.show(&error),
    }
}
