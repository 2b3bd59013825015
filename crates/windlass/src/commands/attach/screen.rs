//! The terminal of an agent, shown to a person by tmux itself.

use std::process::Child;
use std::time::Duration;

use windlass_adapters::agent::bridge::terminal::{Keyboard, TerminalError, Tmux};
use windlass_adapters::process::{self, ProcessId};
use windlass_core::command::{Command, Typist};
use windlass_core::id::IssueNumber;

use crate::commands::ask;
use crate::error::CliError;
use crate::exit::Exit;
use crate::interrupt::Interrupt;
use crate::project::Project;

const PAUSE: Duration = Duration::from_millis(200);

/// Shows it until the person lets go, or their time is over.
pub fn show(tmux: &Tmux, interrupt: &Interrupt) -> Result<Exit, CliError> {
    let child = tmux.attach(Keyboard::Off).spawn().map_err(not_started)?;
    hold(child, tmux, Keyboard::Off, interrupt)?;
    Ok(interrupt.came().unwrap_or(Exit::Ok))
}

/// Gives the keyboard to this person until they let go, or have typed nothing for long.
pub fn take_over(
    project: &Project,
    issue: IssueNumber,
    tmux: &Tmux,
    interrupt: &Interrupt,
) -> Result<Exit, CliError> {
    // A terminal that is closed takes the person away; that they are gone has still to be written down.
    interrupt.listen_to_hangup()?;
    let typist = ourselves()?;
    ask::leave(project, &Command::TakeKeyboard { issue, typist: typist.clone() }, ask::PATIENCE)?;
    let mut client = tmux.attach(Keyboard::On);
    // Whoever kills us has taken the keyboard away, too.
    process::hang_up_with_parent(&mut client);
    let child = client.spawn().map_err(not_started);
    let held = child.and_then(|child| hold(child, tmux, Keyboard::On, interrupt));
    // However it went, the keyboard is free again.
    let returned = ask::leave(project, &Command::ReturnKeyboard { issue, typist }, ask::PATIENCE);
    held?;
    returned.map(|_| interrupt.came().unwrap_or(Exit::Ok))
}

/// By this the factory knows when we are gone and could not say so.
fn ourselves() -> Result<Typist, CliError> {
    let failed = |source| CliError::new("process", Exit::Failed, "cannot tell who we are").because(source);
    let boot = process::boot_id().map_err(failed)?;
    let own = ProcessId::of(std::process::id().cast_signed());
    let own = own.ok_or_else(|| failed(std::io::ErrorKind::NotFound.into()))?;
    Ok(Typist { pid: own.pid, start_time: own.start_time, boot })
}

/// Waits for the end of the person's client, and brings it about when it is time.
fn hold(mut child: Child, tmux: &Tmux, keyboard: Keyboard, interrupt: &Interrupt) -> Result<(), CliError> {
    let failed = |source| CliError::new("tmux", Exit::Failed, "cannot wait for tmux").because(source);
    while child.try_wait().map_err(failed)?.is_none() {
        let over = interrupt.came().is_some();
        // Each look is a process; who has no keyboard cannot have left it.
        if over || keyboard == Keyboard::On {
            // A server that is gone takes its clients along.
            let viewers = tmux.viewers().unwrap_or_default();
            let own = viewers.iter().filter(|viewer| viewer.pid == child.id());
            for viewer in own.filter(|viewer| over || viewer.is_away(windlass_engine::now())) {
                tmux.detach(viewer).map_err(not_detached)?;
            }
        }
        std::thread::sleep(PAUSE);
    }
    Ok(())
}

fn not_started(source: std::io::Error) -> CliError {
    CliError::new("tmux", Exit::Failed, "cannot start tmux").because(source).next("windlass doctor")
}

fn not_detached(source: TerminalError) -> CliError {
    CliError::new("tmux", Exit::Failed, "cannot let go of the terminal").because(source)
}
