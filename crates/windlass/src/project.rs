//! Finds the project that a command is about, and its state folder.

use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use windlass_adapters::files;
use windlass_adapters::forge::{Durability, EmbeddedForge, Forge};
use windlass_adapters::git::{BareRepo, Git};
use windlass_core::id::IssueNumber;
use windlass_core::task::Task;
use windlass_engine::{Layout, Settings};
use windlass_store::{Mode, SqliteStore, Store, StoreError};

use crate::config::{self, Config, Layered, Loaded, Place, Sources};
use crate::context::Context;
use crate::daemon::{self, Daemon};
use crate::error::CliError;
use crate::exit::Exit;

#[derive(Debug)]
pub struct Project {
    pub root: PathBuf,
    pub config: Config,
    /// Who said what, and how the project's file stands.
    pub loaded: Loaded,
    pub sources: Sources,
    pub layout: Layout,
    user: String,
    search_path: String,
    tools: Option<PathBuf>,
}

/// What a command can do with a configuration that is not valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tolerance {
    /// Nothing: it is about the configuration, or starts something by it.
    None,
    /// A running factory goes by the last good one, and so do those who look at it.
    WhileRunning,
    /// It does not need one.
    Any,
}

/// What the daemon needs besides the configuration.
#[derive(Debug, Clone)]
pub struct Facts {
    name: String,
    root: PathBuf,
    search_path: String,
    tools: Option<PathBuf>,
}

impl Facts {
    pub fn settings(&self, layered: &Layered) -> Result<Settings, CliError> {
        let exe = own_program()?;
        let place = Place {
            project: &self.name,
            exe: &exe,
            search_path: &self.search_path,
            tools: self.tools.as_deref(),
        };
        layered.config.settings(place).map_err(|fault| {
            let said = fault.key.as_deref().and_then(|key| layered.place(key)).map(str::to_owned);
            let file = || format!("`{}`", self.root.join(config::FILE).display());
            fault.at(&said.unwrap_or_else(file))
        })
    }
}

impl Project {
    /// The nearest folder upwards with a `windlass.toml`; or a checkout that was made a project, whatever is checked out.
    pub fn find(context: &Context) -> Result<Self, CliError> {
        Self::find_with(context, Tolerance::WhileRunning)
    }

    pub fn find_with(context: &Context, tolerance: Tolerance) -> Result<Self, CliError> {
        let from = folder(context)?;
        let with_file = from.ancestors().find(|folder| folder.join(config::FILE).is_file());
        let root = match with_file {
            Some(root) => root.to_owned(),
            None => known_checkout(context, &from)?,
        };
        if !root.join(".git").exists() {
            return Err(not_git(&root));
        }
        let layout = Layout::new(state_folder(context, &root)?);
        Self::open(context, root, layout, tolerance)
    }

    pub fn open(
        context: &Context,
        root: PathBuf,
        layout: Layout,
        tolerance: Tolerance,
    ) -> Result<Self, CliError> {
        let around = &context.around;
        let branch = main_branch(&layout, &root);
        let sources = Sources { root, branch, around: around.clone(), flags: context.globals.set.clone() };
        let loaded = match sources.load() {
            Err(error) if error.exit == Exit::Config => instead(&layout, tolerance, error)?,
            loaded => loaded?,
        };
        Ok(Self {
            root: sources.root.clone(),
            config: loaded.layered.config.clone(),
            loaded,
            sources,
            layout,
            user: around.user.clone(),
            search_path: around.search_path.clone(),
            tools: tools_folder(context),
        })
    }

    pub fn name(&self) -> String {
        self.config.name.clone().unwrap_or_else(|| folder_name(&self.root))
    }

    pub fn user(&self) -> &str {
        &self.user
    }

    pub fn search_path(&self) -> &str {
        &self.search_path
    }

    /// Where programs are that we have installed; not known without a home.
    pub fn tools(&self) -> Option<&Path> {
        self.tools.as_deref()
    }

    /// What the daemon works by.
    pub fn settings(&self) -> Result<Settings, CliError> {
        self.facts().settings(&self.loaded.layered)
    }

    pub fn facts(&self) -> Facts {
        Facts {
            name: self.name(),
            root: self.root.clone(),
            search_path: self.search_path.clone(),
            tools: self.tools.clone(),
        }
    }

    /// To look only.
    pub fn reader(&self) -> Result<SqliteStore, CliError> {
        self.must_have_state()?;
        match SqliteStore::open(self.layout.state(), Mode::ReadOnly) {
            // Without a daemon, whoever comes first brings it up to date.
            Err(StoreError::Older { .. }) => Ok(SqliteStore::open(self.layout.state(), Mode::Client)?),
            opened => Ok(opened?),
        }
    }

    /// To look, and to leave commands for the daemon.
    pub fn client(&self) -> Result<SqliteStore, CliError> {
        self.must_have_state()?;
        Ok(SqliteStore::open(self.layout.state(), Mode::Client)?)
    }

    /// The forge, as the person who runs us.
    pub fn forge(&self) -> Result<EmbeddedForge, CliError> {
        self.must_have_state()?;
        let forge = EmbeddedForge::open(&self.layout.database(), Durability::Full)?;
        Ok(forge.acting_as(&self.user))
    }

    /// Tells a running daemon that there is something to see.
    pub fn knock(&self) -> Result<(), CliError> {
        knock(&self.layout)
    }

    /// State folder, database, forge and repository. What is there already is kept.
    pub fn make_state(&self) -> Result<(), CliError> {
        make_state(&self.search_path, &self.root, &self.layout, &self.config.branch)
    }

    fn must_have_state(&self) -> Result<(), CliError> {
        if self.layout.database().is_file() {
            return Ok(());
        }
        let state = self.layout.state().display();
        Err(CliError::new(
            "no-state",
            Exit::NotFound,
            format!("there is no state for `{}` yet", self.root.display()),
        )
        .why(format!("`{state}` has no database"))
        .next("windlass init"))
    }
}

/// Tells a running daemon that there is something to see.
pub fn knock(layout: &Layout) -> Result<(), CliError> {
    let path = layout.wake_file();
    if let Some(folder) = path.parent() {
        files::private_dir(folder)?;
    }
    let now = format!("{}\n", windlass_engine::now().0);
    std::fs::write(&path, now).map_err(|source| CliError::io("write", &path, source))
}

pub fn make_state(search_path: &str, root: &Path, layout: &Layout, branch: &str) -> Result<(), CliError> {
    drop(SqliteStore::open(layout.state(), Mode::Client)?);
    drop(EmbeddedForge::open(&layout.database(), Durability::Full)?);
    if let Some(inbox) = layout.wake_file().parent() {
        files::private_dir(inbox)?;
    }
    BareRepo::create_from(&Git::new(search_path), &layout.repository(), root, branch)?;
    Ok(())
}

/// The configuration for a command that goes on without a good one.
fn instead(layout: &Layout, tolerance: Tolerance, error: CliError) -> Result<Loaded, CliError> {
    let goes_on = match tolerance {
        Tolerance::None => false,
        Tolerance::WhileRunning => matches!(daemon::look(layout.state())?, Daemon::Up { .. }),
        Tolerance::Any => true,
    };
    if goes_on { Loaded::last_good(&config_in_force(layout), error.sentence()) } else { Err(error) }
}

/// What a daemon took last.
pub fn config_in_force(layout: &Layout) -> PathBuf {
    layout.state().join("config.toml")
}

/// The branch that the state was made for; before there is one, what the file here says.
pub fn main_branch(layout: &Layout, root: &Path) -> String {
    let head = std::fs::read_to_string(layout.repository().join("HEAD")).unwrap_or_default();
    if let Some(branch) = head.trim().strip_prefix("ref: refs/heads/") {
        return branch.to_owned();
    }
    let text = std::fs::read_to_string(root.join(config::FILE)).unwrap_or_default();
    let table = toml::from_str::<toml::Table>(&text).unwrap_or_default();
    let said = table.get("branch").and_then(toml::Value::as_str);
    said.map_or_else(|| Config::default().branch, str::to_owned)
}

/// A checkout without the file, as on an old branch, whose state is there.
fn known_checkout(context: &Context, from: &Path) -> Result<PathBuf, CliError> {
    for root in from.ancestors().filter(|folder| folder.join(".git").exists()) {
        // Without HOME there is no state to find, and the question is another one.
        let Ok(state) = state_folder(context, root) else { break };
        if Layout::new(state).database().is_file() {
            return Ok(root.to_owned());
        }
    }
    Err(no_project(from))
}

/// The newest task of an issue that has one.
pub fn task_of(store: &dyn Store, issue: IssueNumber) -> Result<Option<Task>, CliError> {
    Ok(store.newest_task_of(issue)?.map(|task| task.value))
}

/// A task, or the reason why there is none.
pub fn known_task(project: &Project, store: &dyn Store, issue: IssueNumber) -> Result<Task, CliError> {
    if let Some(task) = task_of(store, issue)? {
        return Ok(task);
    }
    project.forge()?.issue(issue)?;
    Err(CliError::new("no-task", Exit::NotFound, format!("nobody has worked on {issue} yet"))
        .next(format!("windlass why {}", issue.0)))
}

/// The folder in which we were asked to work.
pub fn folder(context: &Context) -> Result<PathBuf, CliError> {
    let asked = match &context.globals.dir {
        Some(dir) => context.around.cwd.join(dir),
        None => context.around.cwd.clone(),
    };
    let no_folder = |source| {
        CliError::new("no-folder", Exit::NotFound, format!("there is no folder `{}`", asked.display()))
            .because(source)
            .next("name one that is there: windlass -C FOLDER …")
    };
    let found = asked.canonicalize().map_err(no_folder)?;
    if !found.is_dir() {
        return Err(CliError::new(
            "no-folder",
            Exit::NotFound,
            format!("`{}` is not a folder", asked.display()),
        )
        .next("name a folder: windlass -C FOLDER …"));
    }
    Ok(found)
}

/// Where a checkout's state lies. Depends on nothing that a project file can change.
pub fn state_folder(context: &Context, root: &Path) -> Result<PathBuf, CliError> {
    let around = &context.around;
    if let Some(state) = context.globals.state.as_ref().or(around.state_dir.as_ref()) {
        return Ok(settled(&around.cwd.join(state)));
    }
    let base = state_root(context)?;
    let digest = Sha256::digest(root.as_os_str().as_encoded_bytes());
    let hex: String = digest.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
    Ok(settled(&base.join(format!("{}-{hex}", folder_name(root)))))
}

/// The folder that holds the states of all projects.
pub fn state_root(context: &Context) -> Result<PathBuf, CliError> {
    let around = &context.around;
    let local = around.home.as_ref().map(|home| home.join(".local/state"));
    let base = around.state_home.clone().or(local).ok_or_else(|| {
        CliError::new("no-home", Exit::Failed, "cannot tell where state is kept")
            .why("neither XDG_STATE_HOME nor HOME is set")
            .next("set HOME")
    })?;
    Ok(base.join("windlass"))
}

/// Where programs are that we have installed, for all projects; not known without a home.
pub fn tools_folder(context: &Context) -> Option<PathBuf> {
    Some(state_root(context).ok()?.join("tools"))
}

/// The path without symlinks, as far as it exists: processes are found by it, so it must read the same everywhere.
fn settled(path: &Path) -> PathBuf {
    let known = path.ancestors().find_map(|folder| Some((folder, folder.canonicalize().ok()?)));
    match known {
        Some((folder, real)) => {
            // Part by part: joining nothing would leave a slash at the end.
            real.components().chain(path.strip_prefix(folder).unwrap_or(path).components()).collect()
        }
        None => path.to_owned(),
    }
}

pub fn folder_name(root: &Path) -> String {
    let name = root.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let plain = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' };
    let name: String = name.chars().map(plain).take(40).collect();
    if name.is_empty() { "project".into() } else { name }
}

pub fn own_program() -> Result<PathBuf, CliError> {
    std::env::current_exe().map_err(|source| {
        CliError::new("no-program", Exit::Failed, "cannot find the program that we are").because(source)
    })
}

fn no_project(from: &Path) -> CliError {
    CliError::new("no-project", Exit::NotFound, format!("`{}` belongs to no project", from.display()))
        .why(format!("no `{}` here or in a folder above", config::FILE))
        .next("windlass init    in a git checkout")
        .next("windlass demo    to see it work without any set-up")
}

pub fn not_git(root: &Path) -> CliError {
    CliError::new("not-git", Exit::NotFound, format!("`{}` is not a git checkout", root.display()))
        .next("git init    or go to a checkout")
}
