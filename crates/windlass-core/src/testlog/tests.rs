//! True outputs of every runner, and text that no runner wrote.

mod classes;
mod samples;

use proptest::prelude::*;

use super::*;

/// `runner ran: failed; failed`, for a table that reads like the logs.
fn said(log: &str) -> String {
    let report = read(log);
    let ran = report.ran.map_or("?".to_owned(), |ran| ran.to_string());
    let failed = report.failed.into_iter().collect::<Vec<_>>().join("; ");
    match report.runner {
        Some(runner) => format!("{runner:?} {ran}: {failed}"),
        None => format!("nobody {ran}: {failed}"),
    }
}

#[test]
fn a_tenth_of_the_tests_may_be_missing_and_no_more() {
    for (ran, usual, few) in [
        (140, 140, false),
        (126, 140, false),
        (125, 140, true),
        (12, 140, true),
        (200, 140, false),
        (0, 0, false),
    ] {
        assert_eq!(too_few(ran, usual), few, "{ran} of {usual}");
    }
}

#[test]
fn every_runner_is_read() {
    for (log, expected) in [
        (samples::CARGO, "Cargo 5: it_fails; src/lib.rs - f (line 1); tests::bad; tests::sp"),
        (samples::CARGO_TORN, "Cargo 2: tests::bad"),
        (samples::CARGO_NOTHING, "Cargo 0: "),
        (samples::CARGO_COMPILE_ERROR, "nobody ?: "),
        (samples::NEXTEST, "Nextest 4: app tests::bad; app::web tests::slow"),
        (samples::NEXTEST_RETRIES, "Nextest 2: app tests::bad"),
        (
            samples::PYTEST,
            "Pytest 6: test_a.py::TestC::test_m; test_a.py::test_bad; test_a.py::test_err; \
             test_a.py::test_p[a b]; test_a.py::test_p[c - d]",
        ),
        (samples::PYTEST_QUIET, "Pytest 75: "),
        (samples::PYTEST_VERBOSE, "Pytest 2: test_a.py::test_bad"),
        (samples::PYTEST_BROKEN_IMPORT, "Pytest 0: test_b.py"),
        (samples::PYTEST_NOTHING, "Pytest 0: "),
        (samples::GO, "Go ?: ex.com/a.TestBad; ex.com/a.TestSub; ex.com/a.TestSub/one_two"),
        (samples::GO_VERBOSE, "Go 5: ex.com/a.TestBad; ex.com/a.TestSub; ex.com/a.TestSub/one_two"),
        (samples::GO_JSON, "Go 2: ex.com/a.TestBad"),
        (samples::GO_NOTHING, "Go 0: "),
        (samples::GO_PASS, "Go ?: "),
        (samples::JEST, "Jest 4: src/door.test.js › door › opens"),
        (samples::JEST_NOTHING, "Jest 0: "),
        (samples::VITEST, "Vitest 4: src/door.test.ts > door > opens"),
        (samples::VITEST_NOTHING, "Vitest 0: "),
        (samples::TAP_NODE, "Tap 5: bad # two; suite > inner bad"),
        (samples::TAP_PLAIN, "Tap 3: test 2; the third"),
        (samples::TAP_NOTHING, "Tap 0: "),
        ("", "nobody ?: "),
        ("ERROR could not start\nFAILED to do it\nok then", "nobody ?: "),
    ] {
        assert_eq!(said(log), expected, "{log}");
    }
}

#[test]
fn colours_and_windows_line_ends_change_nothing() {
    let coloured = samples::CARGO.replace("FAILED", "\u{1b}[31mFAILED\u{1b}(B\u{1b}[m");
    assert_eq!(read(&coloured), read(samples::CARGO));
    for log in
        [samples::CARGO, samples::PYTEST, samples::GO, samples::JEST, samples::VITEST, samples::TAP_NODE]
    {
        assert_eq!(read(&log.replace('\n', "\r\n")), read(log), "{log}");
    }
}

#[test]
fn runners_in_one_log_add_up_unless_one_does_not_count() {
    let both = format!("{}\n{}", samples::CARGO_TORN, samples::PYTEST_QUIET);
    assert_eq!(said(&both), "Pytest 77: tests::bad");
    let unknown = format!("{}\n{}", samples::CARGO_NOTHING, samples::GO_PASS);
    assert_eq!(read(&unknown).ran, None);
}

#[test]
fn numbers_too_large_to_add_do_not_wrap() {
    let line = format!("test result: ok. {} passed; 5 failed; 0 ignored\n", u64::MAX);
    assert_eq!(read(&line.repeat(2)).ran, Some(u64::MAX));
}

#[test]
fn an_excerpt_is_the_end_of_the_log() {
    assert_eq!(excerpt(""), "");
    assert_eq!(excerpt("one\n\u{1b}[31mtwo\u{1b}[0m\u{7}\r\n10%\r20%\r\n\n"), "one\ntwo\n20%");
    let fifty: Vec<String> = (1..=50).map(|n| format!("line {n}")).collect();
    assert_eq!(excerpt(&fifty.join("\n")), fifty.join("\n"));
    assert_eq!(
        excerpt(&format!("line 0\n{}\n", fifty.join("\n"))),
        format!("[earlier lines left out]\n{}", fifty.join("\n"))
    );
}

#[test]
fn an_excerpt_is_cut_at_a_line_start_and_only_a_giant_line_inside() {
    let wide = vec!["é".repeat(150); 50].join("\n");
    let cut = excerpt(&wide);
    assert!(cut.len() > 7_600 && cut.len() <= 8_000, "{}", cut.len());
    let mut lines = cut.lines();
    assert_eq!(lines.next(), Some("[earlier lines left out]"));
    assert!(lines.all(|line| line == "é".repeat(150)));
    let giant = excerpt(&format!("before\nx{}", "é".repeat(1 << 20)));
    assert!(giant.starts_with("[earlier lines left out]\n[start of a long line left out] é"));
    assert!(giant.len() > 7_900 && giant.len() <= 8_000, "{}", giant.len());
}

/// Words that the readers look for, in any order, between any text.
fn log_like() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        "\\PC{0,20}",
        any::<char>().prop_map(String::from),
        prop::sample::select(vec![
            "\n",
            "\r",
            "\u{1b}",
            "\u{1b}[",
            "\u{1b}]",
            "test ",
            " ... FAILED",
            "failures:\n    ",
            "test result: ",
            "ok. 1 passed; ",
            "Summary [ 1s] ",
            "FAIL [",
            "] ",
            "(",
            ") ",
            "=== ",
            " in 1.0s",
            "FAILED ",
            "[",
            "] - ",
            " short test summary info ",
            "--- FAIL: ",
            "FAIL\t",
            "ok  \t",
            "{\"Action\":\"fail\",\"Package\":\"",
            "\"}",
            "Tests: ",
            "Tests  ",
            "  ● ",
            "FAIL  ",
            " > ",
            "TAP version 13\n",
            "1..",
            "not ok 1",
            " - ",
            " # ",
            "    ",
            "---\n",
            "...\n",
            "99999999999999999999",
            "%]",
            "TRY 1 ",
            "fatal: ",
        ])
        .prop_map(str::to_owned),
    ];
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn any_text_is_read_without_a_panic(log in log_like(), code in any::<i32>()) {
        let report = read(&log);
        prop_assert!(report.runner.is_some() || (report.ran.is_none() && report.failed.is_empty()));
        prop_assert!(report.failed.iter().all(|name| !name.contains('\n')));
        let class = classify(&ExitStatus::Code(code), &log, &report);
        prop_assert!(class != Classified::Pass || code == 0);
    }

    #[test]
    fn an_excerpt_keeps_its_limits(log in log_like(), times in 1..400_usize) {
        let text = excerpt(&log.repeat(times));
        prop_assert!(text.len() <= 8_000);
        prop_assert!(text.lines().count() <= 51);
        prop_assert!(text.chars().all(|c| c == '\n' || c == '\t' || !c.is_control()));
    }

    #[test]
    fn what_is_cleaned_has_no_escapes_left(log in log_like()) {
        let text = clean::clean(&log);
        let left = text.contains(['\u{1b}', '\r']);
        prop_assert!(!left);
        prop_assert_eq!(clean::clean(&text), text);
    }
}
