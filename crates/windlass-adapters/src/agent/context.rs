//! What a session is given: folders, names, limits, and an environment in which nothing is inherited.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use windlass_core::id::SessionId;

use crate::process::GroupLimits;
use crate::shim::{Framing, Launch, SESSION_DIR};

/// One session as its driver sees it.
#[derive(Debug, Clone)]
pub struct SessionContext {
    pub session: SessionId,
    pub role: String,
    /// The shim's folder.
    pub folder: PathBuf,
    pub workspace: PathBuf,
    /// Private to the session.
    pub home: PathBuf,
    /// Private to the session.
    pub temp: PathBuf,
    pub phase_file: PathBuf,
    /// Only for critics.
    pub verdict_file: Option<PathBuf>,
    pub conversation: Conversation,
    /// Where programs are found.
    pub search_path: String,
    pub limits: Limits,
}

/// The provider's name for what is said in a session, by which it can be found again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Conversation {
    New(String),
    /// Begun by a predecessor whose home this session has taken over.
    Resumed(String),
}

impl Conversation {
    pub fn id(&self) -> &str {
        match self {
            Self::New(id) | Self::Resumed(id) => id,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    pub wall_limit_ms: Option<i64>,
    pub keep_warm_ms: i64,
    pub max_line_bytes: usize,
    pub max_output_bytes: u64,
    pub term_grace_ms: i64,
    pub group: GroupLimits,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            wall_limit_ms: None,
            keep_warm_ms: 60_000,
            max_line_bytes: 4 << 20,
            max_output_bytes: 256 << 20,
            term_grace_ms: 5_000,
            group: GroupLimits::default(),
        }
    }
}

impl SessionContext {
    pub(super) fn launch(&self, argv: Vec<String>, framing: Framing) -> Launch {
        let Limits { wall_limit_ms, keep_warm_ms, max_line_bytes, max_output_bytes, term_grace_ms, group } =
            self.limits;
        Launch {
            argv,
            again: None,
            env: self.environment(),
            cwd: self.workspace.clone(),
            framing,
            wall_limit_ms,
            keep_warm_ms,
            max_line_bytes,
            max_output_bytes,
            term_grace_ms,
            limits: group,
        }
    }

    fn environment(&self) -> BTreeMap<String, String> {
        let name = self.session.as_str();
        let email = format!("{name}@windlass.localhost");
        let mut env = BTreeMap::new();
        let mut set = |key: &str, value: &str| drop(env.insert(key.to_owned(), value.to_owned()));
        set("PATH", &self.search_path);
        set("HOME", &text(&self.home));
        set("TMPDIR", &text(&self.temp));
        set("LANG", "C.UTF-8");
        set("TERM", "dumb");
        set("GIT_CONFIG_NOSYSTEM", "1");
        set("GIT_CONFIG_GLOBAL", "/dev/null");
        for who in ["AUTHOR", "COMMITTER"] {
            set(&format!("GIT_{who}_NAME"), name);
            set(&format!("GIT_{who}_EMAIL"), &email);
        }
        set("WINDLASS_SESSION", name);
        set(SESSION_DIR, &text(&self.folder));
        set("WINDLASS_ROLE", &self.role);
        set("WINDLASS_PHASE_FILE", &text(&self.phase_file));
        if let Some(verdict) = &self.verdict_file {
            set("WINDLASS_VERDICT_FILE", &text(verdict));
        }
        env
    }
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

#[cfg(test)]
impl SessionContext {
    /// For the tests of drivers.
    pub(super) fn sample(conversation: Conversation) -> Self {
        Self {
            session: SessionId::stored("dev-1.1-1"),
            role: "dev".into(),
            folder: "/s".into(),
            workspace: "/w".into(),
            home: "/h".into(),
            temp: "/h/tmp".into(),
            phase_file: "/s/phase".into(),
            verdict_file: None,
            conversation,
            search_path: "/bin".into(),
            limits: Limits::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Command, Driver};
    use super::*;

    #[test]
    fn the_environment_is_declared() {
        let context = SessionContext::sample(Conversation::New("c".into()));
        let launch = Command::new(vec!["agent".into()]).launch(&context);
        let names: Vec<&str> = launch.env.keys().map(String::as_str).collect();
        insta::assert_snapshot!(names.join(" "), @"GIT_AUTHOR_EMAIL GIT_AUTHOR_NAME GIT_COMMITTER_EMAIL GIT_COMMITTER_NAME GIT_CONFIG_GLOBAL GIT_CONFIG_NOSYSTEM HOME LANG PATH TERM TMPDIR WINDLASS_PHASE_FILE WINDLASS_ROLE WINDLASS_SESSION WINDLASS_SESSION_DIR");
        assert_eq!((launch.env["HOME"].as_str(), launch.cwd), ("/h", "/w".into()));
    }
}
