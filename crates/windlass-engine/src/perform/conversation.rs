//! The conversation of a session: a new one, or that of a predecessor whose process is gone. It lives in the session's home.

use sha2::{Digest, Sha256};
use windlass_adapters::agent::Conversation;
use windlass_adapters::files::{self, FileError};
use windlass_core::brief::Memory;
use windlass_core::id::SessionId;
use windlass_core::session::Role;
use windlass_core::task::{Start, Task};

use super::{Fault, Known};
use crate::world::World;

#[derive(Debug)]
pub struct Taken {
    pub conversation: Conversation,
    cost_seen_micro_usd: u64,
}

impl Taken {
    pub fn memory(&self) -> Memory {
        match self.conversation {
            Conversation::New(_) => Memory::New,
            Conversation::Resumed(_) => Memory::Resumed,
        }
    }

    pub fn known(&self) -> Known {
        Known { id: self.conversation.id().to_owned(), cost_seen_micro_usd: self.cost_seen_micro_usd }
    }
}

pub fn new(world: &World, session: &SessionId) -> Taken {
    Taken { conversation: Conversation::New(name(world, session)), cost_seen_micro_usd: 0 }
}

/// Takes over the conversation and the home of a lost predecessor where its program can go on with them. Fit to be done
/// twice: a home that was taken over before is ours.
pub fn take(world: &World, session: &SessionId, start: &Start) -> Result<Taken, Fault> {
    let predecessor = match start {
        Start::Recover { predecessor } if world.driver(Role::Dev).resumes() => predecessor,
        Start::Fresh | Start::Recover { .. } | Start::Continue { .. } | Start::Retry { .. } => {
            return Ok(new(world, session));
        }
    };
    let before = world.store.identity(predecessor)?;
    let Some((id, cost)) = before.and_then(|old| old.session_id.map(|id| (id, old.cost_seen_micro_usd)))
    else {
        return Ok(new(world, session));
    };
    let (theirs, ours) = (world.layout.home(predecessor), world.layout.home(session));
    if !ours.exists() {
        if !theirs.exists() {
            return Ok(new(world, session));
        }
        files::private_dir(&world.layout.session(session))?;
        std::fs::rename(&theirs, &ours).map_err(|source| FileError::Write { path: ours, source })?;
    }
    Ok(Taken { conversation: Conversation::Resumed(id), cost_seen_micro_usd: cost })
}

/// Removes what nobody will resume any more: a critic's home at its end, the others when their task has ended.
pub fn forget(world: &World, task: Option<&Task>, session: &SessionId) -> Result<(), Fault> {
    let role = world.store.identity(session)?.map(|identity| identity.role);
    if role == Some(Role::Review) || task.is_none() {
        files::remove_tree(&world.layout.home(session))?;
    }
    if let Some(task) = task.filter(|task| task.state.is_terminal()) {
        for nth in 1..=task.sessions {
            files::remove_tree(&world.layout.home(&SessionId::dev(&task.id, nth)))?;
        }
    }
    Ok(())
}

/// A UUID that is the same whenever the session is started, and another for every other session.
fn name(world: &World, session: &SessionId) -> String {
    let mut hash = Sha256::new();
    hash.update(world.layout.session(session).as_os_str().as_encoded_bytes());
    let digest = hash.finalize();
    let mut bytes: Vec<u8> = digest.iter().copied().take(16).collect();
    bytes[6] = (bytes[6] & 0x0f) | 0x80;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}
