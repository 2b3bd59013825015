//! Tells a change that is wrong from a build that could not be made.

use serde::{Deserialize, Serialize};

use super::{Runner, TestReport, clean};

/// How a build's command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ExitStatus {
    Code(i32),
    Signal(i32),
    /// We ended it.
    TimedOut,
    /// It is gone and left no result.
    Missing,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Classified {
    Pass,
    Fail,
    Infra(InfraReason),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum InfraReason {
    ZeroTests,
    CouldNotRun,
    Killed,
    Git,
    Network,
    TimedOut,
    NoResult,
}

impl InfraReason {
    /// What a person reads.
    pub fn sentence(self) -> &'static str {
        match self {
            Self::ZeroTests => "no test was run",
            Self::CouldNotRun => "the command could not be run",
            Self::Killed => "the build was killed",
            Self::Git => "a git step failed",
            Self::Network => "the network failed",
            Self::TimedOut => "the build ran out of time",
            Self::NoResult => "the build left no result",
        }
    }
}

const SIGKILL: i32 = 9;
// A step ends with what stopped it; further up, a test may have talked about networks and passed.
const LAST_LINES: usize = 50;

pub fn classify(exit: &ExitStatus, log: &str, report: &TestReport) -> Classified {
    match *exit {
        ExitStatus::TimedOut => Classified::Infra(InfraReason::TimedOut),
        ExitStatus::Missing => Classified::Infra(InfraReason::NoResult),
        ExitStatus::Signal(SIGKILL) | ExitStatus::Code(137) => Classified::Infra(InfraReason::Killed),
        ExitStatus::Code(126 | 127) => Classified::Infra(InfraReason::CouldNotRun),
        ExitStatus::Code(code) if found_no_tests(code, report) => Classified::Infra(InfraReason::ZeroTests),
        ExitStatus::Code(0) => Classified::Pass,
        ExitStatus::Code(_) | ExitStatus::Signal(_) if !report.failed.is_empty() => Classified::Fail,
        ExitStatus::Code(code) => by_log(code, log).map_or(Classified::Fail, Classified::Infra),
        ExitStatus::Signal(_) => Classified::Fail,
    }
}

/// Whether a pass is over so few tests that most of them cannot have run: fewer than nine of ten of the usual.
pub fn too_few(ran: u64, usual: u64) -> bool {
    u128::from(ran) * 10 < u128::from(usual) * 9
}

/// Success over nothing, or the code by which a runner says that it found nothing.
fn found_no_tests(code: i32, report: &TestReport) -> bool {
    let says_so = match report.runner {
        Some(Runner::Pytest) => code == 5,
        Some(Runner::Nextest) => code == 4,
        Some(Runner::Cargo | Runner::Go | Runner::Jest | Runner::Vitest | Runner::Tap) | None => false,
    };
    report.ran == Some(0) && (code == 0 || (says_so && report.failed.is_empty()))
}

fn by_log(code: i32, log: &str) -> Option<InfraReason> {
    let tail: Vec<&str> = log.rsplit('\n').take(LAST_LINES).collect();
    let tail: Vec<String> = tail.iter().map(|line| clean::clean(line).to_ascii_lowercase()).collect();
    if code == 128 && tail.iter().any(|line| line.starts_with("fatal: ")) {
        return Some(InfraReason::Git);
    }
    tail.iter().any(|line| is_network(line)).then_some(InfraReason::Network)
}

/// A test that cannot reach its own server on this computer is the change's fault.
fn is_network(line: &str) -> bool {
    let here = ["localhost", "127.0.0.1", "[::1]"].iter().any(|host| line.contains(host));
    !here && NETWORK.iter().any(|words| line.contains(words))
}

const NETWORK: [&str; 32] = [
    "connection timed out",
    "connection reset by peer",
    "connection refused",
    "connect timeout",
    "operation timed out after",
    "read timed out",
    "i/o timeout",
    "etimedout",
    "econnreset",
    "eai_again",
    "getaddrinfo enotfound",
    "could not resolve host",
    "could not resolve proxy",
    "temporary failure in name resolution",
    "temporary failure resolving",
    "network is unreachable",
    "no route to host",
    "spurious network error",
    "tls handshake timeout",
    "tls handshake eof",
    "tls connect error",
    "ssl connect error",
    "ssl_error_syscall",
    "ssl connection timeout",
    "gnutls_handshake() failed",
    "unexpected eof while reading",
    "request canceled while waiting for connection",
    "errimagepull",
    "imagepullbackoff",
    "failed to pull image",
    "error pulling image",
    "toomanyrequests",
];
