//! What a service is given besides its PATH. A key is never written into a unit: it comes from a file of the user's own.

use std::path::{Path, PathBuf};

use windlass_adapters::files;

use crate::error::CliError;
use crate::project::Project;

/// Beside the user's `config.toml`.
const FILE: &str = "windlass.env";
const MAX_BYTES: u64 = 1 << 20;

pub struct Variables {
    /// Lines `NAME=value`, for the user alone.
    pub file: PathBuf,
    /// Named as `env:NAME` in the configuration.
    pub needed: Vec<String>,
    /// Those that the file does not set.
    pub missing: Vec<String>,
}

impl Variables {
    pub fn of(config_home: &Path, project: &Project) -> Result<Self, CliError> {
        let file = config_home.join("windlass").join(FILE);
        let needed: Vec<String> = project.config.variables().into_iter().map(str::to_owned).collect();
        let text = files::read_head(&file, MAX_BYTES)?.unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let set = |name: &String| {
            let value = text.lines().find_map(|line| line.trim().strip_prefix(name)?.strip_prefix('='));
            value.is_some_and(|value| !value.trim().is_empty())
        };
        let missing = needed.iter().filter(|name| !set(name)).cloned().collect();
        Ok(Self { file, needed, missing })
    }

    /// What to do before the service can work.
    pub fn next(&self) -> Option<String> {
        if self.missing.is_empty() {
            return None;
        }
        let lines: Vec<String> = self.missing.iter().map(|name| format!("{name}=…")).collect();
        Some(format!(
            "write {} into {}, then chmod 600 it: a service does not see the variables of your shell. \
             Or write \"file:PATH\" instead of \"env:NAME\" in the configuration",
            lines.join(" and "),
            self.file.display()
        ))
    }
}
