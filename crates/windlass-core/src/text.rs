//! Makes outside text safe to show and to say: bounded, without control characters.

/// One line of at most `max` characters; control characters become spaces, hidden ones go.
pub fn one_line(text: &str, max: usize) -> String {
    let shown = text.chars().filter(|c| !is_hidden(*c));
    let clean: String = shown.map(|c| if c.is_control() { ' ' } else { c }).collect();
    clip(clean.trim(), max)
}

/// Keeps line breaks and tabs, drops other control characters and hidden ones that could carry orders.
pub fn clean(text: &str) -> String {
    text.chars().filter(|c| matches!(c, '\n' | '\t') || !(c.is_control() || is_hidden(*c))).collect()
}

/// An error with all its causes; one that its own text ends with is not said twice.
pub fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.ends_with(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    text
}

/// At most `max` characters, with an ellipsis where something was cut.
pub fn clip(text: &str, max: usize) -> String {
    match text.char_indices().nth(max) {
        None => text.to_owned(),
        Some((cut, _)) => format!("{}…", &text[..cut]),
    }
}

/// At most `max` bytes, cut at a character, with a marker that says how much is missing.
pub fn bounded(text: &str, max: usize) -> String {
    if text.len() <= max {
        return text.to_owned();
    }
    let cut = (0..=max).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    format!("{}\n[… {} more bytes not shown]", &text[..cut], text.len() - cut)
}

/// Zero-width, bidirectional, tag and variation characters: invisible to a person, readable by a model.
fn is_hidden(c: char) -> bool {
    matches!(
        c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{feff}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{e0000}'..='\u{e01ef}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_and_control_characters_do_not_pass() {
        assert_eq!(one_line("a\u{1b}[31mb\nc", 80), "a [31mb c");
        assert_eq!(one_line("a\u{202e}b\u{fe0f}\u{e0101}c", 80), "abc");
        assert_eq!(clean("a\u{200b}b\u{e0041}\u{7}\tc\n"), "ab\tc\n");
        assert_eq!(clip("äöü", 2), "äö…");
        assert_eq!(bounded("äöü", 3), "ä\n[… 4 more bytes not shown]");
    }
}
