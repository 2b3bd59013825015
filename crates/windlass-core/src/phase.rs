//! Reads what an agent wrote to its phase file.

use serde::{Deserialize, Serialize};

/// Bytes of the phase file that are ever looked at; an agent may write more, nobody reads it.
pub const MAX_BYTES: usize = 4096;

/// What the agent last signalled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "phase", rename_all = "snake_case")]
pub enum Phase {
    AwaitingCi,
    AwaitingReview,
    Escalate { reason: String },
    Done,
    Failed { reason: String },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Read {
    /// Nothing has been signalled yet.
    Empty,
    Signal(Phase),
    /// The agent wrote something, but none of the words that we know.
    Unknown {
        excerpt: String,
    },
}

/// The first line counts, white space stripped; a reason may stand on the second line.
pub fn read(bytes: &[u8]) -> Read {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(MAX_BYTES)]);
    let mut lines = text.lines();
    let first: String = lines.next().unwrap_or_default().chars().filter(|c| !c.is_whitespace()).collect();
    if first.is_empty() && text.trim().is_empty() {
        return Read::Empty;
    }
    let mut reason = || reason_line(lines.next().unwrap_or_default());
    match first.as_str() {
        "PHASE:awaiting_ci" => Read::Signal(Phase::AwaitingCi),
        "PHASE:awaiting_review" => Read::Signal(Phase::AwaitingReview),
        "PHASE:escalate" | "PHASE:needs_human" => Read::Signal(Phase::Escalate { reason: reason() }),
        "PHASE:done" => Read::Signal(Phase::Done),
        "PHASE:failed" => Read::Signal(Phase::Failed { reason: reason() }),
        _ => Read::Unknown { excerpt: crate::text::one_line(&first, 80) },
    }
}

fn reason_line(line: &str) -> String {
    let line = line.trim();
    let line = line.strip_prefix("Reason:").unwrap_or(line);
    crate::text::one_line(line, 1_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sentinel_is_read() {
        assert_eq!(read(b"PHASE:awaiting_ci\n"), Read::Signal(Phase::AwaitingCi));
        assert_eq!(read(b"  PHASE: awaiting_review  "), Read::Signal(Phase::AwaitingReview));
        assert_eq!(read(b"PHASE:done"), Read::Signal(Phase::Done));
        let failed = Phase::Failed { reason: "no disk".into() };
        assert_eq!(read(b"PHASE:failed\nReason: no disk\nmore"), Read::Signal(failed));
        let escalate = Phase::Escalate { reason: "which colour?".into() };
        assert_eq!(read(b"PHASE:needs_human\nwhich colour?"), Read::Signal(escalate));
    }

    #[test]
    fn silence_is_not_garbage() {
        assert_eq!(read(b""), Read::Empty);
        assert_eq!(read(b" \n\n"), Read::Empty);
        assert_eq!(read(b"PHASE:dome"), Read::Unknown { excerpt: "PHASE:dome".into() });
        assert!(matches!(read(b"\n\nPHASE:done"), Read::Unknown { .. }), "the first line counts");
        assert!(matches!(read(&[0xff, 0xfe, 0, 7]), Read::Unknown { .. }));
    }

    proptest::proptest! {
        #[test]
        fn never_panics_and_stays_short(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..9000)) {
            if let Read::Unknown { excerpt } = read(&bytes) {
                proptest::prop_assert!(excerpt.chars().count() <= 81);
            }
        }
    }
}
