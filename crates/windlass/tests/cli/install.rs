//! `windlass doctor --fix` and a Claude Code that is not there, with an npm that only writes down what it is told.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use serde_json::Value;

use crate::common::{Machine, Ran};
use crate::init::path_with;

/// Says where it was called and with which words, and puts a program where the real one would.
const NPM: &str = "#!/bin/sh
PATH=/usr/bin:/bin
echo \"$PWD: $*\" >> \"$HOME/npm-calls\"
mkdir -p \"$3/node_modules/.bin\"
printf '#!/bin/sh\\necho 2.1.325 made up\\n' > \"$3/node_modules/.bin/claude\"
chmod 755 \"$3/node_modules/.bin/claude\"
";

struct Bench {
    machine: Machine,
    path: String,
}

impl Bench {
    /// A project whose agent is Claude Code, on a machine without it; `npm` is this script.
    fn new(npm: Option<&str>) -> Self {
        let machine = Machine::new();
        let path = path_with(&machine, &[]);
        let bench = Self { machine, path };
        if let Some(npm) = npm {
            let at = bench.machine.path("bin/npm");
            std::fs::write(&at, npm).unwrap();
            std::fs::set_permissions(&at, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        let ran = bench.run(&["init", "--yes", "--ci", "true", "--agent", "claude-code"]);
        assert_eq!(ran.code, 0, "{ran:?}");
        bench
    }

    fn run(&self, args: &[&str]) -> Ran {
        let mut command = self.machine.command(args);
        command.env("PATH", &self.path).env("ANTHROPIC_API_KEY", "hush-hush");
        command.output().unwrap().into()
    }

    /// What the doctor says, the checks of this name, and what it said on the way.
    fn doctor(&self, more: &[&str], name: &str) -> (Vec<Value>, String) {
        let room = ["--set", "guards.min_free_memory_mb=0", "--set", "guards.min_free_disk_mb=0"];
        let ran = self.run(&[&room[..], &["doctor", "--quick", "--json"], more].concat());
        let view: Value = serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{ran:?}"));
        let checks = view["checks"].as_array().unwrap().iter().filter(|check| check["name"] == name);
        (checks.cloned().collect(), ran.err)
    }

    fn tools(&self) -> PathBuf {
        self.machine.path("state/windlass/tools")
    }

    fn calls(&self) -> String {
        std::fs::read_to_string(self.machine.path("home/npm-calls")).unwrap_or_default()
    }
}

#[test]
fn a_missing_claude_code_is_installed_when_asked_and_then_found() {
    let bench = Bench::new(Some(NPM));
    let (agents, _) = bench.doctor(&[], "agent");
    assert_eq!(agents[0]["result"], "fail", "{agents:?}");
    assert!(agents[0]["remedy"].as_str().unwrap().starts_with("windlass doctor --fix"), "{agents:?}");
    assert!(!bench.tools().exists() && bench.calls().is_empty(), "looking installs nothing");

    let (tool, said) = bench.doctor(&["--fix"], "tool");
    let place = bench.tools().join("claude-code-2.1.325");
    let begin = format!("installing Claude Code 2.1.325 into `{}` with npm (350 MB)", place.display());
    assert!(said.contains(&begin), "{said}");
    assert!(tool[0]["result"] == "ok" && tool[0]["fixed"].is_string(), "{tool:?}");
    let calls = bench.calls();
    let (cwd, words) = calls.trim().split_once(": ").unwrap();
    assert!(cwd.starts_with(bench.tools().to_str().unwrap()), "not in the checkout: {cwd}");
    let wanted = format!(
        "install --prefix {cwd} --no-save --no-audit --no-fund --loglevel error @anthropic-ai/claude-code@2.1.325"
    );
    assert_eq!(words, wanted);

    let (tool, _) = bench.doctor(&["--fix"], "tool");
    assert!(tool.is_empty() && bench.calls() == calls, "it is installed once");
    let (agents, _) = bench.doctor(&[], "agent");
    let own = place.join("node_modules/.bin/claude").display().to_string();
    for agent in &agents {
        assert_eq!(agent["result"], "ok", "{agents:?}");
        assert!(agent["says"].as_str().unwrap().contains(&own), "{agents:?}");
    }
    assert_eq!(std::fs::read_dir(bench.tools()).unwrap().count(), 1, "nothing half made is left");
}

#[test]
fn a_claude_code_of_ones_own_is_used_and_none_is_installed() {
    let bench = Bench::new(Some(NPM));
    bench.doctor(&["--fix"], "tool");
    let claude = bench.machine.path("bin/claude");
    std::fs::write(&claude, "#!/bin/sh\necho 9.9.9 of my own\n").unwrap();
    std::fs::set_permissions(&claude, std::fs::Permissions::from_mode(0o755)).unwrap();
    let (agents, _) = bench.doctor(&[], "agent");
    assert!(
        agents[0]["says"].as_str().unwrap().contains("9.9.9 of my own"),
        "the PATH comes first: {agents:?}"
    );
    std::fs::remove_dir_all(bench.tools()).unwrap();
    assert_eq!(bench.doctor(&["--fix"], "tool").0, Vec::<Value>::new());
    let file = bench.machine.repo().join("windlass.toml");
    let named = std::fs::read_to_string(&file).unwrap();
    let named = named.replace("kind = \"claude-code\"\n", "kind = \"claude-code\"\nbinary = \"/no/such\"\n");
    std::fs::write(&file, named).unwrap();
    std::fs::remove_file(claude).unwrap();
    assert_eq!(
        bench.doctor(&["--fix"], "tool").0,
        Vec::<Value>::new(),
        "another program is not ours to install"
    );
    assert!(!bench.tools().exists());
}

#[test]
fn what_stands_in_the_way_of_an_install_is_named_and_nothing_is_left() {
    let no_npm = Bench::new(None);
    let (tool, _) = no_npm.doctor(&["--fix"], "tool");
    assert_eq!(tool[0]["result"], "fail");
    assert!(tool[0]["remedy"].as_str().unwrap().contains("https://nodejs.org"), "{tool:?}");
    let breaks = NPM.replace("made up\\n'", "made up; exit 3\\n'");
    for (npm, why) in [
        ("#!/bin/sh\necho no network >&2\nexit 7\n", "npm ends with 7: no network"),
        ("#!/bin/sh\nexit 0\n", "the installed program"),
        (breaks.as_str(), "the installed program ends with 3"),
    ] {
        let bench = Bench::new(Some(npm));
        let (tool, _) = bench.doctor(&["--fix"], "tool");
        assert_eq!(tool[0]["result"], "fail", "{tool:?}");
        assert!(tool[0]["says"].as_str().unwrap().contains(why), "{tool:?}");
        assert_eq!(std::fs::read_dir(bench.tools()).unwrap().count(), 0, "{why}");
    }
}
