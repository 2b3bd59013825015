//! For tests of effects: a project with a real repository, a real store and a real forge.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use tempfile::TempDir;
use windlass_adapters::forge::{Durability, EmbeddedForge};
use windlass_adapters::git::{BareRepo, Git};
use windlass_adapters::process::GroupLimits;
use windlass_core::id::Sha;
use windlass_core::policy::Policy;
use windlass_core::time::{Millis, Span};
use windlass_store::{Mode, SqliteStore};

use crate::layout::Layout;
use crate::settings::{AgentKind, AgentSettings, CiSettings, Guards, Settings};
use crate::world::World;

pub const AT: Millis = Millis(1_700_000_000_000);

pub struct Place {
    pub folder: TempDir,
    /// A checkout of somebody else; main holds its two commits, `begin` and `a`.
    pub user: PathBuf,
    pub world: World,
    pub main: Sha,
}

impl Place {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let user = folder.path().join("user");
        std::fs::create_dir(&user).unwrap();
        git(&user, &["init", "-q", "-b", "main"]);
        commit(&user, "begin");
        commit(&user, "a");
        let main = Sha::parse(&git(&user, &["rev-parse", "HEAD"])).unwrap();
        let settings = settings();
        let layout = Layout::new(folder.path().join("state"));
        std::fs::create_dir_all(layout.workspaces()).unwrap();
        let holder = "a test".to_owned();
        let store = SqliteStore::open(layout.state(), Mode::Daemon { holder, now: AT }).unwrap();
        let forge = EmbeddedForge::open(&layout.database(), Durability::Normal).unwrap();
        let runner = Git::new(settings.search_path.clone());
        let repo = BareRepo::create_from(&runner, &layout.repository(), &user, "main").unwrap();
        let world = World { settings, layout, repo, forge: Arc::new(forge), store: Arc::new(store) };
        Self { folder, user, world, main }
    }
}

fn settings() -> Settings {
    let agent = || AgentSettings { kind: AgentKind::Demo, env: BTreeMap::new() };
    Settings {
        project: "p".into(),
        branch: "main".into(),
        branch_prefix: "w/".into(),
        exe: "/nowhere".into(),
        search_path: std::env::var("PATH").unwrap(),
        policy: Policy::default(),
        dev: agent(),
        critic: agent(),
        ci: CiSettings { command: "true".into(), slots: 1, keep: Vec::new(), env: BTreeMap::new() },
        limits: GroupLimits::default(),
        guards: Guards { min_free_memory_mb: 0, min_free_disk_mb: 0 },
        only: None,
        poll: Span::mins(1),
    }
}

pub fn commit(folder: &Path, name: &str) {
    std::fs::write(folder.join(name), name).unwrap();
    git(folder, &["add", "-A"]);
    git(folder, &["commit", "-q", "-m", name]);
}

pub fn git(folder: &Path, args: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=u", "-c", "user.email=u@localhost"])
        .args(args)
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}
