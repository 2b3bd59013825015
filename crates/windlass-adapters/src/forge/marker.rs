//! The hidden line that ties a comment, review or issue to the effect that made it.

use windlass_core::id::EffectKey;

const START: &str = "<!-- windlass:";
const END: &str = " -->";

/// The body with the key's marker as its last line.
pub fn marked(body: &str, key: &EffectKey) -> String {
    format!("{body}\n\n{START}{key}{END}")
}

/// The key of a body that Windlass wrote; people's words have none.
// Only the last line counts: ours is always last, so quoted text cannot pass for another effect.
pub fn key_of(body: &str) -> Option<EffectKey> {
    let last = body.trim_end().lines().next_back()?;
    let key = last.strip_prefix(START)?.strip_suffix(END)?;
    is_key(key).then(|| EffectKey::new(key))
}

/// Whether the text survives inside a marker.
pub(super) fn is_key(text: &str) -> bool {
    !text.is_empty() && !text.contains(|c: char| c.is_whitespace() || c.is_control() || c == '<' || c == '>')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_marked_body_gives_its_key_back() {
        let key = EffectKey::new("12.1/comment/3");
        assert_eq!(key_of(&marked("hello", &key)), Some(key.clone()));
        assert_eq!(key_of(&format!("{}\r\n", marked("", &key))), Some(key));
    }

    #[test]
    fn a_quoted_marker_does_not_count() {
        let (ours, theirs) = (EffectKey::new("ours"), EffectKey::new("theirs"));
        assert_eq!(key_of(&marked(&marked("quote", &theirs), &ours)), Some(ours));
        assert_eq!(key_of("<!-- windlass:theirs -->\nand a word below"), None);
        assert_eq!(key_of("see <!-- windlass:theirs -->"), None);
        assert_eq!(key_of("<!-- windlass: -->"), None);
        assert_eq!(key_of(""), None);
    }
}
