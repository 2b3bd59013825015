//! Embedded CI: a command in a checkout, run by a shim. Translation only; what red means is decided elsewhere.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::files;
use crate::process::GroupLimits;
use crate::shim::{Exit, Framing, LOG, Launch, SESSION_DIR, ShimError, client};

/// Of a longer log the rest is read and thrown away.
pub const MAX_LOG: u64 = 64 << 20;

/// One build as it is to be run.
#[derive(Debug, Clone)]
pub struct Build {
    /// Given to `sh -c`.
    pub command: String,
    pub checkout: PathBuf,
    /// The shim's folder.
    pub folder: PathBuf,
    pub home: PathBuf,
    pub temp: PathBuf,
    /// Where programs are found.
    pub search_path: String,
    pub wall_limit_ms: i64,
    pub max_log_bytes: u64,
    pub limits: GroupLimits,
}

/// What came of a build, uninterpreted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawOutcome {
    pub exit: Exit,
    /// All of it: tests and failures may be told of anywhere.
    pub log: String,
}

pub fn launch(build: &Build) -> Launch {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let mut env = BTreeMap::new();
    for (key, value) in [
        ("PATH", build.search_path.clone()),
        ("HOME", text(&build.home)),
        ("TMPDIR", text(&build.temp)),
        ("LANG", "C.UTF-8".to_owned()),
        ("TERM", "dumb".to_owned()),
        ("CI", "true".to_owned()),
        ("GIT_CONFIG_NOSYSTEM", "1".to_owned()),
        ("GIT_CONFIG_GLOBAL", "/dev/null".to_owned()),
        (SESSION_DIR, text(&build.folder)),
    ] {
        env.insert(key.to_owned(), value);
    }
    Launch {
        again: None,
        argv: vec!["sh".to_owned(), "-c".to_owned(), build.command.clone()],
        env,
        cwd: build.checkout.clone(),
        framing: Framing::Once,
        wall_limit_ms: Some(build.wall_limit_ms),
        keep_warm_ms: 0,
        max_line_bytes: 1 << 20,
        max_output_bytes: build.max_log_bytes,
        term_grace_ms: 2_000,
        limits: build.limits,
    }
}

/// How the build in `folder` ended; `None` while it runs.
pub fn read_outcome(folder: &Path) -> Result<Option<RawOutcome>, ShimError> {
    let Some(exit) = client::exit(folder)? else { return Ok(None) };
    let log = files::read_tail(&folder.join(LOG), MAX_LOG)?.map(|part| part.bytes).unwrap_or_default();
    Ok(Some(RawOutcome { exit, log: String::from_utf8_lossy(&log).into_owned() }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(read_outcome(folder.path()).unwrap(), None);
        let exit = Exit { code: Some(1), ..Exit::default() };
        files::write_json(&folder.path().join(crate::shim::EXIT), &exit).unwrap();
        let outcome = read_outcome(folder.path()).unwrap().unwrap();
        assert_eq!((outcome.log.as_str(), outcome.exit), ("", exit));
        for lines in [10, 10_000, 300_000] {
            let all: String = (0..lines).map(|n| format!("{n}\n")).collect();
            std::fs::write(folder.path().join(LOG), &all).unwrap();
            assert!(read_outcome(folder.path()).unwrap().unwrap().log == all, "{lines}");
        }
    }
}
