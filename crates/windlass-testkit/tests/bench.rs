//! The benchmarks' own logic: goals, shapes, tables and the command line. Nothing is measured here.

#[path = "../src/bench/figures.rs"]
mod figures;
#[path = "../src/bench/sheet.rs"]
mod sheet;
#[path = "../src/bench/stats.rs"]
mod stats;

use std::process::{Command, Output};
use std::time::Duration;

use serde_json::json;
use sheet::{Op, Sheet};

fn sample() -> Sheet {
    let mut sheet = Sheet::new("sample");
    sheet.figure_with_goal("ratio", 2.0, Op::AtMost, 2.0, "one over the other");
    sheet.figure_with_goal("rate", 7.9994, Op::AtLeast, 8.0, "per second");
    sheet.figure("files", 2_000.0, "said, not judged");
    let mut part = Sheet::new("part");
    part.figure_with_goal("size", 24.9, Op::Below, 25.0, "of the program");
    sheet.append(part);
    sheet
}

#[test]
fn a_goal_is_met_as_its_sign_says() {
    for (op, below, equal, above) in
        [(Op::AtMost, true, true, false), (Op::AtLeast, false, true, true), (Op::Below, true, false, false)]
    {
        let held = [1.9, 2.0, 2.1].map(|measured| op.holds(measured, 2.0));
        assert_eq!(held, [below, equal, above], "{}", op.sign());
        assert!(!op.holds(f64::NAN, 2.0), "what could not be measured meets no goal");
    }
}

#[test]
fn one_missed_goal_is_enough() {
    let mut sheet = sample();
    let met: Vec<bool> = sheet.goals.iter().map(|goal| sheet.met(goal)).collect();
    assert_eq!((met.as_slice(), sheet.all_met()), ([true, false, true].as_slice(), false));
    sheet.figures[1].value = 8.0;
    assert!(sheet.all_met());
    sheet.figures.remove(0);
    assert!(!sheet.all_met(), "a goal without its figure is missed");
}

#[test]
fn the_json_has_the_agreed_shape() {
    let expected = json!({
        "schema": "windlass.bench/1",
        "bench": "sample",
        "figures": {"ratio": 2.0, "rate": 7.999, "files": 2000.0, "size": 24.9},
        "goals": [
            {"figure": "ratio", "op": "<=", "value": 2.0, "met": true},
            {"figure": "rate", "op": ">=", "value": 8.0, "met": false},
            {"figure": "size", "op": "<", "value": 25.0, "met": true},
        ],
    });
    assert_eq!(sample().json(), expected);
}

#[test]
fn people_see_a_table() {
    insta::assert_snapshot!(sample().table(), @r"
    ratio           2  <= 2 met          one over the other
    rate        7.999  >= 8 MISSED       per second
    files        2000                    said, not judged
    size         24.9  < 25 met          of the program
    ");
}

#[test]
fn the_readme_changes_between_its_markers_only() {
    let table = figures::table(&[sample().json()]);
    let before = "# Title\n<!-- figures:begin -->\nold\n<!-- figures:end -->\nrest\n";
    let after = figures::replace(before, &table).unwrap();
    insta::assert_snapshot!(after, @r"
    # Title
    <!-- figures:begin -->
    | bench | figure | measured | goal | met |
    |---|---|---:|---:|---|
    | sample | `ratio` | 2.0 | <= 2.0 | yes |
    | sample | `rate` | 7.999 | >= 8.0 | no |
    | sample | `size` | 24.9 | < 25.0 | yes |
    <!-- figures:end -->
    rest
    ");
    assert_eq!(figures::replace(&after, &table).as_ref(), Ok(&after), "twice is once");
    assert_eq!(figures::replace("# Title", &table), Err("<!-- figures:begin -->"));
    assert_eq!(figures::replace("<!-- figures:begin -->", &table), Err("<!-- figures:end -->"));
}

#[test]
fn medians_and_percentiles_are_samples() {
    assert_eq!(stats::median(&[3.0, 1.0, 2.0]), 2.0);
    assert_eq!(stats::median(&[4.0, 1.0, 3.0, 2.0]), 2.0);
    let hundred: Vec<f64> = (1..=100).map(stats::count).collect();
    assert_eq!(stats::percentile(&hundred, 99.0), 99.0);
    assert_eq!(stats::percentile(&[5.0], 99.0), 5.0);
    assert!(stats::percentile(&[], 50.0).is_nan());
    assert_eq!(stats::millis(Duration::from_micros(1_500)), 1.5);
}

#[test]
fn the_command_line_names_what_there_is() {
    let list = bench(&["--list"]);
    assert!(list.status.success());
    assert!(text(&list.stdout).starts_with("spine "), "{}", text(&list.stdout));
    for wrong in [&["spin"][..], &[], &["spine", "--jsonn"]] {
        let refused = bench(wrong);
        assert_eq!(refused.status.code(), Some(2), "{wrong:?}");
        assert_eq!(text(&refused.stdout), "");
        assert!(
            text(&refused.stderr).contains("known are: spine, queue, landing, cli, sessions, proof, figures"),
            "{}",
            text(&refused.stderr)
        );
    }
}

/// No results yet is no reason to touch the README.
#[test]
fn figures_without_results_are_refused() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let program = folder.path().join("target/release/bench");
    std::fs::create_dir_all(program.parent().unwrap()).unwrap();
    // The program looks for results beside itself. A copy could still be open for writing when it is started.
    std::fs::hard_link(env!("CARGO_BIN_EXE_bench"), &program).unwrap();
    let done = Command::new(&program).arg("figures").current_dir(folder.path()).output().unwrap();
    assert_eq!(done.status.code(), Some(1));
    assert!(text(&done.stderr).contains("run `./bench spine` first"), "{}", text(&done.stderr));
    let results = folder.path().join("target/bench/spine.json");
    std::fs::write(&results, sample().json().to_string()).unwrap();
    let readme = folder.path().join("README.md");
    std::fs::write(&readme, "<!-- figures:begin -->\n<!-- figures:end -->\n").unwrap();
    let done = Command::new(&program).arg("figures").current_dir(folder.path()).output().unwrap();
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
    assert!(std::fs::read_to_string(readme).unwrap().contains("| sample | `rate` | 7.999 | >= 8.0 | no |"));
}

fn bench(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_bench")).args(args).output().expect("the program was just built")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
