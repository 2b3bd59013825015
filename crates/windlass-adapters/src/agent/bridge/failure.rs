//! What an agent's words about a failed turn mean: most agents pass on the provider's error as plain text.

use crate::shim::Failure;

/// The kind of a failure whose words nobody knows.
pub(super) const UNKNOWN: &str = "error";

/// The agent has no such conversation to go on with.
pub(super) fn lost(of: &str) -> Failure {
    Failure { status: None, kind: UNKNOWN.to_owned(), text: format!("No conversation found: {of}") }
}

/// The most telling words decide; a bill that is not paid comes with the code of a limit.
const WORDS: [(&str, &[&str]); 5] = [
    (
        "prompt_too_long",
        &["context window", "context_length_exceeded", "context length exceeded", "prompt is too long"],
    ),
    ("billing_error", &["quota", "credit balance", "billing"]),
    ("rate_limit", &["rate limit", "usage limit", "too many requests"]),
    (
        "authentication_failed",
        &["missing environment variable", "authentication", "unauthorized", "api key", "log in"],
    ),
    (
        "api_error",
        &["high demand", "at capacity", "overloaded", "connection", "network", "timed out", "disconnected"],
    ),
];

/// A failure by the status code in its text, or else by its words.
pub(super) fn by_words(text: &str) -> Failure {
    let lower = text.to_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    let by_word = WORDS.iter().find(|(_, words)| says(words)).map(|(kind, _)| *kind);
    let (status, kind) = match (status(&lower), by_word) {
        (_, Some(kind @ ("prompt_too_long" | "billing_error"))) => (None, kind),
        (Some(status), _) => (Some(status), "api_error"),
        (None, Some(kind)) => (None, kind),
        (None, None) => (None, UNKNOWN),
    };
    Failure { status, kind: kind.to_owned(), text: text.to_owned() }
}

/// The number after the word `status`.
fn status(lower: &str) -> Option<u64> {
    lower.match_indices("status").find_map(|(at, word)| {
        let rest = lower[at + word.len()..].trim_start_matches([':', ' ', '=']);
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().ok().filter(|code| (400..600).contains(code))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::{Trouble, trouble};
    use crate::shim::TurnResult;

    /// As codex 0.166.0 and goose 1.34.0 print them.
    #[test]
    fn every_error_that_was_seen_asks_for_what_helps() {
        let limit = Trouble::Limit { until: None };
        for (text, expected) in [
            ("exceeded retry limit, last status: 429 Too Many Requests", limit),
            ("You’ve hit your usage limit. Try again later.", limit),
            ("Rate limit exceeded: slow down.", limit),
            ("unexpected status 401 Unauthorized: bad key, url: http://x/v1/responses", Trouble::NeedsPerson),
            ("unexpected status 403 Forbidden: forbidden, url: http://x", Trouble::NeedsPerson),
            ("unexpected status 404 Not Found: no model, url: http://x", Trouble::NeedsPerson),
            ("Authentication error: Authentication failed. Status: 401 Unauthorized.", Trouble::NeedsPerson),
            ("Missing environment variable: `CODEX_API_KEY`.", Trouble::NeedsPerson),
            ("Quota exceeded. Check your plan and billing details.", Trouble::NeedsPerson),
            ("Your input exceeds the context window of this model.", Trouble::ContextFull),
            ("unexpected status 529 <unknown status code>: over, url: http://x", Trouble::Passing),
            ("Selected model is at capacity. Please try a different model.", Trouble::Passing),
            ("We’re currently experiencing high demand, which may cause temporary errors.", Trouble::Passing),
            (
                "Reconnecting... waiting for network (Connection failed: error sending request)",
                Trouble::Passing,
            ),
            ("{\"error\": {\"type\": \"x\", \"message\": \"odd\"}}", Trouble::Unknown),
        ] {
            let failure = Some(by_words(text));
            let result = TurnResult { is_error: true, failure, ..TurnResult::default() };
            assert_eq!(trouble(&result), Some(expected), "{text}");
        }
        let result = TurnResult { is_error: true, failure: Some(lost("thread-1")), ..TurnResult::default() };
        assert_eq!(trouble(&result), Some(Trouble::ConversationLost));
    }
}
