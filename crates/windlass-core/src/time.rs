//! Points in time and spans, as plain milliseconds that are always handed in.

use serde::{Deserialize, Serialize};

/// Milliseconds since the Unix epoch.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    Default,
    schemars::JsonSchema,
)]
#[serde(transparent)]
pub struct Millis(pub i64);

/// A length of time in milliseconds.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    Default,
    schemars::JsonSchema,
)]
#[serde(transparent)]
pub struct Span(pub i64);

impl Millis {
    /// When the day began that this is in, in UTC.
    pub fn midnight(self) -> Self {
        Self(self.0 - self.0.rem_euclid(Span::days(1).0))
    }

    pub fn since(self, earlier: Self) -> Span {
        Span(self.0.saturating_sub(earlier.0).max(0))
    }
}

impl std::ops::Add<Span> for Millis {
    type Output = Self;

    fn add(self, span: Span) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl Span {
    pub const ZERO: Self = Self(0);

    pub const fn secs(n: i64) -> Self {
        Self(n * 1_000)
    }

    pub const fn mins(n: i64) -> Self {
        Self::secs(n * 60)
    }

    pub const fn hours(n: i64) -> Self {
        Self::mins(n * 60)
    }

    pub const fn days(n: i64) -> Self {
        Self::hours(n * 24)
    }

    /// Reads `90s`, `5m`, `2h`, `7d` or `250ms`.
    pub fn parse(text: &str) -> Result<Self, SpanError> {
        let text = text.trim();
        let split = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let (digits, unit) = text.split_at(split);
        let bad = || SpanError { text: text.to_owned() };
        let n: i64 = digits.parse().map_err(|_| bad())?;
        let factor = match unit {
            "ms" => 1,
            "s" => 1_000,
            "m" => 60_000,
            "h" => 3_600_000,
            "d" => 86_400_000,
            _ => return Err(bad()),
        };
        n.checked_mul(factor).map(Self).ok_or_else(bad)
    }
}

impl std::ops::Add for Span {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl std::fmt::Display for Span {
    /// Two units at most, as people say it: `3d 4h`, `1h06m`, `4m10s`, `9s`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let secs = self.0 / 1_000;
        let (d, h, m, s) = (secs / 86_400, secs / 3_600 % 24, secs / 60 % 60, secs % 60);
        match (d, h, m) {
            (0, 0, 0) => write!(f, "{s}s"),
            (0, 0, _) => write!(f, "{m}m{s:02}s"),
            (0, _, _) => write!(f, "{h}h{m:02}m"),
            _ => write!(f, "{d}d {h:02}h"),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a duration; write a number and one of ms, s, m, h, d, such as `90s`")]
pub struct SpanError {
    text: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_and_written_as_people_say_them() {
        for (text, span) in [
            ("250ms", Span(250)),
            ("90s", Span::secs(90)),
            ("5m", Span::mins(5)),
            ("2h", Span::hours(2)),
            ("7d", Span::days(7)),
        ] {
            assert_eq!(Span::parse(text), Ok(span));
        }
        for text in ["", "s", "5", "5 m", "-1s", "99999999999999999999d", "9223372036854775807d"] {
            assert!(Span::parse(text).is_err(), "{text}");
        }
        assert_eq!(Span::mins(66).to_string(), "1h06m");
        assert_eq!(Span::days(3).to_string(), "3d 00h");
        assert_eq!(Span(9_999).to_string(), "9s");
    }
}
