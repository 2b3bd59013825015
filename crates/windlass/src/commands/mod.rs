//! One file for each command; here is only which is which.

pub mod abandon;
pub mod agents;
mod ask;
pub mod attach;
pub mod backup;
pub mod bridge;
pub mod close;
pub mod comment;
pub mod completions;
pub mod config;
pub mod cost;
pub mod demo;
pub mod demo_agent;
pub mod doctor;
pub mod down;
pub mod events;
pub mod export;
pub mod gc;
pub mod hook;
pub mod import;
pub mod inbox;
pub mod init;
pub mod issues;
pub mod label;
pub mod logs;
pub mod man;
pub mod new;
pub mod pause;
pub mod plan;
pub mod queue;
pub mod report;
pub mod restore;
pub mod resume;
pub mod retry;
pub mod run;
pub mod schedule;
pub mod service;
pub mod shim;
pub mod show;
pub mod status;
pub mod tell;
pub mod tick;
pub mod top;
pub mod up;
pub mod why;

use crate::cli::Command;
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;

pub fn run(context: &mut Context, command: Command) -> Result<Exit, CliError> {
    if context.globals.dry_run && matches!(command, Command::Demo(_) | Command::Tick(_) | Command::Top(_)) {
        let error = CliError::new("usage", Exit::Usage, "nobody knows beforehand what this command will do");
        return Err(error.next("windlass plan    says which issues would be taken"));
    }
    match command {
        Command::Init(args) => init::run(context, &args),
        Command::Demo(args) => demo::run(context, &args),
        Command::Plan(args) => plan::run(context, &args),
        Command::Doctor(args) => doctor::run(context, &args),
        Command::Up(args) => up::run(context, &args),
        Command::Down(args) => down::run(context, &args),
        Command::Service(args) => service::run(context, &args),
        Command::Status(args) => status::run(context, &args),
        Command::Agents(args) => agents::run(context, &args),
        Command::Queue(args) => queue::run(context, &args),
        Command::Issues(args) => issues::run(context, &args),
        Command::Show(args) => show::run(context, &args),
        Command::Why(args) => why::run(context, &args),
        Command::Logs(args) => logs::run(context, &args),
        Command::Attach(args) => attach::run(context, &args),
        Command::Cost(args) => cost::run(context, &args),
        Command::Top(args) => top::run(context, &args),
        Command::New(args) => new::run(context, &args),
        Command::Run(args) => run::run(context, &args),
        Command::Tell(args) => tell::run(context, &args),
        Command::Retry(args) => retry::run(context, &args),
        Command::Abandon(args) => abandon::run(context, &args),
        Command::Pause(args) => pause::run(context, &args),
        Command::Resume(args) => resume::run(context, &args),
        Command::Inbox(args) => inbox::run(context, &args),
        Command::Comment(args) => comment::run(context, &args),
        Command::Label(args) => label::run(context, &args),
        Command::Close(args) => close::run(context, &args),
        Command::Events(args) => events::run(context, &args),
        Command::Export(args) => export::run(context, &args),
        Command::Import(args) => import::run(context, &args),
        Command::Backup(args) => backup::run(context, &args),
        Command::Restore(args) => restore::run(context, &args),
        Command::Gc(args) => gc::run(context, &args),
        Command::Report(args) => report::run(context, &args),
        Command::Config(args) => config::run(context, &args),
        Command::Completions(args) => completions::run(context, &args),
        Command::Man(args) => man::run(context, &args),
        Command::Tick(args) => tick::run(context, &args),
        Command::Schedule(args) => schedule::run(context, &args),
        Command::Shim(args) => shim::run(context, &args),
        Command::Hook(args) => hook::run(context, &args),
        Command::Bridge(args) => bridge::run(context, &args),
        Command::DemoAgent(args) => demo_agent::run(context, &args),
    }
}
