//! What lies in a session's folder, as its shim and its agent left it. What it means is said in `sessions`.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use windlass_adapters::agent::{self, HookNote, Seen};
use windlass_adapters::files;
use windlass_adapters::shim::client;
use windlass_adapters::shim::{Fact, INBOX, Message, ShimError};
use windlass_core::phase;
use windlass_core::session::{Identity, Role};

use crate::layout::Layout;

/// A critic's report is small; what is longer is none.
const MAX_VERDICT: u64 = 1 << 20;

#[derive(Debug, Default)]
pub struct Papers {
    /// All that the shim wrote down, in all lives of the session.
    pub facts: Vec<Fact>,
    /// The messages that were ever put into the inbox, by their ids.
    pub inbox: Vec<String>,
    /// We asked the shim to stop, and it did.
    pub stopped: bool,
    /// The phase file, if there is one.
    pub phase: Option<Signal>,
    /// What its transcript says since it was last read, and how far that goes.
    pub seen: (Vec<Seen>, u64),
    /// What its hooks noted since they were last read, and how far that goes.
    pub hooks: (Vec<HookNote>, u64),
    /// A critic's report; nothing is an empty one, and an error is what cannot be read.
    pub verdict: Option<Result<String, String>>,
}

/// One write of the phase file.
#[derive(Debug)]
pub struct Signal {
    /// Tells this write from every other.
    pub mark: String,
    /// Nothing if it went away while we looked; an error if it is no file that can be read.
    pub text: Result<Option<Vec<u8>>, String>,
}

impl Papers {
    pub fn read(layout: &Layout, identity: &Identity) -> Result<Self, ShimError> {
        let folder = layout.session(&identity.name);
        // The facts first: what is read after the end of a turn was said is whole, what is read before may be half.
        let facts = all_facts(&folder)?;
        let (phase, verdict) = match identity.role {
            Role::Dev => (signal(&layout.phase(&identity.name)), None),
            Role::Review => (None, Some(verdict(&layout.verdict(&identity.name)))),
        };
        Ok(Self {
            facts,
            inbox: inbox(&folder)?,
            stopped: client::exit(&folder)?.is_some_and(|exit| exit.stopped),
            phase,
            verdict,
            seen: seen(&folder, identity.transcript_read)?,
            hooks: agent::hook_notes(&folder, identity.hooks_read)?,
        })
    }
}

fn signal(path: &Path) -> Option<Signal> {
    let found = path.symlink_metadata().ok()?;
    let mark = format!("{}.{:09}-{}-{}", found.mtime(), found.mtime_nsec(), found.size(), found.ino());
    let text = files::read_head(path, phase::MAX_BYTES as u64).map_err(|error| error.to_string());
    Some(Signal { mark, text })
}

fn verdict(path: &Path) -> Result<String, String> {
    let bytes = files::read_head(path, MAX_VERDICT).map_err(|error| error.to_string())?;
    Ok(String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned())
}

fn seen(folder: &Path, from: u64) -> Result<(Vec<Seen>, u64), ShimError> {
    let (lines, end) = client::read_transcript(folder, from)?;
    Ok((lines.iter().flat_map(|line| agent::read(line)).collect(), end))
}

fn all_facts(folder: &Path) -> Result<Vec<Fact>, ShimError> {
    let (mut all, mut offset) = (Vec::new(), 0);
    loop {
        let (facts, next) = client::read_facts(folder, offset)?;
        all.extend(facts);
        if next == offset {
            return Ok(all);
        }
        offset = next;
    }
}

fn inbox(folder: &Path) -> Result<Vec<String>, ShimError> {
    let path = folder.join(INBOX);
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(ShimError::Io { path, source }),
    };
    let messages = text.lines().filter_map(|line| serde_json::from_str::<Message>(line).ok());
    Ok(messages.map(|message| message.id).collect())
}
