//! Exit, log and report to a class.

use super::super::*;
use super::samples;

use Classified::{Fail, Infra, Pass};
use ExitStatus::{Code, Missing, Signal, TimedOut};

#[test]
fn a_build_is_classified_by_exit_first_and_log_last() {
    let plain = "make: *** [all] Error 2";
    let network = "error: failed to get `serde`\n  [6] Could not resolve host: index.crates.io";
    let own_server = "connect to http://127.0.0.1:8080: Connection refused";
    let early = format!("connection reset by peer\n{}{plain}", "compiling\n".repeat(60));
    let git = "Cloning into 'x'...\nfatal: unable to access 'https://a/': Failed to connect";
    for (exit, log, expected) in [
        (Code(0), "", Pass),
        (Code(0), network, Pass),
        (Code(0), samples::CARGO_NOTHING, Infra(InfraReason::ZeroTests)),
        (Code(0), samples::PYTEST_QUIET, Pass),
        (Code(0), samples::GO_PASS, Pass),
        (Code(5), samples::PYTEST_NOTHING, Infra(InfraReason::ZeroTests)),
        (Code(2), samples::PYTEST_BROKEN_IMPORT, Fail),
        // Nothing was tested, and yet something else was wrong.
        (Code(101), samples::CARGO_NOTHING, Fail),
        (Code(101), samples::CARGO_COMPILE_ERROR, Fail),
        (Code(1), plain, Fail),
        (Code(126), plain, Infra(InfraReason::CouldNotRun)),
        (Code(127), plain, Infra(InfraReason::CouldNotRun)),
        (Code(137), samples::CARGO, Infra(InfraReason::Killed)),
        (Signal(9), plain, Infra(InfraReason::Killed)),
        (Signal(11), plain, Fail),
        (Signal(11), network, Fail),
        (Code(128), git, Infra(InfraReason::Git)),
        (Code(128), plain, Fail),
        (Code(1), network, Infra(InfraReason::Network)),
        (Code(1), "net/http: TLS handshake timeout", Infra(InfraReason::Network)),
        (Code(1), "Back-off: ImagePullBackOff", Infra(InfraReason::Network)),
        (Code(1), own_server, Fail),
        (Code(1), &early, Fail),
        (TimedOut, samples::CARGO, Infra(InfraReason::TimedOut)),
        (Missing, "", Infra(InfraReason::NoResult)),
    ] {
        assert_eq!(classify(&exit, log, &read(log)), expected, "{exit:?} {log}");
    }
}

#[test]
fn a_failing_test_outweighs_words_about_networks() {
    for words in ["Could not resolve host: a", "fatal: not a git repository"] {
        let log = format!("{}{words}\n", samples::CARGO);
        assert_eq!(classify(&Code(128), &log, &read(&log)), Fail);
    }
}

/// Found by fuzzing: names of failures in a cut log made a success over nothing a pass.
#[test]
fn regression_a_success_over_nothing_is_none_though_the_log_names_failures() {
    let report = TestReport { ran: Some(0), failed: BTreeSet::from(["b::c".to_owned()]), runner: None };
    let judged = classify(&ExitStatus::Code(0), "", &report);
    assert_eq!(judged, Classified::Infra(InfraReason::ZeroTests));
    assert_eq!(classify(&ExitStatus::Code(101), "", &report), Classified::Fail);
}
