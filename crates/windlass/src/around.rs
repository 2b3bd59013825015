//! What surrounds the program: folders, names and terminals. Read once; everybody else is handed it.

use std::env;
use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::PathBuf;

use crate::config::{CODEX_CREDENTIALS, CREDENTIALS};
use crate::error::CliError;
use crate::exit::Exit;

#[derive(Debug, Clone)]
pub struct Around {
    pub cwd: PathBuf,
    pub home: Option<PathBuf>,
    pub state_home: Option<PathBuf>,
    pub config_home: Option<PathBuf>,
    /// `WINDLASS_STATE_DIR`.
    pub state_dir: Option<PathBuf>,
    pub search_path: String,
    /// Variables that set a key of the configuration, with their values.
    pub settings: Vec<(String, String)>,
    /// Which keys of agents the environment holds, by name.
    pub credentials: Vec<&'static str>,
    /// `WINDLASS_LOG`.
    pub log: Option<String>,
    /// Who asks, as far as the environment says.
    pub user: String,
    /// A person can be asked.
    pub asks: bool,
    pub color: ColorWish,
    /// How wide a line may be: COLUMNS, or the terminal.
    pub columns: Option<usize>,
}

/// What environment and terminal say about colours, before any flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ColorWish {
    pub refused: bool,
    pub forced: bool,
    pub terminal: bool,
}

impl Around {
    pub fn read() -> Result<Self, CliError> {
        let cwd = env::current_dir().map_err(|source| {
            CliError::new("no-folder", Exit::Failed, "cannot find the folder we are in").because(source)
        })?;
        let search_path = text("PATH").unwrap_or_default();
        Ok(Self {
            cwd,
            home: folder("HOME"),
            state_home: folder("XDG_STATE_HOME"),
            config_home: folder("XDG_CONFIG_HOME"),
            state_dir: value("WINDLASS_STATE_DIR").map(PathBuf::from),
            search_path,
            settings: settings(),
            credentials: CREDENTIALS
                .into_iter()
                .chain(CODEX_CREDENTIALS)
                .filter(|name| value(name).is_some())
                .collect(),
            log: text("WINDLASS_LOG"),
            user: text("USER").or_else(|| text("LOGNAME")).unwrap_or_else(|| "operator".into()),
            asks: std::io::stdin().is_terminal() && std::io::stderr().is_terminal(),
            color: ColorWish {
                refused: value("NO_COLOR").is_some() || text("TERM").is_some_and(|term| term == "dumb"),
                forced: text("CLICOLOR_FORCE").is_some_and(|wish| wish != "0"),
                terminal: std::io::stdout().is_terminal(),
            },
            columns: columns(),
        })
    }
}

impl ColorWish {
    /// A refusal weighs more than a wish, and both more than the terminal.
    pub fn colored(self) -> bool {
        !self.refused && (self.forced || self.terminal)
    }
}

/// Into a pipe everything goes, unless somebody says how wide it may be.
fn columns() -> Option<usize> {
    let said = text("COLUMNS").and_then(|columns| columns.trim().parse().ok());
    let drawn = || ratatui::crossterm::terminal::size().ok().map(|(columns, _)| usize::from(columns));
    said.or_else(|| std::io::stdout().is_terminal().then(drawn).flatten()).filter(|columns| *columns > 0)
}

/// By name, so that two runs say the same.
fn settings() -> Vec<(String, String)> {
    let lossy = |text: OsString| text.to_string_lossy().into_owned();
    let all = env::vars_os().map(|(name, value)| (lossy(name), lossy(value)));
    let mut found: Vec<_> = all.filter(|(name, _)| name.starts_with(crate::config::ENV_PREFIX)).collect();
    found.sort();
    found
}

/// An empty variable counts as none.
fn value(name: &str) -> Option<OsString> {
    env::var_os(name).filter(|value| !value.is_empty())
}

fn text(name: &str) -> Option<String> {
    value(name).map(|value| value.to_string_lossy().into_owned())
}

/// The XDG rules say that a relative folder is to be ignored.
fn folder(name: &str) -> Option<PathBuf> {
    value(name).map(PathBuf::from).filter(|path| path.is_absolute())
}
