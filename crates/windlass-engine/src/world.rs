//! The outside world as the heart reaches it: repository, forge, agents.

use std::sync::Arc;

use windlass_adapters::agent::{self, Driver};
use windlass_adapters::forge::Forge;
use windlass_adapters::git::BareRepo;
use windlass_core::session::Role;
use windlass_store::Store;

use crate::layout::Layout;
use crate::settings::{AgentKind, AgentSettings, Settings};

#[derive(Clone)]
pub struct World {
    pub settings: Settings,
    pub layout: Layout,
    pub repo: BareRepo,
    pub forge: Arc<dyn Forge>,
    pub store: Arc<dyn Store>,
}

impl std::fmt::Debug for World {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("World").field("project", &self.settings.project).finish_non_exhaustive()
    }
}

impl World {
    pub fn agent(&self, role: Role) -> &AgentSettings {
        match role {
            Role::Dev => &self.settings.dev,
            Role::Review => &self.settings.critic,
        }
    }

    pub fn driver(&self, role: Role) -> Box<dyn Driver> {
        let exe = || self.settings.exe.clone();
        match &self.agent(role).kind {
            AgentKind::Command { argv } => Box::new(agent::Command::new(argv.clone())),
            AgentKind::ClaudeCode(options) => Box::new(agent::ClaudeCode::new(options.clone(), exe())),
            AgentKind::Codex(options) => Box::new(agent::Codex::new(options.clone(), exe())),
            AgentKind::Acp(options) => Box::new(agent::Acp::new(options.clone(), exe())),
            AgentKind::Demo => Box::new(agent::Demo::new(exe())),
        }
    }
}
