//! Who is heard in which order, what a repository may not do, and how mistakes are said.

use serde_json::{Value, json};

use crate::common::{Machine, Ran};

const PROJECT: &str = "[ci]\ncommand = \"true\"\n[agent.dev]\nkind = \"demo\"\n";

fn project(more: &str) -> Machine {
    let machine = Machine::new();
    machine.commit_config(&format!("{PROJECT}{more}"));
    assert_eq!(machine.run(&["init", "--yes"]).code, 0);
    machine
}

fn value(machine: &Machine, args: &[&str], env: &[(&str, &str)], key: &str) -> Value {
    let mut command = machine.command(&[args, &["config", "show", "--json"]].concat());
    let done = command.envs(env.iter().copied()).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let view: Value = serde_json::from_slice(&done.stdout).unwrap();
    let found = view["values"].as_array().unwrap().iter().find(|value| value["key"] == key);
    found.unwrap_or_else(|| panic!("no {key} in {view}")).clone()
}

#[test]
fn the_nearest_word_is_heard_first() {
    let machine = project("");
    let key = "dispatch.max_open_changes";
    let heard = |machine: &Machine, args: &[&str], env: &[(&str, &str)]| {
        let value = value(machine, args, env, key);
        (value["value"].clone(), value["origin"].as_str().unwrap().to_owned())
    };
    assert_eq!(heard(&machine, &[], &[]), (json!(6), "default".into()));
    machine.write_user_config("[dispatch]\nmax_open_changes = 9\n");
    assert_eq!(heard(&machine, &[], &[]), (json!(9), "user".into()));
    machine.commit_config(&format!("{PROJECT}[dispatch]\nmax_open_changes = 8\n"));
    assert_eq!(heard(&machine, &[], &[]), (json!(8), "project".into()));
    machine.write("windlass.local.toml", "[dispatch]\nmax_open_changes = 12\n");
    assert_eq!(heard(&machine, &[], &[]), (json!(12), "local".into()));
    let env = [("WINDLASS__DISPATCH__MAX_OPEN_CHANGES", "13")];
    assert_eq!(heard(&machine, &[], &env), (json!(13), "env".into()));
    let flag = ["--set", "dispatch.max_open_changes=14"];
    assert_eq!(heard(&machine, &flag, &env), (json!(14), "flag".into()));
    let shown = machine.run(&["config", "show", "--origin"]).out;
    let line = shown.lines().find(|line| line.starts_with(key)).unwrap();
    assert!(line.contains("12") && line.contains("local") && line.ends_with("windlass.local.toml"), "{line}");
    assert_eq!(machine.run(&["config", "get", key]).out, "12\n");
    assert_eq!(machine.run(&["config", "get", "timeouts.session"]).out, "2h\n");
}

#[test]
fn a_whole_table_is_heard_key_by_key() {
    let machine = Machine::new();
    let agent = "[agent.dev]\nkind = \"claude-code\"\nmodel = \"m\"\nenv = { A = \"1\" }\n";
    machine.commit_config(&format!("[ci]\ncommand = \"true\"\n{agent}"));
    assert_eq!(machine.run(&["init", "--yes"]).code, 0);
    let rows = |args: &[&str], env: &[(&str, &str)]| {
        let mut command = machine.command(&[args, &["config", "show", "--json"]].concat());
        let done = command.envs(env.iter().copied()).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        let view: Value = serde_json::from_slice(&done.stdout).unwrap();
        let of_agent = |row: &&Value| row["key"].as_str().unwrap().starts_with("agent.");
        let row = |row: &Value| (row["key"].as_str().unwrap().to_owned(), row["value"].clone());
        view["values"].as_array().unwrap().iter().filter(of_agent).map(row).collect::<Vec<_>>()
    };
    let row = |key: &str, value: Value| (key.to_owned(), value);
    let other = [row("agent.dev.kind", json!("command")), row("agent.dev.command", json!("X"))];
    let table = "{kind=\"command\",command=\"X\"}";
    assert_eq!(rows(&["--set", &format!("agent.dev={table}")], &[]), other);
    assert_eq!(rows(&["--set", &format!("agent={{dev={table}}}")], &[]), other);
    assert_eq!(rows(&[], &[("WINDLASS__AGENT__DEV", table)]), other);
    machine.write("windlass.local.toml", "[agent.dev]\nkind = \"command\"\ncommand = \"X\"\n");
    assert_eq!(rows(&[], &[]), other, "another kind begins the table anew");
    std::fs::remove_file(machine.repo().join("windlass.local.toml")).unwrap();
    let same = rows(&["--set", "agent.dev={kind=\"claude-code\",binary=\"/b\"}"], &[]);
    assert!(same.contains(&row("agent.dev.model", json!("m"))), "{same:?}");
    assert!(same.contains(&row("agent.dev.binary", json!("/b"))), "{same:?}");
    let joined = rows(&["--set", "agent.dev.env.B=two"], &[]);
    assert!(joined.contains(&row("agent.dev.env", json!({ "A": "1", "B": "two" }))), "{joined:?}");
}

/// Whatever is set, all of it is looked at together, in either order.
#[test]
fn values_that_make_sense_only_together_are_taken_together() {
    let machine = Machine::with_project();
    let pairs = [
        ("agent.dev.kind", "acp", "agent.dev.command", "true"),
        ("liveness.context_watch_percent", "95", "liveness.context_full_percent", "98"),
    ];
    for (one, first, other, second) in pairs {
        let (first, second) = (format!("{one}={first}"), format!("{other}={second}"));
        for flags in [[&first, &second], [&second, &first]] {
            let args = ["--set", flags[0], "--set", flags[1], "config", "check"];
            let ran = machine.run(&args);
            assert_eq!(ran.code, 0, "{args:?}: {ran:?}");
        }
        let alone = machine.fails(&["--set", &first, "--set", "ci.slots=2", "config", "check"], "config", 9);
        let title = format!("`--set {first}` is not valid");
        assert!(alone.err.contains(&title), "{}", alone.err);
        let variable = |key: &str| format!("WINDLASS__{}", key.to_uppercase().replace('.', "__"));
        let (_, value) = second.split_once('=').unwrap();
        let mut command = machine.command(&["config", "check"]);
        let (_, known) = first.split_once('=').unwrap();
        let done = command.env(variable(other), value).env(variable(one), known).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }
    let both =
        ["--set", "labels.blocked=x", "--set", "ci.slots=2", "--set", "labels.backlog=x", "config", "check"];
    let said = machine.fails(&both, "config", 9).err;
    assert!(said.contains("`--set labels.blocked=x` with `--set labels.backlog=x` is not valid"), "{said}");
}

#[test]
fn a_repository_may_tighten_the_limits_of_the_host_and_never_loosen_them() {
    let machine = project(
        "[dispatch]\nparallel = 50\n[budget]\nper_issue_usd = 1.5\n[guards]\nmin_free_memory_mb = 1\n\
         min_free_disk_mb = 9000\n",
    );
    let seen = |key: &str| {
        let value = value(&machine, &[], &[], key);
        (value["value"].clone(), value["refused"].clone())
    };
    assert_eq!(seen("dispatch.parallel"), (json!(50), Value::Null), "the host says nothing");
    machine.write_user_config(
        "[dispatch]\nparallel = 2\n[budget]\nper_issue_usd = 4\n[guards]\nmin_free_memory_mb = 500\n\
         min_free_disk_mb = 100\n",
    );
    assert_eq!(seen("dispatch.parallel"), (json!(2), json!(50)));
    assert_eq!(seen("budget.per_issue_usd"), (json!(1.5), Value::Null), "tighter is fine");
    assert_eq!(seen("guards.min_free_memory_mb"), (json!(500), json!(1)));
    assert_eq!(seen("guards.min_free_disk_mb"), (json!(9000), Value::Null));
    assert_eq!(machine.json(&["status"])["working"]["slots"], 2);
    let shown = machine.run(&["config", "show", "--origin"]).out;
    assert!(shown.contains("(the project wants 50; the host allows no more)"), "{shown}");
    let mut own = machine.command(&["config", "get", "dispatch.parallel"]);
    let own = own.env("WINDLASS__DISPATCH__PARALLEL", "7").output().unwrap();
    assert_eq!(String::from_utf8_lossy(&own.stdout), "7\n", "the person at the machine may");
}

#[test]
fn only_the_file_on_the_main_branch_counts() {
    let machine = project("[dispatch]\nparallel = 2\n");
    let slots = || machine.json(&["status"])["working"]["slots"].clone();
    machine.write("windlass.toml", &format!("{PROJECT}[dispatch]\nparallel = 9\n"));
    assert_eq!(slots(), 2, "what is not committed does not count");
    let note = machine.json(&["status"])["config"]["note"].as_str().unwrap().to_owned();
    assert!(note.contains("differs from the one on `main`"), "{note}");
    assert!(machine.run(&["status"]).out.contains("only that one counts"));
    let check = machine.run(&["config", "check"]);
    assert!(check.code == 0 && check.err.contains("differs"), "{check:?}");
    machine.git(&["checkout", "-q", "-b", "agent"]);
    machine.git(&["commit", "-q", "-a", "-m", "more for me"]);
    assert_eq!(slots(), 2, "another branch cannot change its own rules");
    machine.git(&["rm", "-q", "windlass.toml"]);
    assert_eq!(slots(), 2, "nor by removing the file");
    machine.git(&["commit", "-q", "-m", "gone"]);
    assert_eq!(slots(), 2);
    machine.git(&["checkout", "-q", "-B", "main", "agent~1"]);
    assert_eq!(slots(), 9, "what is on main counts");
    assert_eq!(machine.json(&["status"])["config"]["note"], Value::Null);
}

#[test]
fn the_first_file_counts_before_it_is_committed_unless_a_branch_brought_it() {
    let machine = Machine::with_project();
    let ran = machine.run(&["config", "check"]);
    assert!(ran.code == 0 && ran.err.contains("in no commit yet"), "{ran:?}");
    machine.git(&["checkout", "-q", "-b", "side"]);
    machine.git(&["add", "windlass.toml"]);
    machine.git(&["commit", "-q", "-m", "configure"]);
    let ran = machine.fails(&["status"], "config", 9);
    assert!(ran.err.contains("no `windlass.toml` on `main`"), "{}", ran.err);
    machine.git(&["branch", "-f", "main", "side"]);
    assert_eq!(machine.run(&["status"]).code, 0);
}

#[test]
fn a_local_file_from_a_commit_is_refused() {
    let machine = project("");
    machine.write("windlass.local.toml", "[dispatch]\nparallel = 99\n");
    assert_eq!(machine.json(&["status"])["working"]["slots"], 99);
    machine.git(&["add", "windlass.local.toml"]);
    machine.git(&["commit", "-q", "-m", "smuggled"]);
    let ran = machine.fails(&["status"], "config", 9);
    assert!(ran.err.contains("git rm --cached"), "{}", ran.err);
}

#[test]
fn mistakes_are_named_with_their_place_wherever_they_are() {
    let machine = project("");
    let bad = |args: &[&str], env: &[(&str, &str)], said: &[&str]| {
        let done = machine.command(args).envs(env.iter().copied()).output().unwrap();
        let err = String::from_utf8_lossy(&done.stderr).into_owned();
        assert_eq!(done.status.code(), Some(9), "{args:?} {env:?}: {err}");
        for part in said {
            assert!(err.contains(part), "no `{part}` in {err}");
        }
    };
    bad(
        &["status"],
        &[("WINDLASS__DISPATCH__PARALEL", "2")],
        &["`WINDLASS__DISPATCH__PARALEL`", "`parallel`"],
    );
    bad(&["status"], &[("WINDLASS__DISPATCH__PARALLEL", "many")], &["a whole number from 0 to 4294967295"]);
    bad(&["status"], &[("WINDLASS__TIMEOUTS__SESSION", "soon")], &["`soon` is not a duration"]);
    bad(&["--set", "ci.slots=0", "status"], &[], &["`--set ci.slots=0`", "must be at least 1"]);
    bad(&["--set", "nonsense=1", "status"], &[], &["there is no key `nonsense`"]);
    bad(
        &["--set", "queue.policy=ladda", "status"],
        &[],
        &[
            "`queue.policy` must be one of serial, batch, chain, ladder; it is `ladda`",
            "did you mean `ladder`?",
        ],
    );
    bad(
        &["--set", "dispatch.parallel=99999999999999999999", "status"],
        &[],
        &["`dispatch.parallel` must be a smaller number; it is 99999999999999999999"],
    );
    bad(&["--set", "ci.keep=[\"../../x\"]", "config", "check"], &[], &["`ci.keep`", "inside the checkout"]);
    machine.write("windlass.local.toml", "[agent.dev]\nenv = { A_KEY = \"env:NOT_THERE\" }\n");
    let missing = machine.fails(&["config", "check"], "no-secret", 4);
    assert!(missing.err.contains("windlass.local.toml` is missing"), "{}", missing.err);
    std::fs::remove_file(machine.repo().join("windlass.local.toml")).unwrap();
    machine.write_user_config("[budget]\n\nper_issue_usd = \"5 $\"\n");
    bad(&["status"], &[], &["config.toml`, line 3", "a number such as 5.00 is wanted"]);
    machine.write_user_config("");
    machine.write("windlass.local.toml", "[guards]\nmin_free_disk_mb = -1\n");
    bad(&["status"], &[], &["windlass.local.toml`, line 2", "a whole number"]);
    std::fs::remove_file(machine.repo().join("windlass.local.toml")).unwrap();
    let usage = machine.run(&["--set", "novalue", "status"]);
    assert!(usage.code == 2 && usage.err.contains("names no value"), "{usage:?}");
}

#[test]
fn files_that_cannot_be_meant_are_refused_clearly() {
    let machine = Machine::with_project();
    let good = std::fs::read_to_string(machine.repo().join("windlass.toml")).unwrap();
    let huge = format!("{good}{}", "# x\n".repeat(10 << 18));
    for (text, said) in [
        (format!("{good}\0"), "it contains a NUL byte"),
        (huge, "larger than 1 MB"),
        (format!("{good}[dispatch]\nparallel = 99999999999999999999\n"), "line"),
        (format!("{good}[dispatch]\nparallel = 4294967296\n"), "a whole number from 0 to 4294967295"),
        (format!("{good}[dispatch]\nparallel = -3\n"), "a whole number from 0 to 4294967295"),
        (format!("{good}[dispatch]\nparallel = 2.5\n"), "a whole number"),
        (format!("{good}[budget]\nper_issue_usd = -1\n"), "must be a sum of money"),
        (format!("{good}[budget]\nper_issue_usd = 1e300\n"), "must be a sum of money"),
        (format!("{good}[timeouts]\nsession = \"999999999999999999d\"\n"), "is not a duration"),
        (format!("{good}[labels]\nbacklog = 7\n"), "a text in quotes is wanted"),
        (format!("{good}[timeouts]\nsession = 5\n"), "a text in quotes is wanted"),
        (format!("dispatch = 3\n{good}"), "a table is wanted"),
    ] {
        machine.write("windlass.toml", &text);
        for args in [&["status"][..], &["config", "check"], &["up"]] {
            let ran = machine.fails(args, "config", 9);
            assert!(ran.err.contains(said), "no `{said}` in {}", ran.err);
        }
    }
    machine.write("windlass.toml", &good);
    assert_eq!(machine.run(&["status"]).code, 0, "and nothing was lost");
}

#[test]
fn a_value_is_set_for_this_machine_alone_if_it_is_valid() {
    let machine = project("[dispatch]\nparallel = 2\n");
    let file = machine.repo().join("windlass.local.toml");
    let set = |key: &str, value: &str| machine.run(&["config", "set", key, value]);
    let dry = machine.run(&["config", "set", "dispatch.parallel", "4", "--dry-run"]);
    assert!(dry.code == 0 && !file.exists(), "{dry:?}");
    machine.write("windlass.local.toml", "# mine\n[dispatch]\nparallel = 3 # few\n");
    let ran = set("dispatch.parallel", "4");
    assert!(ran.code == 0 && ran.err.contains(".gitignore"), "{ran:?}");
    assert_eq!(set("agent.dev.env.A", "x y").code, 0);
    assert_eq!(set("ci.keep", "[\"target\"]").code, 0);
    let text = "# mine\n[dispatch]\nparallel = 4 # few\n\n[agent.dev.env]\nA = \"x y\"\n\n[ci]\nkeep = [\"target\"]\n";
    assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
    assert_eq!(machine.run(&["config", "get", "dispatch.parallel"]).out, "4\n");
    for (key, value, said) in [
        ("dispatch.parallel", "0", "must be at least 1"),
        ("dispatch.paralel", "4", "did you mean `parallel`?"),
        ("queue.policy", "x", "must be one of"),
        ("ci.keep", "[\"/x\"]", "inside the checkout"),
    ] {
        let ran = machine.fails(&["config", "set", key, value], "config", 9);
        assert!(ran.err.contains(said), "{}", ran.err);
    }
    machine.fails(&["config", "set", "dispatch", "{ parallel = 1, poll = \"1s\" }"], "usage", 2);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), text, "a refusal changes nothing");
    let mut over = machine.command(&["config", "set", "dispatch.parallel", "5"]);
    let over: Ran = over.env("WINDLASS__DISPATCH__PARALLEL", "7").output().unwrap().into();
    assert!(over.err.contains("`WINDLASS__DISPATCH__PARALLEL` is heard before it and says 7"), "{over:?}");
    machine.write("windlass.local.toml", "dispatch = { parallel = 3 }\r\n");
    assert_eq!(set("dispatch.parallel", "4").code, 0);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "dispatch = { parallel = 4 }\r\n");
    machine.write("windlass.local.toml", "dispatch = 3\n");
    machine.fails(&["config", "set", "dispatch.parallel", "4"], "by-hand", 1);
}

#[test]
fn one_value_and_the_schemas_can_be_asked_for() {
    let machine = project("");
    let ran = machine.fails(&["config", "get", "dispatch.paralel"], "no-key", 3);
    assert!(ran.err.contains("did you mean `dispatch.parallel`?"), "{}", ran.err);
    machine.fails(&["config", "get", "name"], "not-set", 3);
    let schema: Value = serde_json::from_str(&machine.run(&["config", "schema"]).out).unwrap();
    assert_eq!(schema["properties"]["ci"]["properties"]["slots"]["default"], 2);
    let status = machine.run(&["config", "schema", "--output", "status"]);
    let schema: Value = serde_json::from_str(&status.out).unwrap();
    assert!(schema["properties"]["needs_you"].is_object(), "{schema}");
    for name in windlass::schemas().keys() {
        assert_eq!(machine.run(&["config", "schema", "--output", name]).code, 0, "{name}");
    }
    let ran = machine.fails(&["config", "schema", "--output", "weather"], "not-found", 3);
    assert!(ran.err.contains("status"), "{}", ran.err);
}
