//! Issues from the command line, without a running factory.

use std::io::Write;
use std::process::Stdio;

use crate::common::Machine;
use serde_json::json;

#[test]
fn an_issue_is_written_listed_shown_changed_and_closed() {
    let machine = Machine::with_project();
    let ran = machine.run(&["new", "retry on 502", "--body", "It gives up.", "--label", "priority"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "#1\n"), "{ran:?}");
    assert!(machine.state().join("inbox/wake").is_file(), "the daemon is told");

    let view = machine.json(&["issues"]);
    let issue = &view["issues"][0];
    assert_eq!(issue["labels"], json!(["backlog", "priority"]));
    assert_eq!((&issue["number"], &issue["state"], &issue["open"]), (&json!(1), &json!(null), &json!(true)));
    let at = issue["created_at"].as_str().unwrap();
    assert!(at.len() == 24 && at.ends_with('Z') && at.as_bytes()[10] == b'T', "{at}");

    assert_eq!(machine.run(&["comment", "1", "seen again"]).code, 0);
    assert_eq!(machine.run(&["comment", "1", "seen again"]).code, 0);
    assert_eq!(machine.run(&["label", "1", "+urgent", "-backlog"]).out, "#1: priority, urgent\n");
    let view = machine.json(&["show", "1"]);
    assert_eq!((&view["body"], &view["labels"]), (&json!("It gives up."), &json!(["priority", "urgent"])));
    let comments = view["comments"].as_array().unwrap();
    assert_eq!(comments.len(), 2, "a person who says it twice means it");
    assert_eq!((&comments[0]["body"], &comments[0]["author"]), (&json!("seen again"), &json!("operator")));

    assert_eq!(machine.run(&["close", "1"]).code, 0);
    assert_eq!(machine.json(&["issues"])["issues"], json!([]));
    assert_eq!(machine.json(&["issues", "--all"])["issues"][0]["open"], false);
    assert_eq!(machine.json(&["issues", "--all", "--label", "nobody"])["issues"], json!([]));
}

#[test]
fn no_backlog_means_no_work() {
    let machine = Machine::with_project();
    let view = machine.json(&["new", "later", "--no-backlog"]);
    assert_eq!((&view["schema"], &view["labels"]), (&json!("windlass.new/1"), &json!([])));
    machine.append_config("[labels]\nbacklog = \"todo\"\n");
    assert_eq!(machine.json(&["new", "now"])["labels"], json!(["todo"]));
    let why = machine.run(&["why", "1"]);
    assert!(why.out.contains("windlass label 1 +todo") && why.out.contains("windlass up"), "{}", why.out);
}

#[test]
fn a_body_may_be_large_and_comes_from_a_file_or_a_pipe() {
    let machine = Machine::with_project();
    let whole = "x".repeat(1 << 20);
    machine.write("body.md", &whole);
    let ran = machine.run(&["new", "large", "--body-file", "body.md"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(machine.json(&["show", "1"])["body"].as_str().unwrap().len(), 1 << 20);
    machine.write("body.md", &format!("{whole}x"));
    machine.fails(&["new", "too large", "--body-file", "body.md"], "invalid", 2);

    let mut child =
        machine.command(&["new", "piped", "--body-file", "-"]).stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all("line one\nläuft".as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(machine.json(&["show", "2"])["body"], "line one\nläuft");
    std::fs::write(machine.repo().join("body.md"), [0xff, 0xfe]).unwrap();
    machine.fails(&["new", "binary", "--body-file", "body.md"], "invalid", 2);
    machine.fails(&["new", "missing", "--body-file", "none.md"], "not-found", 3);
}

#[test]
fn nothing_that_somebody_wrote_steers_the_terminal() {
    let machine = Machine::with_project();
    let evil = "a\u{1b}]0;owned\u{7}\u{1b}[31mb\u{202e}c\r\nd";
    assert_eq!(machine.run(&["new", evil, "--body", evil, "--label", "x"]).code, 0);
    assert_eq!(machine.run(&["comment", "1", evil]).code, 0);
    for command in [&["issues"][..], &["show", "1"], &["why", "1"], &["status"], &["events"]] {
        let ran = machine.run(command);
        let clean = |c: char| c == '\n' || !(c.is_control() || c == '\u{202e}');
        assert!(ran.code == 0 && ran.out.chars().all(clean), "{command:?}: {:?}", ran.out);
    }
    assert_eq!(machine.json(&["show", "1"])["title"].as_str().unwrap().lines().count(), 1);
}

#[test]
fn what_is_not_there_is_said() {
    let machine = Machine::with_project();
    machine.fails(&["show", "7"], "not-found", 3);
    machine.fails(&["why", "7"], "not-found", 3);
    machine.fails(&["tell", "7", "hello"], "not-found", 3);
    machine.fails(&["retry", "7"], "not-found", 3);
    machine.fails(&["abandon", "7"], "not-found", 3);
    machine.fails(&["close", "7"], "not-found", 3);
    machine.fails(&["comment", "7", "x"], "not-found", 3);
    machine.fails(&["label", "7", "+x"], "not-found", 3);
    machine.fails(&["logs", "7"], "not-found", 3);
    assert_eq!(machine.run(&["new", "one"]).code, 0);
    machine.fails(&["logs", "1"], "no-task", 3);
    machine.fails(&["new", " \n"], "invalid", 2);
    machine.fails(&["new", "x", "--label", "a,b"], "invalid", 2);
    assert!(machine.fails(&["label", "1", "x"], "usage", 2).err.contains("label N +x"));
    assert!(machine.fails(&["label", "1", "+"], "usage", 2).err.contains("label N +name"));
    machine.fails(&["tell", "1", " "], "invalid", 2);
    machine.fails(&["comment", "1", ""], "invalid", 2);
}

#[test]
fn without_a_daemon_commands_are_kept_for_it() {
    let machine = Machine::with_project();
    assert_eq!(machine.run(&["new", "one"]).code, 0);
    let view = machine.json_with(&["tell", "1", "hello"], 5);
    assert_eq!((&view["schema"], &view["status"]), (&json!("windlass.answer/1"), &json!("waiting")));
    let ran = machine.run(&["pause"]);
    assert_eq!((ran.code, ran.out.as_str()), (5, "will be carried out when the factory is up\n"));
    assert_eq!(machine.json(&["status"])["commands_waiting"], 2);
}

#[test]
fn what_was_exported_can_be_read_back_into_a_new_state_and_into_no_other() {
    let machine = Machine::with_project();
    for args in
        [&["new", "one", "--body", "text"][..], &["comment", "1", "said"], &["new", "two"], &["pause"]]
    {
        assert!([0, 5].contains(&machine.run(args).code), "{args:?}");
    }
    assert_eq!(machine.run(&["export", "all.jsonl"]).code, 0);
    let refused = machine.fails(&["import", "all.jsonl"], "exists", 1);
    assert!(refused.err.contains("--state DIR"), "{}", refused.err);
    let fresh = Machine::with_project();
    std::fs::copy(machine.repo().join("all.jsonl"), fresh.repo().join("all.jsonl")).unwrap();
    let good = std::fs::read_to_string(fresh.repo().join("all.jsonl")).unwrap();
    let lines: Vec<&str> = good.lines().collect();
    let without = |from: usize, to: usize| [&lines[..from], &lines[to..]].concat().join("\n");
    for (bad, line) in [
        // As a full disk or a kill leaves it; and one whose middle is gone.
        (without(lines.len() - 1, lines.len()).as_str(), "it was cut off"),
        (&without(3, lines.len()), "it was cut off"),
        (&without(2, 3), "rows were written"),
        ("", "line 1"),
        ("{}\n", "line 1"),
        (&good.replace("\"version\":", "\"version\":9"), "line 1"),
        (&good.replace("\"table\":\"command\"", "\"table\":\"nonsense\""), "no table"),
        (&format!("{good}{{broken"), "line"),
    ] {
        fresh.write("bad.jsonl", bad);
        let ran = fresh.fails(&["import", "bad.jsonl"], "invalid", 1);
        assert!(ran.err.contains(line) && ran.err.contains("nothing was changed"), "{}", ran.err);
        assert_eq!(fresh.json(&["issues"])["issues"], json!([]), "nothing of it was kept");
    }
    assert_eq!(fresh.run(&["import", "all.jsonl"]).code, 0);
    assert_eq!(fresh.run(&["export"]).out, good, "row by row the same");
    assert_eq!(fresh.json(&["show", "1"])["comments"][0]["body"], "said");
    assert_eq!(fresh.json(&["status"])["commands_waiting"], 1);
    assert_eq!(fresh.json(&["new", "three"])["number"], 3);
}

#[test]
fn backup_and_export_hold_everything_and_overwrite_nothing() {
    let machine = Machine::with_project();
    assert_eq!(machine.run(&["new", "kept"]).code, 0);
    assert_eq!(machine.run(&["backup", "copy.db"]).code, 0);
    machine.fails(&["backup", "copy.db"], "exists", 1);
    let copied = std::fs::read(machine.repo().join("copy.db")).unwrap();
    assert!(copied.windows(4).any(|word| word == b"kept"));
    assert_eq!(machine.run(&["export", "all.jsonl"]).code, 0);
    machine.fails(&["export", "all.jsonl"], "exists", 1);
    let piped = machine.run(&["export", "-"]);
    let filed = std::fs::read_to_string(machine.repo().join("all.jsonl")).unwrap();
    assert_eq!(piped.out, filed);
    assert!(filed.contains("\"schema\":\"windlass.export/1\"") && filed.contains("kept"), "{filed}");
    let left = std::fs::read_dir(machine.repo()).unwrap().map(|entry| entry.unwrap().file_name());
    let left: Vec<_> = left.filter(|name| name.to_string_lossy().contains(".part-")).collect();
    assert!(left.is_empty(), "{left:?}");
}
