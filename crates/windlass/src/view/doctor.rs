//! What the doctor found, as programs see it.

use schemars::JsonSchema;
use serde::Serialize;

use super::Stamp;

pub const SCHEMA: &str = "windlass.doctor/1";

#[derive(Debug, Serialize, JsonSchema)]
pub struct Doctor {
    pub schema: &'static str,
    pub at: Stamp,
    pub version: &'static str,
    pub checks: Vec<Check>,
    pub ok: usize,
    pub warnings: usize,
    pub failures: usize,
}

/// One thing that was looked at.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Check {
    pub name: &'static str,
    pub result: CheckResult,
    /// What was seen.
    pub says: String,
    /// The way out, where there is one to go.
    pub remedy: Option<String>,
    /// What `--fix` has done about it.
    pub fixed: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CheckResult {
    Ok,
    Warn,
    Fail,
}

impl Check {
    pub fn ok(name: &'static str, says: impl Into<String>) -> Self {
        Self { name, result: CheckResult::Ok, says: says.into(), remedy: None, fixed: None }
    }

    pub fn warn(name: &'static str, says: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { result: CheckResult::Warn, remedy: Some(remedy.into()), ..Self::ok(name, says) }
    }

    pub fn fail(name: &'static str, says: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { result: CheckResult::Fail, remedy: Some(remedy.into()), ..Self::ok(name, says) }
    }

    /// It was put in order: what is left is to say so.
    #[must_use]
    pub fn put_in_order(self, fixed: impl Into<String>) -> Self {
        Self { result: CheckResult::Ok, fixed: Some(fixed.into()), ..self }
    }
}

impl Doctor {
    pub fn new(at: Stamp, checks: Vec<Check>) -> Self {
        let count = |result| checks.iter().filter(|check| check.result == result).count();
        Self {
            schema: SCHEMA,
            at,
            version: env!("CARGO_PKG_VERSION"),
            ok: count(CheckResult::Ok),
            warnings: count(CheckResult::Warn),
            failures: count(CheckResult::Fail),
            checks,
        }
    }
}
