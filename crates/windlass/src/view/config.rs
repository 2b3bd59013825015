//! The configuration in force, as programs see it.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

pub const SCHEMA: &str = "windlass.config/1";
pub const SHOW_SCHEMA: &str = "windlass.config-show/1";
pub const DEFAULTS_SCHEMA: &str = "windlass.config-defaults/1";

#[derive(Debug, Serialize, JsonSchema)]
pub struct Checked {
    pub schema: &'static str,
    pub file: String,
    pub valid: bool,
    /// How the file here stands to the one that counts.
    pub note: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct ConfigShow {
    pub schema: &'static str,
    pub values: Vec<ConfigValue>,
    /// How the file here stands to the one that counts.
    pub note: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct ConfigValue {
    pub key: String,
    pub value: Value,
    /// default, user, project, local, env or flag.
    pub origin: &'static str,
    /// The file, the variable or the flag; none for a default.
    pub place: Option<String>,
    /// What the user's file says of it is a limit.
    pub host_limit: bool,
    /// What the project wanted, beyond the host's limit.
    pub refused: Option<Value>,
}

impl ConfigShow {
    pub fn new(values: Vec<ConfigValue>, note: Option<String>) -> Self {
        Self { schema: SHOW_SCHEMA, values, note }
    }
}

/// Every key that there is, in the order of the default file.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ConfigDefaults {
    pub schema: &'static str,
    pub keys: Vec<ConfigKey>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct ConfigKey {
    pub key: String,
    /// None: it has to be set, or need not be.
    pub default: Option<Value>,
    /// How a value looks.
    pub example: Value,
    pub about: String,
}

impl ConfigDefaults {
    pub fn new(keys: Vec<ConfigKey>) -> Self {
        Self { schema: DEFAULTS_SCHEMA, keys }
    }
}
