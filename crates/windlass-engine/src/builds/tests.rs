//! What a build left is read to the last line.

use windlass_adapters::files;
use windlass_adapters::shim::{EXIT, Exit, LOG};

use super::*;

/// Longer than anybody reads: 40,000 tests in 40 programs, and one of the first has failed.
#[test]
fn tests_in_the_middle_of_a_long_log_count() {
    let folder = tempfile::tempdir().unwrap();
    let mut log = String::new();
    for program in 0..40 {
        log.push_str("running 1000 tests\n");
        for test in 0..1000 {
            let result = if (program, test) == (5, 500) { "FAILED" } else { "ok" };
            log.push_str(&format!(
                "test some::module::of::the::program_{program}::test_{test} ... {result}\n"
            ));
        }
        let failed = u32::from(program == 5);
        let result = if failed == 1 { "FAILED" } else { "ok" };
        log.push_str(&format!("\ntest result: {result}. {} passed; {failed} failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s\n\n", 1000 - failed));
    }
    assert!(log.len() > 2 << 20);
    std::fs::write(folder.path().join(LOG), &log).unwrap();
    let exit = |code| {
        let exit = Exit { code: Some(code), ..Exit::default() };
        files::write_json(&folder.path().join(EXIT), &exit).unwrap();
    };
    exit(0);
    assert_eq!(judge(folder.path()), Some(BuildOutcome::Passed { tests: Some(40_000) }));
    exit(101);
    let Some(BuildOutcome::Failed { tests, failing, log }) = judge(folder.path()) else {
        panic!("it failed")
    };
    assert_eq!((tests, log.len() < 10_000), (Some(40_000), true));
    assert_eq!(failing, ["some::module::of::the::program_5::test_500"]);
}
