//! What starts the factory at login, for programs.

use schemars::JsonSchema;
use serde::Serialize;

pub const SCHEMA: &str = "windlass.service/1";

#[derive(Debug, Serialize, JsonSchema)]
pub struct Service {
    pub schema: &'static str,
    /// systemd or launchd.
    pub kind: &'static str,
    /// Where `service install` writes it.
    pub path: String,
    /// The whole file.
    pub text: String,
    /// Lines `NAME=value` that the service is given.
    pub variables_file: String,
    /// Variables that the configuration names.
    pub variables: Vec<String>,
    /// Those that the file does not set.
    pub missing: Vec<String>,
    pub next: Vec<String>,
}
