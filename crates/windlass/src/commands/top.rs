//! `windlass top`: the factory on one screen, with keys.

mod app;
mod board;
mod draw;

use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use ratatui::DefaultTerminal;
use ratatui::crossterm::event;
use signal_hook::consts::{SIGHUP, SIGTERM};
use signal_hook::iterator::Signals;
use windlass_core::command::Command;
use windlass_core::id::IssueNumber;
use windlass_store::{SqliteStore, Store};

use super::why;
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::out::Style;
use crate::project::Project;
use app::{App, Wish};
use board::Board;

/// How often the screen is read anew while no key is pressed.
const REFRESH: Duration = Duration::from_millis(500);

/// Watch the factory on one screen: work, agents, queue, issues, events and logs
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  windlass top

Keys: 1-6 panes · j/k rows · / filter · enter or w why · l log · p pause or resume · ? help · q quit
Leaving it ends nothing: the factory works on.")]
pub struct Args {}

pub fn run(context: &mut Context, _args: &Args) -> Result<Exit, CliError> {
    if context.out.is_json() || !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        let error = CliError::new("no-terminal", Exit::Usage, "`top` needs a terminal to draw on");
        return Err(error.next("windlass status").next("windlass events --follow --json    for programs"));
    }
    let project = Project::find(context)?;
    let mut viewer = Viewer { store: project.reader()?, project, app: App::default() };
    let board = Board::read(&viewer.project, &viewer.store, &viewer.app)?;
    end_on_signals()?;
    let mut terminal = ratatui::try_init().map_err(no_screen)?;
    let ended = viewer.watch(&mut terminal, board, context.out.style);
    let restored = ratatui::try_restore().map_err(no_screen);
    let exit = ended?;
    restored?;
    Ok(exit)
}

struct Viewer {
    project: Project,
    store: SqliteStore,
    app: App,
}

impl Viewer {
    fn watch(
        &mut self,
        terminal: &mut DefaultTerminal,
        mut board: Board,
        style: Style,
    ) -> Result<Exit, CliError> {
        let mut read = Instant::now();
        loop {
            terminal.draw(|frame| draw::draw(frame, &self.app, &board, style)).map_err(no_screen)?;
            if event::poll(REFRESH.saturating_sub(read.elapsed())).map_err(no_screen)? {
                match self.app.hear(&event::read().map_err(no_screen)?, &board) {
                    Wish::Nothing => {}
                    Wish::Quit => return Ok(Exit::Ok),
                    Wish::Interrupt => return Ok(Exit::Interrupted),
                    Wish::Reread => read = Instant::now() - REFRESH,
                    Wish::Why(issue) => self.explain(issue),
                    Wish::TogglePause => self.toggle_pause(&board),
                }
            }
            if read.elapsed() >= REFRESH {
                match Board::read(&self.project, &self.store, &self.app) {
                    Ok(fresh) => board = fresh,
                    // What was read before stays, with its age in the heading.
                    Err(error) => self.app.said = Some(error.title),
                }
                read = Instant::now();
            }
        }
    }

    fn explain(&mut self, issue: u64) {
        match why::look(&self.project, IssueNumber(issue)) {
            Ok(view) => {
                let words = why::words(Style::new(false), windlass_engine::now(), &view);
                self.app.open(words.lines().map(str::to_owned).collect());
            }
            Err(error) => self.app.said = Some(error.title),
        }
    }

    fn toggle_pause(&mut self, board: &Board) {
        let (command, word) = if board.status.paused {
            (Command::Resume, "asked the factory to go on")
        } else {
            (Command::Pause { reason: None }, "asked the factory to start nothing new")
        };
        let posted = self.project.client().and_then(|store| {
            store.post_command(&command, self.project.user(), windlass_engine::now())?;
            self.project.knock()
        });
        self.app.said = Some(match posted {
            Ok(()) if board.status.daemon.state == "up" => word.to_owned(),
            Ok(()) => format!("{word}; it is {} now and will hear of it", board.status.daemon.state),
            Err(error) => error.title,
        });
    }
}

/// Ends us from a thread of its own: once the terminal is gone, the wait for a key never comes back.
fn end_on_signals() -> Result<(), CliError> {
    let mut signals = Signals::new([SIGHUP, SIGTERM]).map_err(no_screen)?;
    std::thread::spawn(move || {
        if signals.forever().next().is_some() {
            ratatui::restore();
            std::process::exit(i32::from(Exit::Interrupted.code()));
        }
    });
    Ok(())
}

fn no_screen(source: io::Error) -> CliError {
    CliError::new("terminal", Exit::Failed, "cannot draw on this terminal")
        .because(source)
        .next("windlass status")
}
