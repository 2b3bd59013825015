//! Finds every process that belongs to a state folder, whoever its parent is now.

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use windlass_adapters::process::{self, Given};
use windlass_adapters::shim::{SESSION_DIR, client};
use windlass_engine::Layout;

/// Set for every git process of the project's repository.
const GIT_DIR: &str = "WINDLASS_GIT_DIR";
/// Set for the process that does the house jobs of a daemon: the state folder that it does them for.
pub const HOUSE: &str = "WINDLASS_HOUSE_OF";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leftover {
    pub pid: u32,
    pub command: String,
    /// The session or build that it belongs to, if it belongs to one.
    pub folder: Option<PathBuf>,
}

/// Processes of our user, without ourselves, that run for the state folder.
pub fn find(state: &Path) -> io::Result<Vec<Leftover>> {
    let state = state.canonicalize()?;
    let all = process::given()?;
    let mut found: Vec<Leftover> = all.iter().filter_map(|given| look(&state, given)).collect();
    for (folder, pid) in in_groups(&Layout::new(&state))? {
        let given = all.iter().find(|given| given.pid == pid);
        let pid = pid.cast_unsigned();
        if let Some(given) = given.filter(|_| found.iter().all(|left| left.pid != pid)) {
            found.push(Leftover { pid, command: shown(given), folder: Some(folder) });
        }
    }
    Ok(found)
}

/// Those among them that belong to one session or build.
pub fn of(state: &Path, folder: &Path) -> io::Result<Vec<Leftover>> {
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let mut found = find(state)?;
    found.retain(|left| left.folder.as_ref() == Some(&folder));
    Ok(found)
}

/// Members of the control groups of sessions and builds that have not come to a good end.
fn in_groups(layout: &Layout) -> io::Result<Vec<(PathBuf, i32)>> {
    let mut found = Vec::new();
    for kind in [layout.sessions(), layout.builds()] {
        let entries = match std::fs::read_dir(kind) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        for entry in entries {
            let entry = entry?;
            let members = client::group_members(&entry.path()).map_err(io::Error::other)?;
            found.extend(members.into_iter().map(|pid| (entry.path(), pid)));
        }
    }
    Ok(found)
}

fn shown(given: &Given) -> String {
    windlass_core::text::one_line(&String::from_utf8_lossy(&given.args).replace('\0', " "), 120)
}

fn look(state: &Path, given: &Given) -> Option<Leftover> {
    let pid = given.pid.cast_unsigned();
    let words: Vec<&[u8]> = given.args.split(|byte| *byte == 0).collect();
    if let [_, b"shim", session, ..] = words.as_slice()
        && let Some(session) = below(state, session)
    {
        return Some(Leftover { pid, command: shown(given), folder: Some(session) });
    }
    let session = variable(&given.environment, SESSION_DIR).and_then(|value| below(state, value));
    if session.is_some() {
        return Some(Leftover { pid, command: shown(given), folder: session });
    }
    let given_to = |name| variable(&given.environment, name).and_then(|value| below(state, value));
    given_to(GIT_DIR).or_else(|| given_to(HOUSE)).map(|_| Leftover {
        pid,
        command: shown(given),
        folder: None,
    })
}

fn variable<'a>(environment: &'a [u8], name: &str) -> Option<&'a [u8]> {
    environment
        .split(|byte| *byte == 0)
        .find_map(|pair| pair.strip_prefix(name.as_bytes())?.strip_prefix(b"="))
}

fn below(state: &Path, value: &[u8]) -> Option<PathBuf> {
    let path = Path::new(std::ffi::OsStr::from_bytes(value));
    path.starts_with(state).then(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn processes_are_found_by_what_they_were_given() {
        let state = tempfile::tempdir().unwrap();
        let other = tempfile::tempdir().unwrap();
        let start =
            |name: &str, value: &Path| Command::new("sleep").arg("60").env(name, value).spawn().unwrap();
        let mut session =
            start(SESSION_DIR, &state.path().canonicalize().unwrap().join("sessions/dev-1.1-1"));
        let mut git = start(GIT_DIR, &state.path().canonicalize().unwrap().join("repo.git"));
        let mut house = start(HOUSE, &state.path().canonicalize().unwrap());
        let mut stranger = start(SESSION_DIR, other.path());
        let mut found: Vec<u32> = find(state.path()).unwrap().iter().map(|left| left.pid).collect();
        found.sort_unstable();
        let mut wanted = vec![session.id(), git.id(), house.id()];
        wanted.sort_unstable();
        for child in [&mut session, &mut git, &mut house, &mut stranger] {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        assert_eq!(found, wanted);
        assert_eq!(find(state.path()).unwrap(), []);
    }
}
