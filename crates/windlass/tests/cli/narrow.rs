//! What people read on a narrow screen: nothing is wider than it, and nothing useful is cut off.

use crate::common::{Machine, Ran};
use crate::memory::filled;
use crate::needs::with_each_kind;

fn shown(machine: &Machine, args: &[&str], columns: usize) -> String {
    let ran: Ran = machine.command(args).env("COLUMNS", columns.to_string()).output().unwrap().into();
    assert_eq!(ran.code, 0, "{args:?}: {ran:?}");
    for line in ran.out.lines() {
        assert!(line.chars().count() <= columns, "{args:?} at {columns}: `{line}`");
    }
    ran.out
}

/// Without its breaks.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn the_deadline_of_a_task_is_seen_on_a_screen_of_eighty_columns() {
    let machine = Machine::with_project();
    let store = filled(&machine);
    let text = shown(&machine, &["status"], 80);
    for part in [
        "the agent works on the issue",
        "its active time is spent in ",
        "CI is late and you are asked in ",
        "red or blue?",
        "waits in the merge queue",
        "-> windlass tell 2",
    ] {
        assert!(text.contains(part), "no `{part}` in\n{text}");
    }
    for columns in [20, 32, 60] {
        let text = words(&shown(&machine, &["status"], columns));
        for part in ["RUNNING", "#3", "its active time is spent in", "TODAY 1 merged", "HOST memory"] {
            assert!(text.contains(part), "no `{part}` at {columns} in\n{text}");
        }
    }
    let wide = shown(&machine, &["status"], 300);
    let line = wide.lines().find(|line| line.contains("RUNNING")).unwrap();
    assert!(line.contains("dev-1.1-1") && line.contains("its active time is spent in"), "{wide}");
    drop(store);
}

#[test]
fn what_needs_a_person_and_why_fit_every_screen() {
    let machine = with_each_kind();
    for columns in [20, 40, 80] {
        for (args, parts) in [
            (&["inbox"][..], &["red or blue?", "windlass tell 1", "it is abandoned and its work kept"][..]),
            (&["status"], &["NEEDS YOU 9", "red or blue?", "windlass schedule run backup"]),
            (&["why", "1"], &["windlass tell 1", "asks: red or blue?"]),
            (&["plan"], &["an issue is abandoned at $5.00", "only an abandoned one can be tried again"]),
            (&["queue"], &["the queue is paused: main is red", "oldest ready", "of changes fail on main"]),
            (&["gc", "--dry-run"], &[]),
        ] {
            let text = words(&shown(&machine, args, columns));
            for part in parts {
                assert!(text.contains(part), "no `{part}` at {columns} in\n{text}");
            }
        }
    }
}

/// What to do about it stands at the end of the line.
#[test]
fn the_remedies_of_the_doctor_are_not_cut_off() {
    let machine = Machine::with_project();
    for columns in [20, 80] {
        let flag = ["--set", "guards.min_free_disk_mb=999999999", "doctor", "--quick"];
        let ran: Ran = machine.command(&flag).env("COLUMNS", columns.to_string()).output().unwrap().into();
        assert!(ran.out.lines().all(|line| line.chars().count() <= columns), "{}", ran.out);
        let text = words(&ran.out);
        assert!(text.contains("below the guard of 999999999: nothing new is started -> free some"), "{text}");
    }
    let plain = machine.run(&["doctor", "--quick", "--plain"]).out;
    assert!(plain.lines().next().unwrap().starts_with("ok\tgit\t"), "{plain}");
}
