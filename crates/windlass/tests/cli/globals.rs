//! Flags that every command knows: --jq, --plain, --dry-run, --timeout, and the width of a table.

use crate::common::{Machine, Ran, listing};

fn with_issues() -> Machine {
    let machine = Machine::with_project();
    assert_eq!(machine.run(&["new", "sort the list by date and by name"]).code, 0);
    assert_eq!(machine.run(&["new", "short", "--no-backlog"]).code, 0);
    machine
}

#[test]
fn a_jq_program_stands_between_a_view_and_its_reader() {
    let machine = with_issues();
    let said = |program| machine.run(&["issues", "--jq", program]);
    assert_eq!(said(".issues | map(.number) | sort").out, "[1,2]\n");
    assert_eq!(said(".issues[] | select(.number == 2).title").out, "short\n", "a text comes without quotes");
    assert_eq!(machine.run(&["config", "show", "--jq", ".schema"]).out, "windlass.config-show/1\n");
    // Streams, too: record by record.
    let kinds = machine.run(&["events", "--jq", ".seq"]).out;
    let numbers: Vec<i64> = kinds.lines().map(|line| line.parse().unwrap()).collect();
    assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]), "{numbers:?}");
    for (program, code) in [(".[", 2), (".issues.number", 1)] {
        let wrong = said(program);
        assert_eq!((wrong.code, wrong.out.as_str()), (code, ""), "{wrong:?}");
        assert!(wrong.err.contains("\"code\":\"jq\""), "errors are for programs, too: {}", wrong.err);
    }
    assert_eq!(machine.run(&["issues", "--jq", ".", "--plain"]).code, 2);
}

#[test]
fn plain_output_is_a_record_a_line_with_tabs() {
    let machine = with_issues();
    let mut command = machine.command(&["issues", "--plain"]);
    let ran: Ran = command.env("CLICOLOR_FORCE", "1").env("COLUMNS", "20").output().unwrap().into();
    assert!(!ran.out.contains('\u{1b}') && !ran.out.contains('…'), "{}", ran.out);
    let first: Vec<&str> = ran.out.lines().next().unwrap().split('\t').collect();
    assert!(first.contains(&"sort the list by date and by name"), "{first:?}");
}

#[test]
fn tables_fit_the_columns_that_are_given() {
    let machine = with_issues();
    for args in [&["issues"][..], &["schedule"], &["config", "show", "--origin"]] {
        let of = |columns: Option<&str>| -> Ran {
            let mut command = machine.command(args);
            columns.map(|columns| command.env("COLUMNS", columns));
            command.output().unwrap().into()
        };
        let widest = |ran: &Ran| ran.out.lines().map(|line| line.chars().count()).max().unwrap();
        let (whole, narrow) = (of(None), of(Some("32")));
        assert!(widest(&whole) > 32 && widest(&narrow) <= 32, "{args:?}: {whole:?} {narrow:?}");
        assert_eq!(whole.out.lines().count(), narrow.out.lines().count(), "{args:?}");
        // Not letter by letter: some of them tell the time.
        let other = of(Some("no number"));
        assert_eq!((other.code, other.out.lines().count()), (0, whole.out.lines().count()), "{args:?}");
        assert!(widest(&other) > 32, "{args:?}: {other:?}");
    }
}

/// Every command that changes something can be asked what it would do, and then changes nothing.
#[test]
fn a_dry_run_says_what_would_be_done_and_leaves_everything_as_it_was() {
    let machine = with_issues();
    let dump = machine.path("dump.jsonl");
    assert_eq!(machine.run(&["export", dump.to_str().unwrap()]).code, 0);
    let before = || (listing(&machine.state()), listing(&machine.repo()), listing(&machine.path("home")));
    let seen = before();
    let said = machine.run(&["events", "--json"]).out;
    for args in [
        &["new", "another"][..],
        &["comment", "1", "seen"],
        &["label", "1", "+priority"],
        &["close", "1"],
        &["run", "1"],
        &["run", "1", "--watch"],
        &["tell", "1", "hello"],
        &["retry", "1"],
        &["abandon", "1"],
        &["pause"],
        &["resume"],
        &["queue", "pause"],
        &["queue", "resume"],
        &["queue", "front", "1"],
        &["queue", "drop", "1"],
        &["up"],
        &["up", "--foreground"],
        &["down"],
        &["service", "install"],
        &["service", "remove"],
        &["backup", "copy.db"],
        &["export", "all.jsonl"],
        &["import", dump.to_str().unwrap()],
        &["report"],
        &["gc", "--rescued"],
        &["schedule", "run", "gc"],
        &["schedule", "run", "backup"],
        &["schedule", "run", "--due"],
        &["man", "--dir", "pages"],
        &["doctor", "--quick", "--fix"],
    ] {
        let ran = machine.run(&[&["--dry-run"], args].concat());
        assert!(ran.code == 0 || args[0] == "doctor", "{args:?}: {ran:?}");
        assert!(ran.out.contains("would") || ["doctor", "gc"].contains(&args[0]), "{args:?}: {ran:?}");
        assert_eq!(before(), seen, "{args:?}");
    }
    assert_eq!(machine.run(&["events", "--json"]).out, said);
    assert_eq!(machine.json(&["close", "1", "-n"])["dry_run"], true);
    machine.fails(&["close", "9", "-n"], "not-found", 3);
    for args in [&["demo", "-n"][..], &["tick", "-n"], &["top", "-n"]] {
        machine.fails(args, "usage", 2);
    }
    let fresh = Machine::new();
    let ran = fresh.run(&["init", "--yes", "-n"]);
    assert_eq!((ran.code, ran.err.contains("nothing was written")), (0, true), "{ran:?}");
    assert!(!fresh.repo().join("windlass.toml").exists() && !fresh.path("state").exists());
}

#[test]
fn a_follower_lets_go_when_its_time_is_over() {
    let machine = with_issues();
    for args in [&["events", "--follow"][..], &["logs", "--follow"]] {
        let ran = machine.run(&[args, &["--timeout", "150ms"]].concat());
        assert_eq!(ran.code, 8, "{args:?}: {ran:?}");
    }
    machine.fails(&["run", "1", "--timeout", "5m"], "usage", 2);
    assert_eq!(machine.run(&["events", "--timeout", "soon"]).code, 2);
}
