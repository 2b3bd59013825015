//! When something is due that is done by the clock: a line of cron, a length of time, or never.

use crate::time::{Millis, Span};
use cronexpr::{Crontab, MakeTimestamp};

/// The word that keeps a job from ever being due.
const OFF: &str = "off";

#[derive(Debug, Clone)]
pub enum When {
    Never,
    Every(Span),
    Cron(Box<Crontab>),
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
            return if span > Span::ZERO {
                Ok(Self::Every(span))
            } else {
                Err("`every 0s` never ends".into())
            };
        }
        let cron = cronexpr::parse_crontab(&format!("{text} {timezone}"));
        cron.map(|cron| Self::Cron(Box::new(cron))).map_err(|_| {
            format!("`{text}` is neither `off`, nor `every 20m`, nor a line of cron like `0 3 * * *` in time zone `{timezone}`")
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

    /// 2023-11-14 22:13:20 UTC, a Tuesday.
    const NOW: i64 = 1_700_000_000;

    fn seconds_until(text: &str, timezone: &str) -> Option<i64> {
        let next = When::parse(text, timezone).unwrap().next(Millis(NOW * 1_000));
        next.map(|at| at.0 / 1_000 - NOW)
    }

    #[test]
    fn the_next_time_is_found() {
        let until_three = 4 * 3_600 + 46 * 60 + 40;
        for (text, zone, expected) in [
            ("every 20m", "UTC", 20 * 60),
            ("0 3 * * *", "UTC", until_three),
            ("0 3 * * *", "Europe/Berlin", until_three - 3_600),
            ("0 7 * * 1", "UTC", until_three + 4 * 3_600 + 5 * 86_400),
        ] {
            assert_eq!(seconds_until(text, zone), Some(expected), "{text} {zone}");
        }
        assert_eq!(seconds_until("off", "UTC"), None);
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
