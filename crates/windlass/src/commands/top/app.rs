//! What a person does with the screen: which pane, which row, which keys.

use ratatui::crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::board::{Board, Row};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pane {
    Work,
    Agents,
    Queue,
    Issues,
    Events,
    Log,
}

impl Pane {
    pub const ALL: [Self; 6] = [Self::Work, Self::Agents, Self::Queue, Self::Issues, Self::Events, Self::Log];

    pub fn word(self) -> &'static str {
        match self {
            Self::Work => "work",
            Self::Agents => "agents",
            Self::Queue => "queue",
            Self::Issues => "issues",
            Self::Events => "events",
            Self::Log => "log",
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
pub enum Mode {
    Browse,
    /// Letters go into the filter.
    Filter,
    Help,
    /// A text over the pane, from this line on.
    Text {
        lines: Vec<String>,
        from: usize,
    },
}

/// What a key asks of the world.
#[derive(Debug, PartialEq, Eq)]
pub enum Wish {
    Nothing,
    Quit,
    Interrupt,
    /// The pane shows something else now.
    Reread,
    Why(u64),
    TogglePause,
}

#[derive(Debug)]
pub struct App {
    pub pane: Pane,
    pub row: usize,
    pub filter: String,
    pub mode: Mode,
    /// Whose log the log pane shows; nobody's is the daemon's.
    pub log_of: Option<u64>,
    /// The last thing that there was to say, until the next key.
    pub said: Option<String>,
}

impl Default for App {
    fn default() -> Self {
        let (filter, mode) = (String::new(), Mode::Browse);
        Self { pane: Pane::Work, row: 0, filter, mode, log_of: None, said: None }
    }
}

impl App {
    pub fn open(&mut self, lines: Vec<String>) {
        self.mode = Mode::Text { lines, from: 0 };
    }

    /// The rows that the filter leaves.
    pub fn visible<'a>(&self, board: &'a Board) -> Vec<&'a Row> {
        let wanted = self.filter.to_lowercase();
        let fits = |row: &&Row| row.cells.iter().any(|cell| cell.to_lowercase().contains(&wanted));
        board.rows.iter().filter(|row| wanted.is_empty() || fits(row)).collect()
    }

    pub fn hear(&mut self, event: &Event, board: &Board) -> Wish {
        let Event::Key(key) = event else { return Wish::Nothing };
        if key.kind == KeyEventKind::Release {
            return Wish::Nothing;
        }
        if key.modifiers.contains(KeyModifiers::CONTROL) && key.code == KeyCode::Char('c') {
            return Wish::Interrupt;
        }
        self.said = None;
        match &mut self.mode {
            Mode::Browse => self.browse(key, board),
            Mode::Filter => self.type_filter(key),
            Mode::Help => {
                self.mode = Mode::Browse;
                Wish::Nothing
            }
            Mode::Text { lines, from } => {
                let last = lines.len().saturating_sub(1);
                match key.code {
                    KeyCode::Char('j') | KeyCode::Down => *from = (*from + 1).min(last),
                    KeyCode::Char('k') | KeyCode::Up => *from = from.saturating_sub(1),
                    _ => self.mode = Mode::Browse,
                }
                Wish::Nothing
            }
        }
    }

    fn browse(&mut self, key: &KeyEvent, board: &Board) -> Wish {
        let rows = self.visible(board);
        let last = rows.len().saturating_sub(1);
        let issue = rows.get(self.row.min(last)).and_then(|row| row.issue);
        match key.code {
            KeyCode::Char('q') => return Wish::Quit,
            KeyCode::Char('j') | KeyCode::Down => self.row = (self.row + 1).min(last),
            KeyCode::Char('k') | KeyCode::Up => self.row = self.row.min(last).saturating_sub(1),
            KeyCode::Char('g') | KeyCode::Home => self.row = 0,
            KeyCode::Char('G') | KeyCode::End => self.row = last,
            KeyCode::Char('/') => self.mode = Mode::Filter,
            KeyCode::Char('?') => self.mode = Mode::Help,
            KeyCode::Char('p') => return Wish::TogglePause,
            KeyCode::Esc => self.filter.clear(),
            KeyCode::Enter | KeyCode::Char('w') => {
                return issue.map_or_else(|| self.nobody("explain"), Wish::Why);
            }
            KeyCode::Char('l') => {
                if issue.is_none() {
                    return self.nobody("show the log of");
                }
                self.log_of = issue;
                return self.turn_to(Pane::Log);
            }
            KeyCode::Char(digit @ '1'..='6') => {
                let pane = Pane::ALL[(digit as u8 - b'1') as usize];
                if pane == Pane::Log {
                    self.log_of = None;
                }
                return self.turn_to(pane);
            }
            _ => {}
        }
        Wish::Nothing
    }

    fn turn_to(&mut self, pane: Pane) -> Wish {
        self.pane = pane;
        self.row = 0;
        self.filter.clear();
        Wish::Reread
    }

    fn nobody(&mut self, what: &str) -> Wish {
        self.said = Some(format!("there is no issue in this row to {what}"));
        Wish::Nothing
    }

    fn type_filter(&mut self, key: &KeyEvent) -> Wish {
        match key.code {
            KeyCode::Enter => self.mode = Mode::Browse,
            KeyCode::Esc => {
                self.filter.clear();
                self.mode = Mode::Browse;
            }
            KeyCode::Backspace => drop(self.filter.pop()),
            KeyCode::Char(letter) => {
                self.filter.push(letter);
                self.row = 0;
            }
            _ => {}
        }
        Wish::Nothing
    }
}
