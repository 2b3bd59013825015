//! When a job is due: a line of cron, a length of time, or never.

use cronexpr::{Crontab, MakeTimestamp};
use windlass_core::time::{Millis, Span};

/// The word that keeps a job from ever being due.
const OFF: &str = "off";

#[derive(Debug, Clone)]
pub enum When {
    Never,
    Every(Span),
    Cron(Box<Crontab>),
}

pub fn is_timezone(name: &str) -> bool {
    // One word: the reader of the line takes what is behind the last blank.
    !name.contains(char::is_whitespace) && cronexpr::parse_crontab(&format!("0 0 * * * {name}")).is_ok()
}

impl When {
    /// Reads `off`, `every 20m` or `0 3 * * *`.
    pub fn parse(text: &str, timezone: &str) -> Result<Self, String> {
        let text = text.trim();
        if text == OFF {
            return Ok(Self::Never);
        }
        if let Some(span) = text.strip_prefix("every ") {
            let span = Span::parse(span).map_err(|error| error.to_string())?;
            return match span {
                Span::ZERO => Err("`every 0s` never ends".into()),
                span if span < Span::secs(1) => Err(format!("`{text}` is more often than `every 1s`")),
                span => Ok(Self::Every(span)),
            };
        }
        let cron = cronexpr::parse_crontab(&format!("{text} {timezone}"));
        cron.map(|cron| Self::Cron(Box::new(cron))).map_err(|_| {
            format!("`{text}` is neither `off`, nor `every 20m`, nor a line of cron like `0 3 * * *`")
        })
    }

    /// The first time after this one.
    pub fn next(&self, after: Millis) -> Option<Millis> {
        match self {
            Self::Never => None,
            Self::Every(span) => Some(after + *span),
            Self::Cron(cron) => {
                let after = MakeTimestamp::from_millisecond(after.0).ok()?;
                let next = cron.find_next(after).ok()?;
                Some(Millis(next.timestamp().as_millisecond()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::clock;

    fn next(text: &str, timezone: &str) -> Option<String> {
        // 2023-11-14 22:13:20Z, a Tuesday.
        When::parse(text, timezone).unwrap().next(Millis(1_700_000_000_000)).map(clock)
    }

    #[test]
    fn the_next_time_is_found() {
        for (text, zone, expected) in [
            ("every 20m", "UTC", "2023-11-14 22:33:20Z"),
            ("0 3 * * *", "UTC", "2023-11-15 03:00:00Z"),
            ("0 3 * * *", "Europe/Berlin", "2023-11-15 02:00:00Z"),
            ("0 7 * * 1", "UTC", "2023-11-20 07:00:00Z"),
        ] {
            assert_eq!(next(text, zone).as_deref(), Some(expected), "{text} {zone}");
        }
        assert_eq!(next("off", "UTC"), None);
    }

    #[test]
    fn what_is_no_time_is_explained() {
        for (text, zone) in [
            ("0 3 * *", "UTC"),
            ("daily", "UTC"),
            ("0 3 * * *", "Atlantis"),
            ("every 0s", "UTC"),
            ("", "UTC"),
        ] {
            assert!(When::parse(text, zone).is_err(), "{text} {zone}");
        }
    }
}
