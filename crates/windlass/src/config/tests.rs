//! The file and its defaults tell the same, and mistakes are explained.

use std::collections::BTreeMap;
use std::path::Path;

use windlass_adapters::agent::{AcpOptions, ClaudeOptions, CodexOptions, Permission, Screen};
use windlass_core::policy::{Policy, QueueRules};
use windlass_engine::AgentKind;

use super::agent::{Agent, Argv, Kind};
use super::explain::{Fault, unknown_key};
use super::settings::Place;
use super::template::{AgentChoice, Choices};
use super::*;

fn place() -> Place<'static> {
    Place { project: "p", exe: Path::new("/bin/windlass"), search_path: "/bin", tools: None }
}

fn fault(text: &str) -> Fault {
    Config::parse(text).unwrap_err()
}

#[test]
fn the_documented_defaults_are_the_defaults() {
    let mut expected = Config::default();
    expected.ci.command = Some("make test".into());
    let command = Some(Argv::Shell("my-agent".into()));
    expected.agent.dev = Some(Agent {
        kind: Kind::Command,
        command,
        binary: None,
        model: None,
        base_url: None,
        permission_mode: None,
        max_turns: None,
        keep_warm: None,
        terminal: None,
        env: BTreeMap::new(),
    });
    assert_eq!(Config::parse(DEFAULTS).unwrap(), expected);
    assert_eq!(Config::default().policy(), Policy::default());
    assert_eq!(Config::parse("").unwrap(), Config::default());
    assert_eq!(Config::parse("[ci]\n[labels]\n").unwrap(), Config::default());
}

#[test]
fn every_key_is_documented() {
    let tables = [
        "",
        "dispatch",
        "timeouts",
        "liveness",
        "critic",
        "ci",
        "queue",
        "agent.dev",
        "guards",
        "budget",
        "labels",
    ];
    for table in tables {
        let head = if table.is_empty() { String::new() } else { format!("[{table}]\n") };
        let kind = if table == "agent.dev" { "kind = \"demo\"\n" } else { "" };
        let error = toml::from_str::<Config>(&format!("{head}{kind}no-such-key = 1")).unwrap_err();
        let (_, known) = unknown_key(error.message()).expect("the parser names the known keys");
        assert!(!known.is_empty(), "{table}");
        for key in known {
            let full = if table.is_empty() { key.to_owned() } else { format!("{table}.{key}") };
            let keyed =
                DEFAULTS.contains(&format!("\n{key} =")) || DEFAULTS.contains(&format!("\n# {key} ="));
            assert!(keyed || DEFAULTS.contains(&format!("[{full}")), "`{full}` is not documented");
        }
    }
}

#[test]
fn mistakes_are_explained_with_their_line() {
    let unknown = fault("name = \"x\"\n[dispatch]\nparalel = 2\n");
    assert_eq!((unknown.line, unknown.meant.as_deref()), (Some(3), Some("parallel")));
    let table = fault("\n[dispach]\nparallel = 2\n");
    assert_eq!((table.line, table.meant.as_deref()), (Some(2), Some("dispatch")));
    let time = fault("[timeouts]\nsession = \"two hours\"\n");
    assert!(time.line == Some(2) && time.what.contains("`two hours` is not a duration"), "{time:?}");
    let typed = fault("[ci]\nslots = \"2\"\n");
    assert!(
        typed.line == Some(2)
            && typed.what.contains("a whole number from 0 to 4294967295 is wanted, not string \"2\""),
        "{typed:?}"
    );
    let kind = fault("[agent.dev]\nkind = \"comand\"\n");
    assert_eq!((kind.line, kind.meant.as_deref()), (Some(2), Some("command")));
    let history = fault("[queue]\nhistory = \"squach\"\n");
    assert_eq!((history.line, history.meant.as_deref()), (Some(2), Some("squash")));
    let slip = "`agent.dev.kind` must be one of command, demo, claude-code, codex, acp; it is `comand`";
    assert_eq!(kind.what, slip);
    let policy = fault("[queue]\npolicy = \"x\"\n");
    assert_eq!(policy.what, "`queue.policy` must be one of serial, batch, chain, ladder; it is `x`");
    let large = fault("[dispatch]\nparallel = 99999999999999999999\n");
    let said = "a whole number from 0 to 4294967295 is wanted, not integer `99999999999999999999`";
    assert_eq!((large.line, large.what.as_str()), (Some(2), said));
    assert!(fault("[ci\n").line == Some(1));
}

#[test]
fn values_without_sense_are_refused() {
    for (text, key) in [
        ("[dispatch]\nparallel = 0", "dispatch.parallel"),
        ("[ci]\nslots = 0", "ci.slots"),
        ("[timeouts]\nci = \"0s\"", "timeouts.ci"),
        ("[timeouts]\nci_start = \"0s\"", "timeouts.ci_start"),
        ("[queue]\nalarm = \"0s\"", "queue.alarm"),
        ("[budget]\nper_issue_usd = -1.0", "budget.per_issue_usd"),
        ("[budget]\nper_issue_usd = nan", "budget.per_issue_usd"),
        ("[dispatch]\nparallel = 100000000", "dispatch.parallel"),
        ("[ci]\nretry_infra = 4294967295", "ci.retry_infra"),
        ("[guards]\nmin_free_disk_mb = 9000000000", "guards.min_free_disk_mb"),
        ("[timeouts]\nsession = \"99999d\"", "timeouts.session"),
        ("[labels]\nbacklog = \"\"", "labels.backlog"),
        ("[labels]\nblocked = \"a,b\"", "labels.blocked"),
        ("[labels]\nabandon = \"backlog\"", "labels.abandon"),
        ("[labels]\nignore_deps = \"backlog\"", "labels.ignore_deps"),
        ("[labels]\nignore_deps = \"a,b\"", "labels.ignore_deps"),
        ("[ci]\nkeep = [\"target\", \"../../x\"]", "ci.keep"),
        ("[ci]\nkeep = [\"/tmp\"]", "ci.keep"),
        ("[ci]\nkeep = [\"\"]", "ci.keep"),
        ("[ci]\nkeep = [\".git/x\"]", "ci.keep"),
        ("[ci]\nenv = { \"A=B\" = \"x\" }", "ci.env.A=B"),
        ("[ci]\nenv = { A = \"env:\" }", "ci.env.A"),
        ("name = \" \"", "name"),
        ("name = \"a\\nb\"", "name"),
        ("branch = \"HEAD\"", "branch"),
        ("branch = \"a.\"", "branch"),
        ("[schedule]\ntimezone = \"Mars/X\"", "schedule.timezone"),
        ("[schedule]\ntimezone = \"\"", "schedule.timezone"),
        ("[schedule]\ngc = \"every 1ms\"", "schedule.gc"),
        ("[agent.dev]\nkind = \"claude-code\"\nmodel = \"\"", "agent.dev.model"),
        ("[agent.dev]\nkind = \"claude-code\"\nmax_turns = 0", "agent.dev.max_turns"),
        ("[agent.dev]\nkind = \"codex\"\nbase_url = \"localhost\"", "agent.dev.base_url"),
        ("[agent.dev]\nkind = \"command\"\ncommand = [\"\"]", "agent.dev.command"),
        ("branch = \"a b\"", "branch"),
        ("branch = \"--upload-pack=x\"", "branch"),
        ("[dispatch]\nbranch_prefix = \"$(x)/\"", "dispatch.branch_prefix"),
        ("[agent.dev]\nkind = \"demo\"\nenv = { MY_API_KEY = \"sk-1\" }", "agent.dev.env.MY_API_KEY"),
        ("[agent.dev]\nkind = \"command\"", "agent.dev.command"),
        ("[agent.dev]\nkind = \"command\"\ncommand = []", "agent.dev.command"),
        ("[agent.critic]\nkind = \"demo\"\ncommand = \"x\"", "agent.critic.command"),
        ("[agent.dev]\nkind = \"claude-code\"\ncommand = \"x\"", "agent.dev.command"),
        ("[agent.dev]\nkind = \"demo\"\nmodel = \"x\"", "agent.dev.model"),
        ("[agent.dev]\nkind = \"claude-code\"\nbase_url = \"x\"", "agent.dev.base_url"),
        ("[agent.dev]\nkind = \"codex\"\nmax_turns = 1", "agent.dev.max_turns"),
        ("[agent.dev]\nkind = \"acp\"", "agent.dev.command"),
        ("[agent.dev]\nkind = \"acp\"\ncommand = \"x\"\nmodel = \"m\"", "agent.dev.model"),
        (
            "[agent.dev]\nkind = \"acp\"\ncommand = \"x\"\npermission_mode = \"plan\"",
            "agent.dev.permission_mode",
        ),
        ("[agent.dev]\nkind = \"command\"\ncommand = \"x\"\nkeep_warm = \"1m\"", "agent.dev.keep_warm"),
    ] {
        let fault = fault(text);
        assert!(fault.what.contains(&format!("`{key}`")), "{text}: {fault:?}");
    }
}

#[test]
fn a_refusal_says_the_value_and_what_is_allowed() {
    for (text, said) in [
        ("[dispatch]\nparallel = 100000000", "`dispatch.parallel` must be at most 1000; it is 100000000"),
        (
            "[ci]\nkeep = [\"../../x\"]",
            "`ci.keep` must be a folder inside the checkout, such as \"target\"; it is `../../x`",
        ),
        (
            "[labels]\nbacklog = \"\"",
            "`labels.backlog` must be a short name of one line without commas; it is empty",
        ),
        (
            "[schedule]\ntimezone = \"Mars/X\"",
            "`schedule.timezone` must be a time zone, such as \"UTC\" or \"Europe/Berlin\"; it is `Mars/X`",
        ),
    ] {
        assert_eq!(fault(text).what, said);
    }
}

#[test]
fn the_daemon_wants_a_build_and_an_agent() {
    let missing = |text: &str| Config::parse(text).unwrap().settings(place()).unwrap_err().what;
    assert!(missing("[agent.dev]\nkind = \"demo\"").contains("`ci.command`"));
    assert!(missing("[ci]\ncommand = \"make\"").contains("`agent.dev`"));
    let whole = Config::parse("[ci]\ncommand = \"make\"\n[agent.dev]\nkind = \"command\"\ncommand = \"a b\"");
    let settings = whole.unwrap().settings(place()).unwrap();
    let argv = vec!["sh".to_owned(), "-c".to_owned(), "a b".to_owned()];
    assert_eq!(settings.dev.kind, AgentKind::Command { argv });
    assert_eq!(settings.critic.kind, settings.dev.kind);
}

#[test]
fn claude_code_has_keys_of_its_own() {
    let read = |keys: &str| {
        let text = format!("[ci]\ncommand = \"make\"\n[agent.dev]\nkind = \"claude-code\"\n{keys}");
        Config::parse(&text).unwrap().settings(place()).unwrap().dev.kind
    };
    assert_eq!(read(""), AgentKind::ClaudeCode(ClaudeOptions::default()));
    let keys = "binary = \"/opt/claude\"\nmodel = \"m\"\npermission_mode = \"auto\"\nmax_turns = 9\nkeep_warm = \"1m\"\nterminal = \"none\"";
    let options = ClaudeOptions {
        binary: "/opt/claude".into(),
        model: Some("m".into()),
        permission_mode: "auto".into(),
        max_turns: Some(9),
        keep_warm_ms: 60_000,
        screen: Screen::None,
    };
    assert_eq!(read(keys), AgentKind::ClaudeCode(options));
    let seen = ClaudeOptions { screen: Screen::Tmux, ..ClaudeOptions::default() };
    assert_eq!(read("terminal = \"tmux\""), AgentKind::ClaudeCode(seen));
    let both = "[agent.dev]\nkind = \"claude-code\"\nterminal = \"tmux\"\nmax_turns = 9";
    assert!(fault(both).what.contains("`agent.dev.max_turns` has no meaning"));
}

#[test]
fn codex_and_agents_of_the_protocol_have_keys_of_their_own() {
    let read = |table: &str| {
        let text = format!("[ci]\ncommand = \"make\"\n[agent.dev]\n{table}");
        Config::parse(&text).unwrap().settings(place()).unwrap().dev.kind
    };
    assert_eq!(read("kind = \"codex\""), AgentKind::Codex(CodexOptions::default()));
    let options = CodexOptions {
        binary: "/opt/codex".into(),
        model: Some("m".into()),
        base_url: Some("http://x/v1".into()),
    };
    let keys = "binary = \"/opt/codex\"\nmodel = \"m\"\nbase_url = \"http://x/v1\"";
    assert_eq!(read(&format!("kind = \"codex\"\n{keys}")), AgentKind::Codex(options));
    let acp = "kind = \"acp\"\ncommand = [\"goose\", \"acp\"]";
    let options = AcpOptions::new(vec!["goose".into(), "acp".into()]);
    assert_eq!(read(acp), AgentKind::Acp(options.clone()));
    let options = AcpOptions { permission: Permission::Reject, keep_warm_ms: 60_000, ..options };
    let keys = "permission_mode = \"dontAsk\"\nkeep_warm = \"1m\"";
    assert_eq!(read(&format!("{acp}\n{keys}")), AgentKind::Acp(options));
}

#[test]
fn the_queue_is_told_how_to_plan_and_what_history_to_make() {
    let text =
        "[queue]\npolicy = \"chain\"\nhistory = \"rebase\"\nalarm = \"30m\"\n[timeouts]\nci_start = \"9s\"";
    let policy = Config::parse(text).unwrap().policy();
    let wanted =
        QueueRules { policy: queue::Policy::Chain, history: queue::History::Rebase, alarm: Span::mins(30) };
    assert_eq!((policy.queue, policy.limits.ci_start), (wanted, Span::secs(9)));
}

/// Another value of the same kind.
fn another(key: &keys::Key) -> toml::Value {
    match &key.sample {
        toml::Value::Integer(n) => toml::Value::Integer(n + 1),
        toml::Value::Float(n) => toml::Value::Float(n + 1.0),
        toml::Value::Array(_) => toml::Value::Array(vec!["x".into()]),
        toml::Value::Table(_) => toml::Value::Table(toml::Table::from_iter([("X".into(), "y".into())])),
        toml::Value::String(text) if Span::parse(text).is_ok() => "7s".into(),
        toml::Value::String(text) => match text.as_str() {
            "ladder" => "chain".into(),
            "merge" => "squash".into(),
            text => format!("{text}x").into(),
        },
        other => panic!("{other}"),
    }
}

#[test]
fn a_key_that_changes_at_once_is_taken_by_a_running_factory_and_no_other() {
    let base = "[ci]\ncommand = \"make test\"\n[agent.dev]\nkind = \"demo\"\n";
    let settings = |text: &str| Config::parse(text).unwrap().settings(place()).unwrap();
    // The schedule is kept beside the factory; that it changes at once is seen in `cli::schedule`.
    let others = ["agent.", "keep.", "schedule."];
    let of_factory = |name: &str| name != "name" && !others.iter().any(|table| name.starts_with(table));
    for key in keys::KEYS.iter().filter(|key| of_factory(&key.name)) {
        let (table, name) = key.name.rsplit_once('.').unwrap_or(("", &key.name));
        let assign = format!("{name} = {}\n", another(key));
        let text = match table {
            "" => format!("{assign}{base}"),
            "ci" if name == "command" => base.replace("make test", "another"),
            "ci" => base.replace("[agent", &format!("{assign}[agent")),
            table => format!("{base}[{table}]\n{assign}"),
        };
        let (old, new) = (settings(base), settings(&text));
        let mut running = old.clone();
        running.take_over(&new);
        let wanted = if changes_at_once(&key.name) { &new } else { &old };
        assert_eq!(format!("{running:?}"), format!("{wanted:?}"), "{}", key.name);
        assert_ne!(format!("{old:?}"), format!("{new:?}"), "{} has no effect", key.name);
    }
}

#[test]
fn the_schema_names_every_key_with_its_kind() {
    let schema = file_schema();
    let dispatch = &schema["properties"]["dispatch"];
    assert_eq!(dispatch["properties"]["parallel"]["type"], "integer");
    assert_eq!(dispatch["additionalProperties"], false);
    let timeouts = &schema["properties"]["timeouts"]["properties"];
    assert_eq!(timeouts["session"]["pattern"], "^[0-9]+(ms|s|m|h|d)$");
    let queue = &schema["properties"]["queue"]["properties"];
    assert_eq!(queue["history"]["enum"], serde_json::json!(["merge", "squash", "rebase"]));
    let kind = &schema["properties"]["agent"]["properties"]["dev"]["properties"]["kind"];
    assert!(kind["enum"].as_array().unwrap().contains(&"command".into()), "{kind}");
    assert_eq!(schema["properties"]["budget"]["properties"]["per_issue_usd"]["default"], 5.0);
}

#[test]
fn what_init_writes_is_read_back() {
    let choices = Choices {
        name: "a \"b\" \\ c".into(),
        branch: "main".into(),
        ci: Some("cargo test -- \"x y\" 'z'".into()),
        agent: AgentChoice::parse("command: my-agent \"$HOME\"").ok(),
    };
    let config = Config::parse(&choices.file()).unwrap();
    assert_eq!((config.name, config.ci.command), (Some(choices.name.clone()), choices.ci.clone()));
    assert_eq!(config.agent.dev.unwrap().command, Some(Argv::Shell("my-agent \"$HOME\"".into())));
    for (said, kind) in [("codex", Kind::Codex), ("acp:goose acp", Kind::Acp)] {
        let choices = Choices { agent: AgentChoice::parse(said).ok(), ..choices.clone() };
        assert_eq!(Config::parse(&choices.file()).unwrap().agent.dev.unwrap().kind, kind);
    }
    let bare = Choices { ci: None, agent: None, ..choices };
    let config = Config::parse(&bare.file()).unwrap();
    assert_eq!((config.ci.command, config.agent.dev), (None, None));
    assert!(AgentChoice::parse("claude").is_err() && AgentChoice::parse("command:").is_err());
}
