//! Which words this forge takes, and how it makes a title one line.

use windlass_core::id::EffectKey;

use crate::forge::{ForgeError, marked, marker};

const MAX_BODY: usize = 1 << 20;
const MAX_TITLE: usize = 1024;
const MAX_NAME: usize = 255;

/// One line without control characters; what would break the line or turn its direction becomes a space.
pub(super) fn title(text: &str) -> Result<String, ForgeError> {
    let line: String = text.chars().map(|c| if breaks_line(c) { ' ' } else { c }).collect();
    let line = line.trim();
    if line.is_empty() {
        return Err(invalid("the title", "is empty"));
    }
    within(line, MAX_TITLE, "the title")?;
    Ok(line.to_owned())
}

/// Kept as it is, whatever it holds.
pub(super) fn body(text: &str) -> Result<&str, ForgeError> {
    within(text, MAX_BODY, "the body")?;
    Ok(text)
}

/// The body with the key's marker. The marker does not count towards the limit.
pub(super) fn keyed_body(text: &str, key: &EffectKey) -> Result<String, ForgeError> {
    within(key.as_str(), MAX_NAME, "the effect's key")?;
    if !marker::is_key(key.as_str()) {
        return Err(invalid("the effect's key", "is empty or has spaces or angle brackets"));
    }
    body(text).map(|text| marked(text, key))
}

/// Whether issues can have a label of this name.
pub fn label_is_fine(name: &str) -> bool {
    label(name).is_ok()
}

// Other forges take a comma for the end of a label in a query.
pub(super) fn label(name: &str) -> Result<&str, ForgeError> {
    within(name, MAX_NAME, "the label")?;
    if name.trim().is_empty() || name.contains(|c: char| c == ',' || breaks_line(c)) {
        return Err(invalid("the label", "is empty or has commas or control characters"));
    }
    Ok(name)
}

fn within(text: &str, limit: usize, what: &'static str) -> Result<(), ForgeError> {
    if text.len() <= limit {
        return Ok(());
    }
    let reason = format!("has {} bytes; the limit is {limit}", text.len());
    Err(ForgeError::Invalid { what, reason })
}

fn breaks_line(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn invalid(what: &'static str, reason: &str) -> ForgeError {
    ForgeError::Invalid { what, reason: reason.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_becomes_one_line() {
        assert_eq!(title("  fix\r\nthe\u{1b}[31m \u{202e}door\0 ").unwrap(), "fix  the [31m  door");
        assert_eq!(title("Tür 🚪").unwrap(), "Tür 🚪");
    }

    #[test]
    fn an_error_says_what_is_too_long_and_by_how_much() {
        let too_long = "é".repeat(MAX_BODY / 2 + 1);
        assert_eq!(
            body(&too_long).unwrap_err().to_string(),
            "the body has 1048578 bytes; the limit is 1048576"
        );
        assert_eq!(title(" \n\t").unwrap_err().to_string(), "the title is empty");
        for name in ["", " ", "a,b", "a\nb"] {
            assert!(label(name).is_err(), "{name:?}");
        }
        for key in ["", "a b", "a-->", "a\nb"] {
            assert!(keyed_body("body", &EffectKey::new(key)).is_err(), "{key:?}");
        }
    }
}
