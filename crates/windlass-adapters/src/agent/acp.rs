//! Any agent that speaks the Agent Client Protocol, behind a bridge: one long-lived process with one session.

use std::path::PathBuf;

use super::bridge::{Bridge, acp};
use super::claude::KEEP_WARM_MS;
use super::{Conversation, Driver, SessionContext};
use crate::shim::{Framing, Launch};

pub use acp::Permission;

#[derive(Debug, Clone)]
pub struct Acp {
    options: AcpOptions,
    /// The program that is the bridge.
    windlass: PathBuf,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AcpOptions {
    /// The agent with its arguments.
    pub command: Vec<String>,
    pub permission: Permission,
    pub keep_warm_ms: i64,
}

impl AcpOptions {
    /// With what holds where nothing else is said.
    pub fn new(command: Vec<String>) -> Self {
        Self { command, permission: Permission::default(), keep_warm_ms: KEEP_WARM_MS }
    }
}

impl Acp {
    pub fn new(options: AcpOptions, windlass: PathBuf) -> Self {
        Self { options, windlass }
    }

    fn argv(&self, context: &SessionContext, conversation: Conversation) -> Vec<String> {
        let AcpOptions { command, permission, keep_warm_ms: _ } = self.options.clone();
        let home = context.home.clone();
        Bridge::Acp(acp::Acp { command, permission, conversation, home }).argv(&self.windlass)
    }
}

impl Driver for Acp {
    fn launch(&self, context: &SessionContext) -> Launch {
        let first = self.argv(context, context.conversation.clone());
        let mut launch = context.launch(first, Framing::StreamJson);
        let id = context.conversation.id().to_owned();
        launch.again = Some(self.argv(context, Conversation::Resumed(id)));
        launch.keep_warm_ms = self.options.keep_warm_ms;
        launch
    }

    fn resumes(&self) -> bool {
        true
    }
}
