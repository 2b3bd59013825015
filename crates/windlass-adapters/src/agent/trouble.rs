//! What a failed turn asks for. The agent is seldom at fault: most turns fail because of the provider.

use windlass_core::time::Millis;

use crate::shim::{Failure, TurnResult};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    /// A window is used up; known is when the next one begins, or it is not.
    Limit {
        until: Option<Millis>,
    },
    /// Down, too busy or out of reach.
    Passing,
    /// A key, a right, a model or a bill.
    NeedsPerson,
    /// The conversation is too long for the model.
    ContextFull,
    /// There is no such conversation to resume.
    ConversationLost,
    /// Stopped by a limit that we set: the agent is fine and can be told to go on.
    TurnsSpent,
    Unknown,
}

/// What is wrong with a turn; nothing for one that ended well.
pub fn trouble(result: &TurnResult) -> Option<Trouble> {
    if !result.is_error {
        return None;
    }
    let Some(failure) = &result.failure else { return Some(Trouble::Unknown) };
    let says = |words: &str| failure.text.to_lowercase().contains(words);
    Some(match (failure.kind.as_str(), failure.status) {
        ("error_max_turns" | "max_turns" | "max_tokens", _) => Trouble::TurnsSpent,
        ("prompt_too_long", _) | (_, Some(413)) => Trouble::ContextFull,
        _ if says("no conversation found") => Trouble::ConversationLost,
        // A 400 like any other by its code.
        _ if says("credit balance is too low") => Trouble::NeedsPerson,
        (_, Some(429)) | ("rate_limit", None) => {
            Trouble::Limit { until: result.limited_until.or_else(|| reset(failure)) }
        }
        (_, Some(401 | 403 | 404)) => Trouble::NeedsPerson,
        // Words of agents that do not pass on the provider's code. Asked again, a model that refuses refuses again.
        ("authentication_failed" | "billing_error" | "refusal", None) => Trouble::NeedsPerson,
        (_, Some(408 | 409 | 500..)) => Trouble::Passing,
        // The provider was not reached, or did not answer.
        ("api_error", None) => Trouble::Passing,
        (_, Some(_) | None) => Trouble::Unknown,
    })
}

/// Limits of a subscription have said when they end in their text, in seconds after a bar: `usage limit reached|1760000000`.
fn reset(failure: &Failure) -> Option<Millis> {
    let digits: String = failure.text.split('|').nth(1)?.chars().take_while(char::is_ascii_digit).collect();
    digits.parse::<i64>().ok()?.checked_mul(1000).map(Millis)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(kind: &str, status: Option<u64>, text: &str) -> Option<Trouble> {
        let failure = Some(Failure { status, kind: kind.into(), text: text.into() });
        trouble(&TurnResult { is_error: true, failure, ..TurnResult::default() })
    }

    #[test]
    fn every_error_that_was_seen_asks_for_what_helps() {
        let until = Some(Millis(1_760_000_000_000));
        for (kind, status, text, expected) in [
            (
                "api_error",
                Some(429),
                "API Error: Request rejected (429) · slow down",
                Trouble::Limit { until: None },
            ),
            ("api_error", Some(429), "usage limit reached|1760000000", Trouble::Limit { until }),
            ("api_error", Some(529), "API Error: 529 overloaded", Trouble::Passing),
            ("api_error", Some(500), "API Error: 500 oops", Trouble::Passing),
            ("api_error", Some(401), "Failed to authenticate", Trouble::NeedsPerson),
            ("api_error", Some(403), "Failed to authenticate", Trouble::NeedsPerson),
            ("api_error", Some(404), "There's an issue with the selected model", Trouble::NeedsPerson),
            ("api_error", Some(400), "Credit balance is too low", Trouble::NeedsPerson),
            ("api_error", Some(400), "API Error: 400 what", Trouble::Unknown),
            ("prompt_too_long", Some(400), "Prompt is too long", Trouble::ContextFull),
            ("api_error", Some(413), "Request too large", Trouble::ContextFull),
            ("api_error", None, "API Error: Connection refused (ECONNREFUSED)", Trouble::Passing),
            ("api_error", None, "Request timed out", Trouble::Passing),
            (
                "error_during_execution",
                None,
                "No conversation found with session ID: x",
                Trouble::ConversationLost,
            ),
            ("error_max_turns", None, "", Trouble::TurnsSpent),
            ("max_tokens", None, "the agent stopped: max_tokens", Trouble::TurnsSpent),
            ("refusal", None, "the agent stopped: refusal", Trouble::NeedsPerson),
            ("cancelled", None, "the agent stopped: cancelled", Trouble::Unknown),
            ("rate_limit", None, "Rate limit exceeded", Trouble::Limit { until: None }),
            ("billing_error", None, "Quota exceeded", Trouble::NeedsPerson),
            ("error_during_execution", None, "something else", Trouble::Unknown),
        ] {
            assert_eq!(of(kind, status, text), Some(expected), "{kind} {status:?} {text}");
        }
        assert_eq!(trouble(&TurnResult::default()), None);
        let failure = Failure {
            status: Some(429),
            kind: "api_error".into(),
            text: "You've hit your 5-hour limit · resets 8:14am (UTC)".into(),
        };
        let told = TurnResult {
            is_error: true,
            failure: Some(failure),
            limited_until: until,
            ..TurnResult::default()
        };
        assert_eq!(trouble(&told), Some(Trouble::Limit { until }));
    }
}
