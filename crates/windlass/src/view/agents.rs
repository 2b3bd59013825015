//! Who is at work, as programs see it.

use schemars::JsonSchema;
use serde::Serialize;
use windlass_core::session::{IdentityStatus, Light, Role};

use super::Stamp;

pub const SCHEMA: &str = "windlass.agents/1";

#[derive(Debug, Serialize, JsonSchema)]
pub struct Agents {
    pub schema: &'static str,
    pub at: Stamp,
    pub agents: Vec<AgentLine>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct AgentLine {
    pub name: String,
    pub role: Role,
    pub issue: u64,
    pub task: String,
    /// The state of its task.
    pub state: String,
    pub status: IdentityStatus,
    pub light: Light,
    /// Whether its process holds its lock; not known when it could not be looked at.
    pub lock_held: Option<bool>,
    pub pid: Option<u32>,
    /// When it last wrote to its transcript.
    pub last_output_at: Option<Stamp>,
    pub last_seen_at: Stamp,
    pub created_at: Stamp,
    pub strikes: u32,
    pub max_strikes: u32,
    pub predecessor_id: Option<String>,
    /// The provider's name of the conversation, by which it is resumed.
    pub session_id: Option<String>,
    pub tmux_session: Option<String>,
    pub node_id: Option<String>,
    pub bead_id: Option<String>,
    pub worktree_path: String,
    pub hook_path: String,
}

impl Agents {
    pub fn new(at: Stamp, agents: Vec<AgentLine>) -> Self {
        Self { schema: SCHEMA, at, agents }
    }
}
