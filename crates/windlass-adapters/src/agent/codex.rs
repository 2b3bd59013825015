//! Codex without a terminal, behind a bridge: a process for each turn, one thread for the whole conversation.

use std::path::PathBuf;

use super::bridge::{Bridge, codex};
use super::{Conversation, Driver, SessionContext};
use crate::shim::{Framing, Launch};

#[derive(Debug, Clone)]
pub struct Codex {
    options: CodexOptions,
    /// The program that is the bridge.
    windlass: PathBuf,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodexOptions {
    /// A path, or a name that is looked for where programs are.
    pub binary: String,
    pub model: Option<String>,
    /// A provider of one's own that speaks the Responses API.
    pub base_url: Option<String>,
}

impl Default for CodexOptions {
    fn default() -> Self {
        Self { binary: "codex".to_owned(), model: None, base_url: None }
    }
}

impl CodexOptions {
    /// The variable by which it gets its key.
    pub const KEY: &'static str = codex::KEY;
}

impl Codex {
    pub fn new(options: CodexOptions, windlass: PathBuf) -> Self {
        Self { options, windlass }
    }

    fn argv(&self, context: &SessionContext, conversation: Conversation) -> Vec<String> {
        let CodexOptions { binary, model, base_url } = self.options.clone();
        let home = context.home.clone();
        Bridge::Codex(codex::Codex { binary, model, base_url, conversation, home }).argv(&self.windlass)
    }
}

impl Driver for Codex {
    fn launch(&self, context: &SessionContext) -> Launch {
        let first = self.argv(context, context.conversation.clone());
        let mut launch = context.launch(first, Framing::StreamJson);
        let id = context.conversation.id().to_owned();
        launch.again = Some(self.argv(context, Conversation::Resumed(id)));
        launch
    }

    fn resumes(&self) -> bool {
        true
    }
}
