//! One file for each command; here is only which is which.

pub mod abandon;
pub mod agents;
mod ask;
pub mod backup;
pub mod close;
pub mod comment;
pub mod config;
pub mod demo;
pub mod demo_agent;
pub mod down;
pub mod events;
pub mod export;
pub mod init;
pub mod issues;
pub mod label;
pub mod logs;
pub mod new;
pub mod pause;
pub mod queue;
pub mod resume;
pub mod retry;
pub mod shim;
pub mod show;
pub mod status;
pub mod tell;
pub mod top;
pub mod up;
pub mod why;

use crate::cli::Command;
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;

pub fn run(context: &mut Context, command: Command) -> Result<Exit, CliError> {
    match command {
        Command::Init(args) => init::run(context, &args),
        Command::Demo(args) => demo::run(context, &args),
        Command::Up(args) => up::run(context, &args),
        Command::Down(args) => down::run(context, &args),
        Command::Status(args) => status::run(context, &args),
        Command::Agents(args) => agents::run(context, &args),
        Command::Queue(args) => queue::run(context, &args),
        Command::Issues(args) => issues::run(context, &args),
        Command::Show(args) => show::run(context, &args),
        Command::Why(args) => why::run(context, &args),
        Command::Logs(args) => logs::run(context, &args),
        Command::Top(args) => top::run(context, &args),
        Command::New(args) => new::run(context, &args),
        Command::Tell(args) => tell::run(context, &args),
        Command::Retry(args) => retry::run(context, &args),
        Command::Abandon(args) => abandon::run(context, &args),
        Command::Pause(args) => pause::run(context, &args),
        Command::Resume(args) => resume::run(context, &args),
        Command::Comment(args) => comment::run(context, &args),
        Command::Label(args) => label::run(context, &args),
        Command::Close(args) => close::run(context, &args),
        Command::Events(args) => events::run(context, &args),
        Command::Export(args) => export::run(context, &args),
        Command::Backup(args) => backup::run(context, &args),
        Command::Config(args) => config::run(context, &args),
        Command::Shim(args) => shim::run(context, &args),
        Command::DemoAgent(args) => demo_agent::run(context, &args),
    }
}
