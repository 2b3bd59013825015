//! The agent that comes with us: scripted, needs no model and no network.

use std::path::PathBuf;

use super::{Driver, SessionContext};
use crate::shim::{Framing, Launch};

#[derive(Debug, Clone)]
pub struct Demo {
    windlass: PathBuf,
}

impl Demo {
    pub fn new(windlass: PathBuf) -> Self {
        Self { windlass }
    }
}

impl Driver for Demo {
    fn launch(&self, context: &SessionContext) -> Launch {
        let windlass = self.windlass.to_string_lossy().into_owned();
        let argv = vec![windlass, "demo-agent".to_owned(), "--role".to_owned(), context.role.clone()];
        context.launch(argv, Framing::StreamJson)
    }

    /// It knows its issue from the brief and its work from the workspace; there is no conversation to resume.
    fn resumes(&self) -> bool {
        false
    }
}
