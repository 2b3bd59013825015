//! The command line: every command, every global flag, and the help.

#[cfg(test)]
mod docs;
mod help;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Args, FromArgMatches, Parser, Subcommand, ValueEnum};
use windlass_core::time::Span;

use crate::commands::{
    abandon, agents, attach, backup, bridge, close, comment, completions, config, cost, demo, demo_agent,
    doctor, down, events, export, gc, hook, import, inbox, init, issues, label, logs, man, new, pause, plan,
    queue, report, restore, resume, retry, run, schedule, service, shim, show, status, tell, tick, top, up,
    why,
};
use crate::error::{CliError, Report};
use crate::exit::Exit;

pub use help::command;

#[derive(Debug, Parser)]
#[command(name = "windlass", version, about = "A code factory that never loses ground")]
#[command(disable_help_subcommand = false, subcommand_required = true, arg_required_else_help = true)]
pub struct Cli {
    #[command(flatten)]
    pub globals: Globals,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Global options")]
pub struct Globals {
    /// Print results and errors as JSON
    #[arg(long, global = true)]
    pub json: bool,
    /// Print what this jq program makes of the JSON; texts without quotes
    #[arg(long, global = true, value_name = "PROGRAM")]
    pub jq: Option<String>,
    /// No colours; one record a line, its columns apart by tabs
    #[arg(long, global = true, conflicts_with_all = ["json", "jq"])]
    pub plain: bool,
    /// Change nothing, only say what would be done
    #[arg(short = 'n', long, global = true)]
    pub dry_run: bool,
    /// Wait no longer than this, such as 30m; then the exit code is 8
    #[arg(long, global = true, value_name = "TIME", value_parser = Span::parse)]
    pub timeout: Option<Span>,
    /// Run as if started in DIR
    #[arg(short = 'C', long, global = true, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// Keep state in DIR (also WINDLASS_STATE_DIR)
    #[arg(long, global = true, value_name = "DIR", hide = true)]
    pub state: Option<PathBuf>,
    /// Set a key of the configuration for this run, such as dispatch.parallel=2
    #[arg(long, global = true, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Say nothing but results and errors
    #[arg(short, long, global = true)]
    pub quiet: bool,
    /// Say more in the daemon's log; twice for even more (also WINDLASS_LOG)
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,
    /// When to use colours; NO_COLOR, CLICOLOR_FORCE and TERM=dumb are heard
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value_t = Color::Auto)]
    pub color: Color,
    /// Never ask anything
    #[arg(long, global = true)]
    pub no_input: bool,
}

impl Globals {
    /// Whether a program reads what we print.
    pub fn for_programs(&self) -> bool {
        self.json || self.jq.is_some()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Color {
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    Init(init::Args),
    Demo(demo::Args),
    Plan(plan::Args),
    Doctor(doctor::Args),
    Up(up::Args),
    Down(down::Args),
    Service(service::Args),
    Status(status::Args),
    Agents(agents::Args),
    Queue(queue::Args),
    Issues(issues::Args),
    Show(show::Args),
    Why(why::Args),
    Logs(logs::Args),
    Attach(attach::Args),
    Cost(cost::Args),
    Top(top::Args),
    New(new::Args),
    Run(run::Args),
    Tell(tell::Args),
    Retry(retry::Args),
    Abandon(abandon::Args),
    Pause(pause::Args),
    Resume(resume::Args),
    Inbox(inbox::Args),
    Comment(comment::Args),
    Label(label::Args),
    Close(close::Args),
    Events(events::Args),
    Export(export::Args),
    Import(import::Args),
    Backup(backup::Args),
    Restore(restore::Args),
    Gc(gc::Args),
    Report(report::Args),
    Config(config::Args),
    Completions(completions::Args),
    Man(man::Args),
    Tick(tick::Args),
    Schedule(schedule::Args),
    Shim(shim::Args),
    Hook(hook::Args),
    Bridge(bridge::Args),
    DemoAgent(demo_agent::Args),
}

/// The parsed command line, or the exit code after help, version or an error was shown.
pub fn parse(args: &[OsString]) -> Result<Cli, ExitCode> {
    let parsed =
        help::command().try_get_matches_from(args).and_then(|matches| Cli::from_arg_matches(&matches));
    parsed.map_err(|error| {
        let json = args.iter().take_while(|arg| *arg != "--").any(is_for_programs);
        match error.kind() {
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
                // Nobody reads the help: then there is nothing left to do.
                drop(error.print());
                Exit::Ok.into()
            }
            _ if json => Report { json }.show(&usage(&error)),
            _ => {
                // As above.
                drop(error.print());
                Exit::Usage.into()
            }
        }
    })
}

fn is_for_programs(arg: &OsString) -> bool {
    arg == "--json" || arg.to_string_lossy().split('=').next() == Some("--jq")
}

fn usage(error: &clap::Error) -> CliError {
    let said = error.render().to_string();
    let title = said.lines().next().unwrap_or_default();
    let title = title.strip_prefix("error: ").unwrap_or(title);
    CliError::new("usage", Exit::Usage, title).next("windlass --help")
}
