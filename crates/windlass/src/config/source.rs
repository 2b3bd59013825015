//! Where the configuration comes from: the project's main branch, files of the person, variables, flags.

use std::path::{Path, PathBuf};

use windlass_adapters::files;

use super::layers::{Layer, Layered, Origin, stack};
use super::{FILE, LOCAL_FILE};
use crate::around::Around;
use crate::checkout;
use crate::error::CliError;
use crate::exit::Exit;

/// Files beyond this are not read to the end; the first megabyte is enough to say that they are too large.
const MAX_READ: u64 = (1 << 20) + 1;

/// Everything that is asked for the configuration.
#[derive(Debug, Clone)]
pub struct Sources {
    pub root: PathBuf,
    /// The branch whose file counts.
    pub branch: String,
    pub around: Around,
    /// `KEY=VALUE`, as given with `--set`.
    pub flags: Vec<String>,
}

/// What is in force, and how the project's file stands.
#[derive(Debug, Clone)]
pub struct Loaded {
    pub layered: Layered,
    pub file: ProjectFile,
}

/// Only what is on the main branch counts, so that no other branch can change its own rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProjectFile {
    OnBranch {
        branch: String,
        here: Here,
    },
    /// It is in no commit yet, so nobody but the person at this machine can have written it.
    NotCommitted {
        branch: String,
    },
    /// What is on the disk is no configuration; another one is in force.
    NotValid {
        why: String,
    },
}

/// The file in the checkout, beside the one that counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Here {
    Same,
    Differs,
    Missing,
}

impl Loaded {
    /// What a daemon wrote down when it took it; or the defaults, where nobody asks for more.
    pub fn last_good(path: &Path, why: String) -> Result<Self, CliError> {
        let layers = match head(path)? {
            Some(bytes) => vec![Layer::file(Origin::Project, shown(path), &bytes)?],
            None => Vec::new(),
        };
        Ok(Self { layered: stack(&layers)?, file: ProjectFile::NotValid { why } })
    }
}

impl ProjectFile {
    /// What a person should know about it.
    pub fn note(&self) -> Option<String> {
        match self {
            Self::OnBranch { here: Here::Same, .. } => None,
            Self::OnBranch { branch, here: Here::Differs } => Some(format!(
                "`{FILE}` here differs from the one on `{branch}`, and only that one counts: commit it there"
            )),
            Self::OnBranch { branch, here: Here::Missing } => {
                Some(format!("`{FILE}` is not here; the one on `{branch}` counts"))
            }
            Self::NotValid { why } => Some(format!("what was good last is in force: {why}")),
            Self::NotCommitted { branch } => Some(format!(
                "`{FILE}` is in no commit yet and counts as it is here: commit it to `{branch}`"
            )),
        }
    }
}

impl Sources {
    pub fn load(&self) -> Result<Loaded, CliError> {
        self.load_with(head(&self.root.join(LOCAL_FILE))?)
    }

    /// As if the file for this machine said this.
    pub fn load_with(&self, local: Option<Vec<u8>>) -> Result<Loaded, CliError> {
        let read = read(&self.root, &self.branch, &self.around.search_path)?;
        let mut layers = Vec::new();
        if let Some(path) = self.user_file()
            && let Some(bytes) = head(&path)?
        {
            layers.push(Layer::file(Origin::User, shown(&path), &bytes)?);
        }
        layers.push(Layer::file(Origin::Project, read.place, &read.bytes)?);
        layers.extend(self.local(local, read.local_is_committed)?);
        for (name, value) in &self.around.settings {
            layers.push(Layer::one(Origin::Env, format!("`{name}`"), &key_of(name), value)?);
        }
        for flag in &self.flags {
            layers.push(of_flag(flag)?);
        }
        Ok(Loaded { layered: stack(&layers)?, file: read.file })
    }

    /// The file in the checkout, if it is another one than the one that counts: is it at least good?
    pub fn check_here(&self) -> Result<(), CliError> {
        let path = self.root.join(FILE);
        let Some(bytes) = head(&path)? else { return Ok(()) };
        let layer = Layer::file(Origin::Project, shown(&path), &bytes)?;
        stack(&[layer]).map(drop)
    }

    /// Files whose change may change the configuration.
    pub fn files(&self) -> Vec<PathBuf> {
        let here = [FILE, LOCAL_FILE].map(|name| self.root.join(name));
        here.into_iter().chain(self.user_file()).collect()
    }

    pub fn user_file(&self) -> Option<PathBuf> {
        let around = &self.around;
        let home = around.home.as_ref().map(|home| home.join(".config"));
        Some(around.config_home.clone().or(home)?.join("windlass/config.toml"))
    }

    /// What the file for this machine says; nothing if there is none.
    pub fn local_text(&self) -> Result<String, CliError> {
        let bytes = head(&self.root.join(LOCAL_FILE))?.unwrap_or_default();
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn local(&self, bytes: Option<Vec<u8>>, is_committed: bool) -> Result<Option<Layer>, CliError> {
        let path = self.root.join(LOCAL_FILE);
        let Some(bytes) = bytes else { return Ok(None) };
        if is_committed {
            return Err(CliError::new("config", Exit::Config, format!("`{LOCAL_FILE}` is part of a commit"))
                .why("it is for this machine alone; from a commit, whoever wrote it would rule here")
                .next(format!("git rm --cached {LOCAL_FILE}    and name it in .gitignore")));
        }
        Layer::file(Origin::Local, shown(&path), &bytes).map(Some)
    }
}

struct Read {
    bytes: Vec<u8>,
    place: String,
    file: ProjectFile,
    local_is_committed: bool,
}

fn read(root: &Path, branch: &str, search_path: &str) -> Result<Read, CliError> {
    let names = [
        &format!("refs/heads/{branch}:{FILE}"),
        &format!("refs/remotes/origin/{branch}:{FILE}"),
        &format!("HEAD:{FILE}"),
        &format!("HEAD:{LOCAL_FILE}"),
    ];
    let [own, remote, checked_out, local] =
        checkout::committed(search_path, root, names.map(String::as_str))?;
    let path = root.join(FILE);
    let here = head(&path)?;
    let local_is_committed = local.is_some();
    let (bytes, place, file) = match (own.or(remote), here) {
        (Some(counts), here) => {
            let here = match here {
                None => Here::Missing,
                Some(here) if same(&here, &counts) => Here::Same,
                Some(_) => Here::Differs,
            };
            let file = ProjectFile::OnBranch { branch: branch.to_owned(), here };
            // Where both are the same, the path helps more.
            let place = match here {
                Here::Same => shown(&path),
                Here::Differs | Here::Missing => format!("`{FILE}` on `{branch}`"),
            };
            (counts, place, file)
        }
        (None, Some(_)) if checked_out.is_some() => return Err(on_another_branch(branch)),
        (None, Some(here)) => (here, shown(&path), ProjectFile::NotCommitted { branch: branch.to_owned() }),
        (None, None) => return Err(no_file(branch)),
    };
    Ok(Read { bytes, place, file, local_is_committed })
}

/// Git may check files out with other ends of lines.
fn same(here: &[u8], counts: &[u8]) -> bool {
    let plain = |bytes: &[u8]| bytes.iter().copied().filter(|byte| *byte != b'\r').collect::<Vec<u8>>();
    here == counts || plain(here) == plain(counts)
}

/// `None` when there is no such file. A link is followed: people keep such files elsewhere.
fn head(path: &Path) -> Result<Option<Vec<u8>>, CliError> {
    let cannot = || CliError::new("config", Exit::Config, format!("cannot read `{}`", path.display()));
    match path.canonicalize() {
        Ok(real) => files::read_head(&real, MAX_READ).map_err(|error| cannot().because(error)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(cannot().because(error)),
    }
}

fn of_flag(flag: &str) -> Result<Layer, CliError> {
    let (key, value) = flag.split_once('=').ok_or_else(|| {
        CliError::new("usage", Exit::Usage, format!("`--set {flag}` names no value"))
            .next("--set dispatch.parallel=2")
    })?;
    Layer::one(Origin::Flag, format!("`--set {flag}`"), key.trim(), value.trim())
}

/// `WINDLASS__DISPATCH__PARALLEL` is `dispatch.parallel`.
fn key_of(variable: &str) -> String {
    let key = variable.strip_prefix(super::ENV_PREFIX).unwrap_or(variable);
    key.to_ascii_lowercase().replace("__", ".")
}

fn shown(path: &Path) -> String {
    format!("`{}`", path.display())
}

fn on_another_branch(branch: &str) -> CliError {
    CliError::new("config", Exit::Config, format!("there is no `{FILE}` on `{branch}`"))
        .why(format!("the one here belongs to another branch, and only the one on `{branch}` counts"))
        .next(format!("merge it into `{branch}`"))
}

fn no_file(branch: &str) -> CliError {
    CliError::new("config", Exit::Config, format!("there is no `{FILE}` here, nor on `{branch}`"))
        .next("windlass config defaults    shows every key with its default")
}
